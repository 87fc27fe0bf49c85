package tutti

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"tutti/internal/raw"
)

// counted starts a receive from rank 1 and counts how often what it borrows is released.
func counted(ctx context.Context, g *Group, data []int) (*Work, *atomic.Int32) {
	released := new(atomic.Int32)
	c := recv(g, data, 1, 0)
	c.alsoLetGo(func() { released.Add(1) })
	return must(c.async(ctx)), released
}

// sendAfterBarrier is rank 1 of a test: it sends once rank 0 has come to a barrier.
func sendAfterBarrier(t *testing.T, g *Group) {
	check(t, g.Barrier(background))
	check(t, Send(background, g, []int{7}, 0, 0))
}

func (o *operation) isRegistered() bool {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.registered
}

// never is a context that can end, and does not.
func never(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(background)
	t.Cleanup(cancel)
	return ctx
}

func TestAWaitWithoutACallback(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		start := func() *Work { return must(AllReduceAsync(background, g, []int{1}, Sum)) }
		works := []*Work{start(), start(), start(), start(), start()}
		check(t, works[0].Wait(background))
		check(t, WaitAll(background, works[1], nil, works[2]))
		is(t, must(WaitAny(background, nil, works[3])), 1)
		for !works[4].IsCompleted() {
		}
		check(t, works[4].Wait(never(t)))
		<-works[4].Done()
		for _, work := range works {
			is(t, work.operation.over.Load(), true)
			check(t, work.Close())
			is(t, work.operation.isRegistered(), false)
		}
	})
}

func TestACallbackIsRegisteredWhereItIsNeeded(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		if g.Rank() == 1 {
			for range []int{0, 1, 2, 3} {
				sendAfterBarrier(t, g)
			}
			return
		}
		for _, needs := range []func(work *Work, sent func()) error{
			func(work *Work, sent func()) error {
				done := work.Done()
				sent()
				<-done
				return work.Err()
			},
			func(work *Work, sent func()) error {
				ended := make(chan error)
				check(t, work.Then(func(err error) { ended <- err }))
				sent()
				return <-ended
			},
			func(work *Work, sent func()) error {
				ctx, cancel := context.WithCancel(background)
				cancel()
				failsWith(t, work.Wait(ctx), ErrPending)
				sent()
				return work.Wait(never(t))
			},
			func(work *Work, sent func()) error {
				ctx, cancel := context.WithCancel(background)
				cancel()
				_, err := WaitAny(ctx, work)
				failsWith(t, err, ErrPending)
				sent()
				is(t, must(WaitAny(never(t), nil, work)), 1)
				return work.Wait(background)
			},
		} {
			data := []int{0}
			work, released := counted(background, g, data)
			is(t, work.operation.isRegistered(), false)
			sent := func() {
				is(t, released.Load(), int32(0))
				check(t, g.Barrier(background))
			}
			check(t, needs(work, sent))
			is(t, work.operation.isRegistered(), true)
			is(t, []int{data[0], int(released.Load())}, []int{7, 1})
			check(t, work.Close())
		}
	})
}

func TestACallbackAndAWaitReleaseOnce(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		for i := 0; i < 200; i++ {
			if g.Rank() == 1 {
				sendAfterBarrier(t, g)
				continue
			}
			work, released := counted(background, g, []int{0})
			done := work.Done()
			check(t, g.Barrier(background))
			check(t, work.Wait(background))
			is(t, released.Load(), int32(1))
			<-done
			is(t, released.Load(), int32(1))
			check(t, work.Close())
		}
	})
}

func TestManyLearnOfTheEndAtOnce(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		for i := 0; i < 100; i++ {
			if g.Rank() == 1 {
				sendAfterBarrier(t, g)
				continue
			}
			data := []int{0}
			work, released := counted(background, g, data)
			ctx := never(t)
			var done sync.WaitGroup
			for _, learn := range []func() error{
				func() error { return work.Wait(background) },
				func() error { return work.Wait(background) },
				func() error { return work.Wait(ctx) },
				func() error { return WaitAll(background, work, work) },
				func() error { return WaitAll(ctx, work, nil) },
				func() error { _, err := WaitAny(background, work); return err },
				func() error { _, err := WaitAny(ctx, work); return err },
				func() error {
					for !work.IsCompleted() {
					}
					return work.Err()
				},
				func() error { <-work.Done(); return work.Wait(background) },
			} {
				done.Add(1)
				go func(learn func() error) {
					defer done.Done()
					check(t, learn())
					is(t, []int{data[0], int(released.Load())}, []int{7, 1})
				}(learn)
			}
			check(t, g.Barrier(background))
			done.Wait()
			check(t, work.Close())
			is(t, released.Load(), int32(1))
		}
	})
}

