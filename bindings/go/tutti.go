// Package tutti is collective communication between processes, as torch.distributed has it: stores
// to meet at, process groups, collectives that run while you compute, messages with tags.
//
//	group, err := tutti.InitProcessGroup(ctx, nil)
//	...
//	sum := []float64{float64(group.Rank() + 1)}
//	err = tutti.AllReduce(ctx, group, sum, tutti.Sum)
//
// Slices are not copied: C reads and writes them in place, pinned for as long as an operation uses
// them. Everything that is made is closed with Close. The garbage collector closes forgotten
// things, but not the memory of [Alloc]. A call on something closed, or nil, is an error.
//
// # Contexts
//
// The deadline of a context is the timeout of the operation it is given to; without one it is the
// group's, or the store's. A context that is done starts nothing.
//
// Cancelling a context ends receives whose message has not begun to come, and waits of a [Store],
// with [ErrAborted] and the context's error. A collective or a send that has begun cannot be taken
// back, because other ranks count on it: the call returns at once with [ErrPending] and the
// context's error, while the operation goes on with its slices. They are the caller's again when
// the group is closed, or when the [Work] is done. Making groups, meshes and connections heeds
// deadlines, but once begun no cancelling.
//
// With context.Background(), synchronous calls and waits for works run on the caller's thread. With
// a context that can be done, calls run as works, which costs tens of microseconds more if they take
// longer than about 20.
package tutti
