package tutti

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"
)

// sum is what the ranks of a group give together.
func sum(t *testing.T, g *Group, value int) int {
	t.Helper()
	data := []int{value}
	check(t, AllReduce(background, g, data, Sum))
	return data[0]
}

// onRanksThere is onRanks, but all ranks have made their group before the function is called: what
// ends it then ends no making.
func onRanksThere(t *testing.T, size int, function func(t *testing.T, g *Group)) {
	t.Helper()
	var there sync.WaitGroup
	there.Add(size)
	onRanks(t, size, func(t *testing.T, g *Group) {
		there.Done()
		there.Wait()
		function(t, g)
	})
}

func TestShrinkingRefusesWrongArguments(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		other := 1 - g.Rank()
		for _, wrong := range [][]int{{g.Rank()}, {other, other}, {2}, {-1}} {
			_, err := g.Shrink(background, wrong, nil)
			failsWith(t, err, ErrInvalidArgument)
			if err != nil && !strings.Contains(err.Error(), "ranksToExclude") {
				t.Error(err)
			}
		}
		for _, wrong := range []ShrinkOptions{{MinSize: 3}, {MinSize: -1}, {Description: "a\x00b"}} {
			_, err := g.Shrink(background, []int{other}, &wrong)
			failsWith(t, err, ErrInvalidArgument)
		}
		ended, cancel := context.WithCancel(background)
		cancel()
		_, err := g.Shrink(ended, []int{other}, nil)
		failsWith(t, err, context.Canceled)
		_, err = g.Agree(ended, 1)
		failsWith(t, err, context.Canceled)
		failsWith(t, g.Revoke("a\x00b"), ErrInvalidArgument)
		_, err = g.Shrink(background, nil, nil) // what all ranks see together
		failsWith(t, err, ErrInvalidArgument)
		is(t, sum(t, g, g.Rank()), 1)
		var none *Group
		_, err = none.Failure()
		failsWith(t, err, ErrInvalidHandle)
		_, err = nonMember.Shrink(background, nil, nil)
		failsWith(t, err, ErrInvalidHandle)
		failsWith(t, nonMember.Abort(), ErrInvalidHandle)
	})
}

func TestTheOthersGoOnWithoutAnExcludedRank(t *testing.T) {
	onRanksThere(t, 3, func(t *testing.T, g *Group) {
		if g.Rank() == 1 {
			failsWith(t, g.Barrier(background), ErrAborted)
			_, err := g.Shrink(background, nil, nil)
			failsWith(t, err, ErrAborted)
			return
		}
		ctx, cancel := context.WithTimeout(background, time.Minute)
		defer cancel()
		pair, err := g.Shrink(ctx, []int{1}, &ShrinkOptions{Description: "pair", MinSize: 2})
		if err != nil {
			t.Error(err)
			return
		}
		defer pair.Close()
		is(t, []int{pair.Rank(), pair.Size()}, []int{g.Rank() / 2, 2})
		is(t, must(pair.Ranks()), []int{0, 2})
		is(t, must(pair.Name()), "pair")
		is(t, must(pair.Timeout()), 10*time.Minute)
		is(t, sum(t, pair, g.Rank()), 2)
		failsWith(t, g.Barrier(background), ErrAborted)
	})
}

func TestARevokedGroupIsShrunkByAll(t *testing.T) {
	onRanksThere(t, 3, func(t *testing.T, g *Group) {
		failure := must(g.Failure())
		defer failure.Close()
		if g.Rank() == 2 {
			is(t, failure.IsCompleted(), false)
			check(t, g.Revoke("the loss is no number"))
		}
		<-failure.Done()
		err := failure.Wait(background)
		failsWith(t, err, ErrAborted)
		if found, is := err.(*Error); !is || found.Rank != 2 ||
			!strings.Contains(found.Message, "the loss is no number") {
			t.Error(err)
		}
		failsWith(t, g.Barrier(background), ErrAborted)
		again := must(g.Shrink(background, nil, &ShrinkOptions{Abort: true}))
		defer again.Close()
		is(t, []int{again.Rank(), again.Size()}, []int{g.Rank(), 3})
		is(t, sum(t, again, 1), 3)
	})
}

func TestAbortEndsOperations(t *testing.T) {
	onRanksThere(t, 2, func(t *testing.T, g *Group) {
		failure := must(g.Failure())
		defer failure.Close()
		if g.Rank() == 0 {
			work := must(Irecv(background, g, []int{0}, 1, 0))
			defer work.Close()
			check(t, g.Abort())
			failsWith(t, work.Wait(background), ErrAborted)
		}
		failsWith(t, failure.Wait(background), ErrAborted)
	})
}

func TestRanksAgree(t *testing.T) {
	onRanks(t, 3, func(t *testing.T, g *Group) {
		is(t, must(g.Agree(background, 1<<63|7&^(1<<g.Rank()))), uint64(1)<<63)
		ctx, cancel := context.WithTimeout(background, time.Minute)
		defer cancel()
		is(t, must(g.Agree(ctx, 6|uint64(g.Rank()))), uint64(6))
	})
}

func TestARankThatDoesNotAgreeIsNamed(t *testing.T) {
	done := make(chan struct{})
	onRanks(t, 2, func(t *testing.T, g *Group) {
		if g.Rank() == 1 {
			<-done
			return
		}
		defer close(done)
		ctx, cancel := context.WithTimeout(background, 50*time.Millisecond)
		defer cancel()
		_, err := g.Agree(ctx, 1)
		failsWith(t, err, ErrTimeout)
		failsWith(t, err, context.DeadlineExceeded)
	})
}

func TestTheDefaultGroupIsAnotherOneAfterwards(t *testing.T) {
	g := must(InitProcessGroup(background, &InitOptions{Store: must(HashStore()), WorldSize: 1}))
	before := must(g.Retain())
	_, err := g.Shrink(background, nil, nil)
	failsWith(t, err, ErrInvalidArgument)
	check(t, g.Revoke(""))
	failsWith(t, g.Barrier(background), ErrAborted)
	if must(g.Shrink(background, nil, nil)) != World() {
		t.Error("the shrunk default group is another one")
	}
	is(t, []int{g.Rank(), g.Size(), PGCount()}, []int{0, 1, 1})
	is(t, sum(t, g, 5), 5)
	failsWith(t, before.Barrier(background), ErrAborted)
	before.Release()
	failure := must(g.Failure())
	check(t, g.Close())
	failsWith(t, failure.Wait(background), ErrAborted)
	is(t, IsInitialized(), false)
}
