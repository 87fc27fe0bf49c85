package tutti

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestAsynchronousCollectives(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		data := []float64{float64(g.Rank())}
		work := must(AllReduceAsync(background, g, data, Sum))
		check(t, work.Wait(background))
		is(t, data[0], 1.0)
		is(t, []bool{work.IsCompleted(), work.IsSuccess()}, []bool{true, true})
		is(t, work.OpType(), "all_reduce")
		is(t, must(work.SequenceNumber()), int64(1))
		if took := must(work.Duration()); took < 0 {
			t.Errorf("it took %v", took)
		}
		is(t, must(work.SourceRank()), -1)
		check(t, work.Err())
		failsWith(t, work.Then(nil), ErrInvalidArgument)
		check(t, work.Close())
		check(t, work.Close())
		failsWith(t, work.Wait(background), ErrInvalidHandle)
		_, err := work.SequenceNumber()
		failsWith(t, err, ErrInvalidHandle)
	})
}

func TestThenIsCalledWithHowItEnded(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		values := make([]any, 2)
		work := must(AllGatherObjectAsync(background, g, values, "x", nil))
		ended := make(chan error)
		check(t, work.Then(func(err error) { ended <- err }))
		check(t, <-ended)
		is(t, values, []any{"x", "x"})
	})
}

func TestWaitAnyAndWaitAll(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		never, soon := []int{0}, []int{0}
		if g.Rank() == 0 {
			check(t, Send(background, g, []int{7}, 1, 1))
			check(t, g.Barrier(background))
			check(t, Send(background, g, []int{8}, 1, 0))
			return
		}
		late := must(Irecv(background, g, never, 0, 0))
		early := must(Irecv(background, g, soon, 0, 1))
		is(t, must(WaitAny(background, late, early)), 1)
		is(t, soon[0], 7)
		check(t, g.Barrier(background))
		check(t, WaitAll(background, late, early))
		is(t, never[0], 8)
		_, err := WaitAny(background)
		failsWith(t, err, ErrInvalidArgument)
		check(t, WaitAll(background))
	})
}

func TestWaitAnyTakesAnyNumberOfWorks(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		if g.Rank() == 0 {
			check(t, g.Barrier(background))
			check(t, Send(background, g, []int{7}, 1, 1))
			check(t, g.Barrier(background))
			check(t, Send(background, g, []int{8}, 1, 0))
			return
		}
		works := make([]*Work, 100000)
		works[0] = must(Irecv(background, g, []int{0}, 0, 0))
		for i := range works {
			works[i] = works[0]
		}
		ctx, cancel := context.WithTimeout(background, time.Millisecond)
		defer cancel()
		_, err := WaitAny(ctx, works...)
		failsWith(t, err, context.DeadlineExceeded)
		works[70001] = must(Irecv(background, g, []int{0}, 0, 1))
		check(t, g.Barrier(background))
		is(t, must(WaitAny(background, works...)), 70001)
		check(t, g.Barrier(background))
		check(t, works[0].Wait(background))
	})
}

func TestCancellingEndsTheWaitAndNotTheOperation(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		data := []int{g.Rank()}
		if g.Rank() == 0 {
			ctx, cancel := context.WithCancel(background)
			work := must(AllReduceAsync(ctx, g, data, Sum))
			cancel()
			err := work.Wait(ctx)
			failsWith(t, err, ErrPending)
			failsWith(t, err, context.Canceled)
			failsWith(t, AllReduce(ctx, g, []int{1}, Sum), context.Canceled) // starts nothing
			check(t, g.SetTimeout(time.Minute))
			must(Isend(background, g, []int{1}, 1, 9)) // rank 1 goes on from here
			check(t, work.Wait(background))
			is(t, data[0], 1)
			return
		}
		must(Recv(background, g, []int{0}, 0, 9))
		check(t, AllReduce(background, g, data, Sum))
		is(t, data[0], 1)
	})
}