func TestAWorkThatIsClosedWhileOthersWait(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		for i := 0; i < 50; i++ {
			if g.Rank() == 1 {
				sendAfterBarrier(t, g)
				continue
			}
			data := []int{0}
			work, released := counted(background, g, data)
			entered := blocking.inside.Load()
			ended := make(chan error)
			go func() { ended <- work.Wait(background) }()
			go func() { ended <- work.Wait(never(t)) }()
			go func() { ended <- WaitAll(background, work, work) }()
			for blocking.inside.Load() < entered+2 { // at least one of them is in C, or just before
				runtime.Gosched()
			}
			check(t, work.Close())
			is(t, released.Load(), int32(0))
			is(t, data[0], 0)
			check(t, g.Barrier(background))
			for range []int{0, 1, 2} {
				failsWith(t, <-ended, ErrInvalidHandle)
			}
			<-work.Done()
			is(t, []int{data[0], int(released.Load())}, []int{7, 1})
		}
	})
}

// drop drops a work of a receive, and returns its operation when the garbage collector has found
// it.
func drop(t *testing.T, ctx context.Context, g *Group, data []int) (*operation, *atomic.Int32) {
	work, released := counted(ctx, g, data)
	o := work.operation
	runtime.KeepAlive(work)
	work = nil
	for i := 0; i < 100000 && !o.isRegistered(); i++ {
		runtime.GC()
	}
	is(t, o.isRegistered(), true)
	is(t, released.Load(), int32(0))
	return o, released
}

func TestADroppedWorkBorrowsUntilItsEnd(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		if g.Rank() == 1 {
			sendAfterBarrier(t, g)
			return
		}
		data := []int{0}
		o, released := drop(t, background, g, data)
		check(t, g.Barrier(background))
		<-o.done()
		is(t, []int{data[0], int(released.Load())}, []int{7, 1})
		is(t, goString(raw.Tutti_work_get_op_type(o.call.frame.work)), "") // C's handle is gone
	})
}

func TestADroppedReceiveEndsWithItsContext(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		if g.Rank() == 1 {
			sendAfterBarrier(t, g)
			return
		}
		ctx, cancel := context.WithCancel(background)
		o, released := drop(t, ctx, g, []int{0})
		cancel()
		<-o.done()
		is(t, released.Load(), int32(1))
		data := []int{0}
		ctx, cancel = context.WithCancel(background)
		work, closed := counted(ctx, g, data)
		check(t, work.Close())
		cancel() // this context does not count any more
		check(t, g.Barrier(background))
		<-work.Done()
		is(t, []int{data[0], int(closed.Load())}, []int{7, 1})
	})
}

func TestWithoutAThreadForCallbacksAWaitReleases(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		if g.Rank() == 1 {
			sendAfterBarrier(t, g)
			return
		}
		data := []int{0}
		work, released := counted(background, g, data)
		o := work.operation
		o.mutex.Lock()
		o.register(func(raw.Tutti_work, unsafe.Pointer, uintptr, unsafe.Pointer,
			*raw.Tutti_error) int32 {
			return raw.TUTTI_ERR_OUT_OF_MEMORY
		})
		o.mutex.Unlock()
		check(t, work.Close())
		for i := 0; i < 100; i++ { // what waits instead gets its turn
			runtime.Gosched()
		}
		is(t, released.Load(), int32(0))
		check(t, g.Barrier(background))
		<-work.Done()
		is(t, []int{data[0], int(released.Load())}, []int{7, 1})
	})
}

func TestWaitsHoldUpNoMoreThreadsThanThat(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		if g.Rank() == 1 {
			check(t, g.Barrier(background))
			check(t, Send(background, g, []int{7}, 0, 0))
			check(t, Send(background, g, []int{8}, 0, 0))
			return
		}
		first, _ := counted(background, g, []int{0})
		second, _ := counted(background, g, []int{0})
		blocking.inside.Add(mostBlocked)
		defer blocking.inside.Add(-mostBlocked)
		ended := make(chan error)
		go func() { ended <- WaitAll(background, first, second) }()
		go func() {
			_, err := WaitAny(background, second)
			ended <- err
		}()
		for !first.operation.isRegistered() || !second.operation.isRegistered() {
			runtime.Gosched()
		}
		check(t, g.Barrier(background))
		check(t, <-ended)
		check(t, <-ended)
	})
}

func TestAWaitForWhatWaitsForItIsRefused(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		works := make(chan *Work, 1)
		var once sync.Once
		waits := must(NewReduceOp("waits", func(in, inout []int) error {
			var err error
			once.Do(func() {
				work := <-works
				err = work.Wait(background)
				failsWith(t, err, ErrInvalidArgument)
				failsWith(t, WaitAll(background, work, work), ErrInvalidArgument)
				_, anyErr := WaitAny(background, work)
				failsWith(t, anyErr, ErrInvalidArgument)
				is(t, work.operation.over.Load(), false)
			})
			return err
		}, nil))
		defer waits.Close()
		work := must(AllReduceAsync(background, g, []int{1}, waits))
		works <- work
		if err := work.Wait(background); err == nil {
			t.Error("the operation has not failed")
		}
	})
}
