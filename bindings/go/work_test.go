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
		is(t, must(work.SequenceNumber()), uint64(1))
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
		works := make([]*Work, 3*mostCases)
		works[0] = must(Irecv(background, g, []int{0}, 0, 0))
		for i := range works {
			works[i] = works[0]
		}
		ctx, cancel := context.WithTimeout(background, time.Millisecond)
		defer cancel()
		_, err := WaitAny(ctx, works...)
		failsWith(t, err, context.DeadlineExceeded)
		works[2*mostCases+1] = must(Irecv(background, g, []int{0}, 0, 1))
		check(t, g.Barrier(background))
		is(t, must(WaitAny(background, works...)), 2*mostCases+1)
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
			failsWith(t, err, ErrUnfinished)
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

func TestASynchronousCallCanBeLeft(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		if g.Rank() == 1 {
			must(Recv(background, g, []int{0}, 0, 9))
			return
		}
		ctx, cancel := context.WithCancel(background)
		go cancel()
		_, err := Recv(ctx, g, []int{0}, 1, 0)
		failsWith(t, err, context.Canceled)
		check(t, Send(background, g, []int{0}, 1, 9))
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
			if errors.Is(err, ErrUnfinished) {
				t.Error("the receive did not end by its timeout: ", err)
			}
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
