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
	collected *collected     // of a coalescing; else nil
	of        *Group         // whose handle it uses, see OnDevice and WithTagName; else nil
	device    *Device        // where the slices of its calls are; nil: the CPU
	tagName   string         // of its calls, see WithTagName
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

func newGroup(handle raw.Tutti_group) *Group {
	switch handle {
	case raw.TUTTI_GROUP_WORLD:
		return world
	case raw.TUTTI_GROUP_NON_MEMBER:
		return nonMember
	}
	g := permanent(handle)
	runtime.SetFinalizer(g, (*Group).Release)
	return g
}

// handle is what C calls the group; NULL, which C refuses, for nil or a closed one.
func (g *Group) handle() raw.Tutti_group {
	if g == nil {
		return 0
	}
	return raw.Tutti_group(g.base().number.Load())
}

// GroupOptions are the options of a group; zero is every field's default, and so is a nil pointer.
type GroupOptions struct {
	// For making the group, and the default of its operations; 0: 30 minutes.
	Timeout time.Duration
	// The group's name in errors; "": "world" for the default group, "unnamed" for others.
	Description string
	// The one device that this rank works on, without a stream; see [Group.BoundDevice].
	Device Device
	// Sums of floating-point and complex numbers are exact and rounded once, see
	// [Group.IsReproducible]; the same on all ranks.
	Reproducible bool
}

func groupOptions(reproducible bool, device Device, m making) *raw.Tutti_group_options {
	made := &raw.Tutti_group_options{
		Reproducible: uint32(toInt(reproducible)),
		Timeout_ms:   m.now,
		Device_type:  int32(device.Type),
		Device_index: toInt32(device.Index),
	}
	made.Struct_size = uint32(unsafe.Sizeof(*made))
	return made
}

// Close ends the group: what was sent arrives, operations that still run end with [ErrAborted],
// connections are closed. Every rank calls it; a rank does not wait for the others. After a failure
// this also ends a group. When it returns no operation of the group uses any buffer any
// more. The default group, and one from [CreateGroup], take all groups with them that were made
// from them. A group that is not closed is ended in the background when the garbage collector finds
// it. To close a group twice, or nil, does nothing.
func (g *Group) Close() error { return g.Destroy(context.Background()) }

// Destroy ends the group as Close does. Finished sends have until the deadline of the context to
// arrive; without one, as with Close, two seconds.
func (g *Group) Destroy(ctx context.Context) error {
	g = g.base()
	if g == nil || g == nonMember || g == world && !IsInitialized() {
		return nil
	}
	if g.isCoalescing() {
		g.Release()
		return nil
	}
	handle := g.handle()
	if g != world {
		handle = raw.Tutti_group(g.number.Swap(0))
		runtime.SetFinalizer(g, nil)
	}
	if handle == 0 {
		return nil
	}
	options := &raw.Tutti_destroy_options{}
	options.Struct_size = uint32(unsafe.Sizeof(*options))
	if deadline, has := ctx.Deadline(); has {
		options.Timeout_ms = millisecondsUntil(deadline)
	}
	err := attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_destroy_process_group(handle, options, e)
	})
	raw.Tutti_group_release(handle)
	if failure, is := err.(*Error); is && failure.Status == ErrInvalidHandle {
		return nil // another one took it along
	}
	return err
}

// Release gives back this Group and leaves the group as it is, for other Groups of [Group.Retain];
// with the last of them it ends in the background. The default group does not end so.
func (g *Group) Release() {
	g = g.base()
	if g == nil || g == world || g == nonMember {
		return
	}
	runtime.SetFinalizer(g, nil)
	raw.Tutti_group_release(raw.Tutti_group(g.number.Swap(0)))
	if g.isCoalescing() {
		releaseAll(g.collected.end())
	}
}

// Retain gives another Group for the same group, for a part of a program that gives back its own
// by [Group.Release]. That of [World] stays good, and destroyed, after the default group has ended.
func (g *Group) Retain() (*Group, error) {
	handle, err := ask(func(handle *raw.Tutti_group, e *raw.Tutti_error) int32 {
		return raw.Tutti_group_retain(g.handle(), handle, e)
	})
	if err != nil {
		return nil, err
	}
	return newGroup(handle), nil
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

// BackendForDevice is the name of the backend that serves the group's slices on a type of device;
// "" if the group refuses them.
func (g *Group) BackendForDevice(device DeviceType) string {
	defer runtime.KeepAlive(g)
	return goString(raw.Tutti_get_backend_for_device(g.handle(), int32(device)))
}

// BackendConfig is the group's backends by type of device, "cpu:gloo,cuda:gloo", with the settings
// of each: a text that [Init] takes.
func (g *Group) BackendConfig() (string, error) {
	config, err := askBytes(func(config *raw.Tutti_bytes, e *raw.Tutti_error) int32 {
		return raw.Tutti_get_backend_config(g.handle(), config, e)
	})
	return string(config), err
}

// IsReproducible tells whether the group was made with Reproducible: SUM, AVG and PREMUL_SUM of
// floating-point and complex numbers are then the exact sum of what all ranks contribute, rounded
// once: the same bits with every backend, size and order of ranks. See [AllReduceAddends].
func (g *Group) IsReproducible() bool {
	defer runtime.KeepAlive(g)
	return raw.Tutti_group_is_reproducible(g.handle()) == 1
}

// BoundDevice is the one device that this rank works on in the group: that of the options with
// which it, or the group that it was made from, was made; of type [CPU] if there is none. Calls
// with slices of another device of that type are refused.
func (g *Group) BoundDevice() (Device, error) {
	var index int32
	kind, err := ask(func(kind *int32, e *raw.Tutti_error) int32 {
		return raw.Tutti_group_get_bound_device(g.handle(), kind, &index, e)
	})
	return Device{Type: DeviceType(kind), Index: int(index)}, err
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
	ranks := make([]int32, max(0, g.Size()))
	err := attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_get_process_group_ranks(g.handle(), unsafe.SliceData(ranks),
			int64(len(ranks)), e)
	})
	if err != nil {
		return nil, err
	}
	return ints(ranks), nil
}

// FailedRanks are the ranks of the group that are known to be lost, ascending: they died, or were
// silent for too long. Ranks that left by closing the group are not among them.
func (g *Group) FailedRanks() ([]int, error) {
	ranks := make([]int32, max(0, g.Size()))
	count, err := ask(func(count *int64, e *raw.Tutti_error) int32 {
		return raw.Tutti_get_failed_ranks(g.handle(), unsafe.SliceData(ranks), int64(len(ranks)),
			count, e)
	})
	if err != nil {
		return nil, err
	}
	return ints(ranks[:count]), nil
}

// Name is the group's name in errors: its description, or the name that it got without one.
func (g *Group) Name() (string, error) {
	name, err := askBytes(func(name *raw.Tutti_bytes, e *raw.Tutti_error) int32 {
		return raw.Tutti_group_get_name(g.handle(), name, e)
	})
	return string(name), err
}

// Timeout is the timeout of the group's operations where the context sets no deadline; [NoTimeout]
// if they have none.
func (g *Group) Timeout() (time.Duration, error) {
	limit, err := ask(func(limit *int64, e *raw.Tutti_error) int32 {
		return raw.Tutti_group_get_timeout(g.handle(), limit, e)
	})
	return duration(limit), err
}

// SetTimeout sets the timeout of the group's operations from the next one on, and of making groups
// from it: above 0, or [NoTimeout]. Each rank sets its own.
func (g *Group) SetTimeout(timeout time.Duration) error {
	return attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_group_set_timeout(g.handle(), milliseconds(timeout), e)
	})
}