// receiving are the ways to wait for a message with tag 0.
func receiving(g *Group) []func(ctx context.Context) error {
	return []func(ctx context.Context) error{
		func(ctx context.Context) error { _, err := Recv(ctx, g, []int{0}, AnySource, 0); return err },
		func(ctx context.Context) error { _, err := Recv(ctx, g, []int{0}, 1, 0); return err },
		func(ctx context.Context) error {
			var data []byte
			_, err := RecvBytes(ctx, g, &data, 1, 0, nil)
			return err
		},
		func(ctx context.Context) error {
			_, err := RecvObjectList(ctx, g, []any{nil}, 1, 0, nil)
			return err
		},
		func(ctx context.Context) error {
			work, err := Irecv(ctx, g, []int{0}, 1, 0)
			if err != nil {
				return err
			}
			return work.Wait(background)
		},
		func(ctx context.Context) error {
			works, err := BatchIsendIrecv(ctx, g, IrecvOp([]int{0}, 1, 0), IrecvOp([]int{0}, 1, 0))
			if err != nil {
				return err
			}
			return WaitAll(background, works...)
		},
	}
}

func TestCancellingEndsAReceive(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		if g.Rank() == 1 {
			check(t, g.Barrier(background))
			check(t, Send(background, g, []int{7}, 0, 0))
			return
		}
		for _, receive := range receiving(g) {
			ctx, cancel := context.WithCancel(background)
			begun, ended := make(chan struct{}), make(chan error)
			go func() {
				close(begun)
				ended <- receive(ctx)
			}()
			<-begun
			cancel()
			err := <-ended
			failsWith(t, err, context.Canceled)
			var failure *Error
			if errors.As(err, &failure) { // else it had not begun
				is(t, failure.Status, ErrAborted)
			}
		}
		check(t, g.Barrier(background))
		data := []int{0} // no receive that was cancelled has taken the message
		is(t, must(Recv(background, g, data, 1, 0)), 1)
		is(t, data[0], 7)
	})
}

func TestAReceiveThatIsUnderWayEndsWithItsContext(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		if g.Rank() == 1 {
			check(t, g.Barrier(background))
			return
		}
		ctx, cancel := context.WithCancel(background)
		work := must(Irecv(ctx, g, []int{0}, 1, 0))
		cancel()
		<-work.Done()
		failsWith(t, work.Err(), ErrAborted)
		failsWith(t, work.Wait(background), context.Canceled)

		ctx, cancel = context.WithCancel(background)
		must(Irecv(ctx, g, []int{0}, 1, 0)) // nobody keeps the work
		runtime.GC()
		kept := must(Irecv(background, g, []int{0}, 1, 1))
		cancel()
		waiting, stop := context.WithCancel(background)
		stop()
		failsWith(t, kept.Wait(waiting), ErrPending) // the context of a wait ends the wait
		is(t, kept.IsCompleted(), false)
		is(t, must(kept.Cancel()), true)
		failsWith(t, kept.Wait(background), ErrAborted)
		is(t, must(kept.Cancel()), false)
		check(t, g.Barrier(background))
	})
}

func TestOnlyReceivesCanBeCancelled(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		if g.Rank() == 0 {
			work := must(g.BarrierAsync(background))
			_, err := work.Cancel()
			failsWith(t, err, ErrUnsupported)
			must(Isend(background, g, []int{1}, 1, 0))
			check(t, work.Wait(background))
			return
		}
		work := must(Irecv(background, g, []int{0}, 0, 0))
		check(t, work.Wait(background))
		is(t, must(work.Cancel()), false)
		check(t, g.Barrier(background))
	})
}

func TestAClosedWorkLetsGoOfItsBufferWhenItIsDone(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		if g.Rank() == 1 {
			check(t, g.Barrier(background))
			check(t, Send(background, g, []int{7}, 0, 0))
			return
		}
		data := []int{0}
		work := must(Irecv(background, g, data, 1, 0))
		check(t, work.Close())
		is(t, work.IsCompleted(), false)
		check(t, g.Barrier(background))
		<-work.Done()
		is(t, data[0], 7)
		failsWith(t, work.Err(), ErrInvalidHandle)
		failsWith(t, work.Wait(background), ErrInvalidHandle)
		is(t, work.OpType(), "")
	})
}

func TestWaitsSkipWorksThatAreNil(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		works := []*Work{nil, must(g.BarrierAsync(background)), nil,
			must(AllReduceAsync(background, g, []int{1}, Sum))}
		for range []int{0, 1} {
			done := must(WaitAny(background, works...))
			check(t, works[done].Wait(background))
			works[done] = nil
		}
		check(t, WaitAll(background, works...))
		_, err := WaitAny(background, works...)
		failsWith(t, err, ErrInvalidArgument)
	})
}

