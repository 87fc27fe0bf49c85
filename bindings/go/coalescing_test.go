package tutti

import (
	"context"
	"runtime"
	"testing"
	"time"
)

func TestCoalescedCollectivesAreDoneAtTheEnd(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		first, second := []int{g.Rank()}, []int{10 * g.Rank()}
		check(t, Coalesce(background, g, func(coalescing *Group) error {
			is(t, []int{coalescing.Rank(), coalescing.Size()}, []int{g.Rank(), 2})
			check(t, AllReduce(background, coalescing, first, Sum))
			is(t, first[0], g.Rank())
			return AllReduce(background, coalescing, second, Sum)
		}))
		is(t, []int{first[0], second[0]}, []int{1, 10})
		c := must(g.CoalescingBegin())
		_, err := c.CoalescingBegin()
		failsWith(t, err, ErrInvalidHandle)
		err = AllGatherObject(background, c, make([]any, 2), 1, nil)
		failsWith(t, err, ErrInvalidHandle)
		_, err = BroadcastAsync(background, c, first, 0)
		failsWith(t, err, ErrInvalidArgument)
		check(t, Broadcast(background, c, first, 0))
		work := must(c.CoalescingEndAsync(background))
		check(t, work.Wait(background))
		failsWith(t, c.CoalescingEnd(background), ErrInvalidHandle)
		failsWith(t, Broadcast(background, c, first, 0), ErrInvalidHandle)
		failsWith(t, g.CoalescingEnd(background), ErrInvalidHandle)
		check(t, AllReduce(background, g, first, Sum))
		is(t, first[0], 2)
	})
}

func TestTheGroupWorksAsEverWhileItsCallsAreCollected(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		collected, direct := []int{g.Rank()}, []int{g.Rank() + 1}
		check(t, Coalesce(background, g, func(coalescing *Group) error {
			check(t, AllReduce(background, coalescing, collected, Sum))
			done := make(chan error)
			go func() { done <- AllReduce(background, g, direct, Sum) }()
			check(t, <-done)
			is(t, []int{collected[0], direct[0]}, []int{g.Rank(), 3})
			if g.Rank() == 0 {
				return Send(background, g, []int{7}, 1, 0)
			}
			is(t, must(Recv(background, g, direct, AnySource, 0)), 0)
			return nil
		}))
		is(t, collected[0], 1)
	})
}

func TestTwoCoalescingsOfOneGroup(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		first, second := []int{g.Rank()}, []int{g.Rank() + 1}
		one, other := must(g.CoalescingBegin()), must(g.CoalescingBegin())
		check(t, AllReduce(background, one, first, Sum))
		check(t, AllReduce(background, other, second, Sum))
		check(t, must(other.CoalescingEndAsync(background)).Wait(background))
		is(t, []int{first[0], second[0]}, []int{g.Rank(), 3})
		check(t, one.CoalescingEnd(background))
		is(t, first[0], 1)
	})
}

func TestACoalescingThatIsClosedIsDropped(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		data := []int{5}
		if g.Rank() == 0 {
			c := must(g.CoalescingBegin())
			check(t, AllReduce(background, c, data, Sum))
			check(t, c.Close())
			failsWith(t, c.CoalescingEnd(background), ErrInvalidHandle)
			forgotten := must(g.CoalescingBegin())
			check(t, AllReduce(background, forgotten, data, Sum))
			runtime.GC()
		}
		check(t, g.Barrier(background))
		is(t, data[0], 5)
	})
}

func TestTheContextOfACoalescingCounts(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		if g.Rank() == 1 {
			if _, err := Recv(background, g, []int{0}, 0, 0); err == nil {
				t.Error("the group goes on")
			}
			return
		}
		ctx, cancel := context.WithTimeout(background, 30*time.Millisecond)
		defer cancel()
		err := Coalesce(ctx, g, func(c *Group) error { return c.Barrier(background) })
		failsWith(t, err, ErrTimeout)
		failsWith(t, err, context.DeadlineExceeded)
	})
}

func TestWhatIsCollectedIsDoneWhateverHappens(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		ctx, cancel := context.WithCancel(background)
		data := []int{g.Rank()}
		func() {
			defer func() { is(t, recover(), "no") }()
			check(t, Coalesce(ctx, g, func(c *Group) error {
				check(t, AllReduce(ctx, c, data, Sum))
				panic("no")
			}))
		}()
		is(t, data[0], 1)
		c := must(g.CoalescingBegin())
		check(t, AllReduce(ctx, c, data, Sum))
		cancel()
		work := must(c.CoalescingEndAsync(ctx))
		check(t, work.Wait(background))
		is(t, data[0], 2)
		err := Coalesce(ctx, g, func(*Group) error {
			t.Error("called, with a context that is done")
			return nil
		})
		failsWith(t, err, context.Canceled)
	})
}
