package tutti

import (
	"context"
	"strings"
	"testing"
	"time"
)

// Groups of this process alone; those of several are in world.go. Ids are used once in a process.

func TestAGroupIsMadeByHandlesAndReplaced(t *testing.T) {
	handle := must(ReconfigureHandle())
	is(t, must(ReconfigureHandle()), handle)
	first := must(ReconfigureGroup(background, nil, 1, []string{handle}, "tcp",
		&GroupOptions{Description: "first"}))
	is(t, []int{first.Rank(), first.Size()}, []int{0, 1})
	is(t, must(first.Name()), "first")
	is(t, first.Backend(), "tcp")
	ctx, cancel := context.WithTimeout(background, time.Minute)
	defer cancel()
	second := must(ReconfigureGroup(ctx, first, 2, []string{handle}, "", nil))
	is(t, sum(t, second, 5), 5)
	is(t, must(second.Timeout()), defaultTimeout)
	failsWith(t, first.Barrier(background), ErrAborted)
	check(t, first.Close())
	check(t, second.Close())
	_, err := ReconfigureGroup(background, second, 3, []string{handle}, "", nil)
	failsWith(t, err, ErrInvalidHandle)
	is(t, IsInitialized(), false)
}

func TestTheDefaultGroupIsMadeByHandlesAndReplaced(t *testing.T) {
	handles := []string{must(ReconfigureHandle())}
	g := must(ReconfigureGroup(background, World(), 11, handles, "", nil))
	if g != World() {
		t.Error("the default group is another one")
	}
	before := must(g.Retain())
	ctx, cancel := context.WithTimeout(background, time.Minute)
	defer cancel()
	if must(ReconfigureGroup(ctx, g, 12, handles, "", &GroupOptions{Description: "again"})) != g {
		t.Error("the default group is another one")
	}
	is(t, must(g.Name()), "again")
	is(t, must(g.Timeout()), defaultTimeout)
	is(t, []int{g.Rank(), g.Size(), PGCount()}, []int{0, 1, 1})
	is(t, sum(t, g, 5), 5)
	failsWith(t, before.Barrier(background), ErrAborted)
	before.Release()
	check(t, g.Close())
	is(t, IsInitialized(), false)
}

func TestReconfiguringRefusesWrongArguments(t *testing.T) {
	handle := must(ReconfigureHandle())
	check(t, must(ReconfigureGroup(background, nil, 21, []string{handle}, "", nil)).Close())
	for _, wrong := range []struct {
		id      uint64
		handles []string
		message string
	}{
		{22, []string{"nonsense"}, `handles[0] is "nonsense"`},
		{22, []string{handle, handle}, "handles[1] is the same as handles[0]"},
		{22, []string{"a\x00b"}, "handles"},
		{22, nil, "handles"},
		{21, []string{handle}, "used before"},
	} {
		_, err := ReconfigureGroup(background, nil, wrong.id, wrong.handles, "", nil)
		failsWith(t, err, ErrInvalidArgument)
		if err != nil && !strings.Contains(err.Error(), wrong.message) {
			t.Error(err)
		}
	}
	ended, cancel := context.WithCancel(background)
	cancel()
	_, err := ReconfigureGroup(ended, nil, 22, []string{handle}, "", nil)
	failsWith(t, err, context.Canceled)
}