func TestADeadlineIsTheTimeout(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		if g.Rank() == 0 {
			ctx, cancel := context.WithTimeout(background, 30*time.Millisecond)
			defer cancel()
			_, err := Recv(ctx, g, []int{0}, 1, 0)
			failsWith(t, err, ErrTimeout)
			failsWith(t, err, context.DeadlineExceeded)
			if errors.Is(err, ErrPending) {
				t.Error("the receive did not end by its timeout: ", err)
			}
			_, err = WaitAny(ctx, must(Irecv(background, g, []int{0}, 1, 0)))
			failsWith(t, err, ErrPending)
			failsWith(t, err, context.DeadlineExceeded)
		}
		check(t, g.Barrier(background))
	})
}

func TestAFarDeadlineIsFar(t *testing.T) {
	far, cancel := context.WithDeadline(background, time.Now().AddDate(1000, 0, 0))
	defer cancel()
	onRanks(t, 2, func(t *testing.T, g *Group) {
		c := newCall(g)
		defer c.release()
		if limit := c.limits(far).Timeout_ms; limit < 1<<40 {
			t.Errorf("a thousand years became %d ms", limit)
		}
		check(t, AllReduce(far, g, []int{1}, Sum))
		check(t, g.SetTimeout(math.MaxInt64))
	})
	is(t, milliseconds(1), int64(1))
	is(t, milliseconds(time.Second+1), int64(1001))
}

// manyAtOnce is more than Go would allow threads.
func manyAtOnce() int {
	if testing.Short() {
		return 2000
	}
	return 12000
}

// atOnce runs a function in many goroutines, calls another one when all have begun, and waits.
func atOnce(function func(), thereupon func()) {
	var begun, done sync.WaitGroup
	for i := 0; i < manyAtOnce(); i++ {
		begun.Add(1)
		done.Add(1)
		go func() {
			defer done.Done()
			begun.Done()
			function()
		}()
	}
	begun.Wait()
	thereupon()
	done.Wait()
}

func TestManyGoroutinesWaitForOneWork(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		data := []int{0}
		if g.Rank() == 1 {
			check(t, g.Barrier(background))
			check(t, Send(background, g, []int{5}, 0, 0))
			return
		}
		work := must(Irecv(background, g, data, 1, 0))
		atOnce(func() { check(t, work.Wait(background)) },
			func() { check(t, g.Barrier(background)) })
		is(t, data[0], 5)
	})
}

func TestManyGoroutinesReceiveAtOnce(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		if g.Rank() == 1 {
			check(t, g.Barrier(background))
			for i := 0; i < manyAtOnce(); i++ {
				check(t, Send(background, g, []int{1}, 0, 0))
			}
			return
		}
		var sum atomic.Int64
		atOnce(func() {
			data := []int{0}
			_, err := Recv(background, g, data, 1, 0)
			check(t, err)
			sum.Add(int64(data[0]))
		}, func() { check(t, g.Barrier(background)) })
		is(t, sum.Load(), int64(manyAtOnce()))
	})
}

func TestManyGoroutinesWaitAtAStore(t *testing.T) {
	s := must(HashStore())
	atOnce(func() {
		value, err := s.Get(background, "key")
		check(t, err)
		is(t, string(value), "value")
	}, func() { check(t, s.Set("key", []byte("value"))) })
}

func TestADroppedWorkKeepsItsBuffer(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		const count = 50
		if g.Rank() == 0 {
			for i := 0; i < count; i++ {
				must(Irecv(background, g, make([]byte, 1<<16), 1, i)) // nobody keeps either
				runtime.GC()
			}
			check(t, g.Barrier(background))
			check(t, g.Barrier(background))
			return
		}
		check(t, g.Barrier(background))
		for i := 0; i < count; i++ {
			check(t, Send(background, g, make([]byte, 1<<16), 0, i))
		}
		check(t, g.Barrier(background))
	})
}

func TestClosingTheGroupEndsItsOperations(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		work := must(Irecv(background, g, []int{0}, 1-g.Rank(), 0))
		check(t, g.Barrier(background))
		check(t, g.Close())
		err := work.Wait(background)
		var failure *Error
		if !errors.As(err, &failure) || failure.Status != ErrAborted && failure.Status != ErrPeerLost {
			t.Errorf("got %v", err)
		}
		failsWith(t, g.Barrier(background), ErrInvalidHandle)
		is(t, []int{g.Rank(), g.Size()}, []int{-1, -1})
		check(t, g.Close())
	})
}
