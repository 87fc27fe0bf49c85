package tutti

import (
	"context"
	"testing"
	"time"
)

// nothingIsKept fails if a call is kept for a gathering, while none is under way.
func nothingIsKept(t *testing.T) {
	t.Helper()
	if gathering.groups.Load() != 0 || len(gathering.kept) != 0 {
		t.Error("something is still kept for a gathering")
	}
}

func TestCoalescedCollectivesAreDoneAtTheEnd(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		first, second := []int{g.Rank()}, []int{10 * g.Rank()}
		check(t, Coalesce(background, g, func() error {
			check(t, AllReduce(background, g, first, Sum))
			return AllReduce(background, g, second, Sum)
		}))
		is(t, []int{first[0], second[0]}, []int{1, 10})
		check(t, g.CoalescingBegin())
		failsWith(t, g.CoalescingBegin(), ErrInvalidArgument)
		err := AllGatherObject(background, g, make([]any, 2), 1, nil)
		failsWith(t, err, ErrInvalidArgument)
		check(t, Broadcast(background, g, first, 0))
		work := must(g.CoalescingEndAsync(background))
		check(t, work.Wait(background))
		failsWith(t, g.CoalescingEnd(background), ErrInvalidArgument)
		check(t, AllReduce(background, g, first, Sum))
		is(t, first[0], 2)
	})
	nothingIsKept(t)
}

func TestTwoGroupsThatAreOneGatherTogether(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		mesh := must(InitDeviceMesh(background, g, []int{2}, nil))
		one, same := must(mesh.Group(0)), must(mesh.Group(0))
		first, second := []int{g.Rank()}, []int{g.Rank() + 1}
		check(t, one.CoalescingBegin())
		check(t, AllReduce(background, one, first, Sum))
		check(t, AllReduce(background, same, second, Sum))
		check(t, must(one.CoalescingEndAsync(background)).Wait(background))
		is(t, []int{first[0], second[0]}, []int{1, 3})
		check(t, same.CoalescingBegin())
		check(t, same.Close()) // nothing of it is kept
	})
	nothingIsKept(t)
}

func TestNothingIsKeptAfterAGathering(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		check(t, Coalesce(background, g, func() error {
			return AllReduce(background, g, []int{1}, Sum)
		}))
		check(t, g.Barrier(background)) // both ranks' ends are done
		nothingIsKept(t)
		check(t, g.Barrier(background))
	})
}

func TestTheContextOfAGatheringCounts(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		if g.Rank() == 1 {
			if _, err := Recv(background, g, []int{0}, 0, 0); err == nil {
				t.Error("the group goes on")
			}
			return
		}
		ctx, cancel := context.WithTimeout(background, 30*time.Millisecond)
		defer cancel()
		err := Coalesce(ctx, g, func() error { return g.Barrier(background) })
		failsWith(t, err, ErrTimeout)
		failsWith(t, err, context.DeadlineExceeded)
	})
	nothingIsKept(t)
}

func TestWhatIsGatheredIsDoneWhateverHappens(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		ctx, cancel := context.WithCancel(background)
		data := []int{g.Rank()}
		func() {
			defer func() { is(t, recover(), "no") }()
			check(t, Coalesce(ctx, g, func() error {
				check(t, AllReduce(ctx, g, data, Sum))
				panic("no")
			}))
		}()
		is(t, data[0], 1)
		check(t, g.CoalescingBegin())
		check(t, AllReduce(ctx, g, data, Sum))
		cancel()
		work := must(g.CoalescingEndAsync(ctx))
		check(t, work.Wait(background))
		is(t, data[0], 2)
		err := Coalesce(ctx, g, func() error {
			t.Error("called, with a context that is done")
			return nil
		})
		failsWith(t, err, context.Canceled)
	})
	nothingIsKept(t)
}

func TestMessagesAreNotGathered(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		check(t, Coalesce(background, g, func() error {
			if g.Rank() == 0 {
				check(t, Send(background, g, []int{7}, 1, 0))
				check(t, SendBytes(background, g, []byte("text"), 1, 1))
				return SendObjectList(background, g, []any{"value"}, 1, 2, nil)
			}
			data, bytes, values := []int{0}, []byte(nil), []any{nil}
			is(t, must(Recv(background, g, data, AnySource, 0)), 0)
			is(t, must(RecvBytes(background, g, &bytes, AnySource, 1, nil)), 0)
			is(t, must(RecvObjectList(background, g, values, AnySource, 2, nil)), 0)
			is(t, []any{data[0], string(bytes), values[0]}, []any{7, "text", "value"})
			return nil
		}))
	})
	nothingIsKept(t)
}
