package tutti

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"tutti/internal/raw"
)

// Group is a group of processes. Any number of goroutines may use it; collectives take effect in
// the order in which they are called, which must be the same on all ranks. Ranks in calls are ranks
// of the group.
type Group struct {
	number    atomic.Uintptr // C's handle; 0 once it is closed
	gathering atomic.Bool
	timeout   atomic.Int64 // as C knows it, in milliseconds
}

var (
	world     = permanent(raw.TUTTI_GROUP_WORLD)
	nonMember = permanent(raw.TUTTI_GROUP_NON_MEMBER)
)

func permanent(handle raw.Tutti_group) *Group {
	g := &Group{}
	g.number.Store(uintptr(handle))
	return g
}

// defaultTimeout of operations, where a group is made without one.
const defaultTimeout = 30 * time.Minute

func newGroup(handle raw.Tutti_group, timeout int64) *Group {
	if handle == raw.TUTTI_GROUP_NON_MEMBER {
		return nonMember
	}
	g := permanent(handle)
	g.timeout.Store(timeout)
	runtime.SetFinalizer(g, (*Group).release)
	return g
}

// handle is what C calls the group; NULL, which C refuses, for nil or a closed one.
func (g *Group) handle() raw.Tutti_group {
	if g == nil {
		return 0
	}
	return raw.Tutti_group(g.number.Load())
}

// GroupOptions are the options of a group; zero is every field's default, and so is a nil pointer.
type GroupOptions struct {
	// Of making the group, and the default of its operations; 0: 30 minutes.
	Timeout time.Duration
	// Sums of floating-point and complex numbers are exact and rounded once, see
	// [Group.IsReproducible]; the same on all ranks.
	Reproducible bool
}

// making is the time that making a group has, which the context may shorten, and the timeout that
// its operations have afterwards.
type making struct{ now, later int64 }

// makingWithin tells how long making a group may take: as long as the context has, too.
func makingWithin(ctx context.Context, timeout, otherwise int64) (making, error) {
	if err := ctx.Err(); err != nil {
		return making{}, err
	}
	m := making{now: timeout, later: timeout}
	if timeout == 0 {
		m.later = otherwise
	}
	if m.later == 0 { // of a group that is yet to be made
		m.later = milliseconds(defaultTimeout)
	}
	if deadline, has := ctx.Deadline(); has {
		left := max(1, milliseconds(max(0, time.Until(deadline))))
		if m.later < 0 || left < m.later {
			m.now = left
		}
	}
	return m, nil
}

// settle gives a new group the timeout it should have if making it had another one.
func (m making) settle(g *Group) error {
	g.timeout.Store(m.later)
	if m.now == 0 || m.now == m.later || g == nonMember {
		return nil
	}
	return attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_set_timeout(g.handle(), m.later, e)
	})
}

func groupOptions(reproducible bool, m making) *raw.Tutti_group_options {
	made := &raw.Tutti_group_options{Timeout_ms: m.now, Reproducible: uint32(toInt(reproducible))}
	made.Struct_size = uint32(unsafe.Sizeof(*made))
	return made
}

// Close ends the group: what it has sent arrives, operations that still run end with [ErrAborted],
// connections are closed. Every rank calls it; a rank does not wait for the others. After a failure
// this is how to end a group, too. When it returns no operation of the group uses any buffer any
// more. The default group, and one from [CreateGroup], take all groups with them that were made
// from them. A group that is not closed is ended in the background when the garbage collector finds
// it. To close a group twice, or nil, does nothing.
func (g *Group) Close() error {
	if g == world {
		if !IsInitialized() {
			return nil
		}
		return DestroyProcessGroup()
	}
	if g == nil || g == nonMember {
		return nil
	}
	handle := raw.Tutti_group(g.number.Swap(0))
	if handle == 0 {
		return nil
	}
	runtime.SetFinalizer(g, nil)
	err := attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_destroy_process_group(handle, e)
	})
	raw.Tutti_group_release(handle)
	g.stopGathering()
	if failure, is := err.(*Error); is && failure.Status == ErrInvalidHandle {
		return nil // a group it was made from took it along
	}
	return err
}

// release is the finalizer.
func (g *Group) release() {
	raw.Tutti_group_release(raw.Tutti_group(g.number.Swap(0)))
	g.stopGathering()
}

// IsMember tells whether this process is in the group: [Group.NewGroup] and its kin give a group
// that it is no member of to those they leave out.
func (g *Group) IsMember() bool { return g.Rank() >= 0 }

// Rank is this process's rank in the group; -1 if it has none or the group is closed.
func (g *Group) Rank() int {
	defer runtime.KeepAlive(g)
	return int(raw.Tutti_get_rank(g.handle()))
}

// Size is how many ranks the group has; -1 if it is closed. torch calls it get_world_size.
func (g *Group) Size() int {
	defer runtime.KeepAlive(g)
	return int(raw.Tutti_get_world_size(g.handle()))
}

// Backend is the name of the group's backend, for instance "shm", also where it was chosen; "" if
// the group is closed.
func (g *Group) Backend() string {
	defer runtime.KeepAlive(g)
	return goString(raw.Tutti_get_backend(g.handle()))
}

// IsReproducible tells whether the group was made with Reproducible: SUM, AVG and PREMUL_SUM of
// floating-point and complex numbers are then the exact sum of what all ranks contribute, rounded
// once: the same bits with every backend, size and order of ranks. See [AllReduceAddends].
func (g *Group) IsReproducible() bool {
	defer runtime.KeepAlive(g)
	return raw.Tutti_is_reproducible(g.handle()) == 1
}

// GroupRank is the rank in the group of a rank among all; -1 if it is not a member.
func (g *Group) GroupRank(globalRank int) int {
	defer runtime.KeepAlive(g)
	return int(raw.Tutti_get_group_rank(g.handle(), toInt32(globalRank)))
}

// GlobalRank is the number among all ranks of a rank of the group; -1 if there is none.
func (g *Group) GlobalRank(groupRank int) int {
	defer runtime.KeepAlive(g)
	return int(raw.Tutti_get_global_rank(g.handle(), toInt32(groupRank)))
}

// Ranks are the global ranks of the members, in the order of their ranks in the group; torch's
// get_process_group_ranks.
func (g *Group) Ranks() ([]int, error) {
	defer runtime.KeepAlive(g)
	ranks := make([]int32, max(0, g.Size()))
	err := attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_get_process_group_ranks(g.handle(), unsafe.SliceData(ranks),
			uint64(len(ranks)), e)
	})
	if err != nil {
		return nil, err
	}
	return ints(ranks), nil
}

// SetTimeout sets the timeout of the group's operations from the next one on, and of making groups
// from it: above 0, or [NoTimeout]. Each rank sets its own.
func (g *Group) SetTimeout(timeout time.Duration) error {
	defer runtime.KeepAlive(g)
	limit := milliseconds(timeout)
	err := attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_set_timeout(g.handle(), limit, e)
	})
	if err == nil {
		g.timeout.Store(limit)
	}
	return err
}
