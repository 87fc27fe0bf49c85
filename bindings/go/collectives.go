package tutti

import (
	"context"
)

// Every rank of a group calls its collectives in the same order. A call returns when its result is
// there; the one whose name ends in Async (async.go, which bindings/generator/twins.py writes) starts
// the operation and returns a [Work], and until that is done its slices must not be written, nor the
// results read. The slices are not copied. Outputs share no memory with each other or with inputs,
// except where a call says that it works in place.
//
// The deadline of the context is the operation's timeout (without one it is the group's), and a
// context that is done starts nothing. A context that is cancelled while a call waits ends the
// wait with [ErrPending], not the operation: other ranks count on it, and the slices stay in
// use until it is done or the group is closed. With context.Background() a call has the least to
// do.

// Broadcast copies the buffer of rank src to all ranks; as long on every rank.
func Broadcast[T Element](ctx context.Context, g *Group, buffer []T, src int) error {
	return broadcast(g, buffer, src).run(ctx)
}

// AllReduce reduces all ranks' buffers, element by element; every rank receives the result in its
// buffer, with the same bits on all.
func AllReduce[T Element](ctx context.Context, g *Group, buffer []T, op ReduceOp) error {
	return allReduce(g, buffer, op).run(ctx)
}

// AllReduceInto is [AllReduce] from one slice into another.
func AllReduceInto[T Element](ctx context.Context, g *Group, output, input []T, op ReduceOp) error {
	return allReduceInto(g, output, input, op).run(ctx)
}

// AllReduceAddends adds all slices that the ranks contribute, each as many as it has, also none,
// or with [Avg] divides the sum by their number: programs whose addends are spread over 1, 2 or 8
// ranks get the same bits. The group was made with Reproducible; op is [Sum] or [Avg].
func AllReduceAddends[T Element](
	ctx context.Context, g *Group, output []T, inputs [][]T, op ReduceOp,
) error {
	return allReduceAddends(g, output, inputs, op).run(ctx)
}

// Reduce reduces all ranks' buffers, element by element; rank dst alone receives the result in its
// buffer, the others' stay as they are.
func Reduce[T Element](ctx context.Context, g *Group, buffer []T, op ReduceOp, dst int) error {
	return reduce(g, buffer, op, dst).run(ctx)
}

// ReduceInto is [Reduce] from one slice into another; on other ranks than dst output is nil.
func ReduceInto[T Element](ctx context.Context, g *Group, output, input []T, op ReduceOp, dst int,
) error {
	return reduceInto(g, output, input, op, dst).run(ctx)
}

// AllGather gives every rank's input to every rank: outputs has a slice for each rank, of what
// lengths the inputs are, the same on every rank. A nil input is taken from the rank's own output.
func AllGather[T Element](ctx context.Context, g *Group, outputs [][]T, input []T) error {
	return allGather(g, outputs, input).run(ctx)
}

// AllGatherIntoTensor gives every rank's input to every rank, one after the other in one slice. A
// nil input is taken from the rank's own place there.
func AllGatherIntoTensor[T Element](ctx context.Context, g *Group, output, input []T) error {
	return allGatherIntoTensor(g, output, input).run(ctx)
}

// Gather gives every rank's input to rank dst; elsewhere outputs is nil. All have one length. A nil
// input on dst is taken from its own output.
func Gather[T Element](ctx context.Context, g *Group, outputs [][]T, input []T, dst int) error {
	return gather(g, outputs, input, dst).run(ctx)
}

// Scatter gives every rank its slice of those that rank src has; elsewhere inputs is nil. All have
// one length. With a nil output on src its piece stays where it is.
func Scatter[T Element](ctx context.Context, g *Group, output []T, inputs [][]T, src int) error {
	return scatter(g, output, inputs, src).run(ctx)
}

// ReduceScatter reduces the ranks' lists, slice by slice; each rank receives the result of the
// slice that has its place in the list. The slices may differ in length.
func ReduceScatter[T Element](ctx context.Context, g *Group, output []T, inputs [][]T, op ReduceOp,
) error {
	return reduceScatter(g, output, inputs, op).run(ctx)
}

// ReduceScatterTensor reduces all ranks' inputs and leaves to each rank its part of the result.
func ReduceScatterTensor[T Element](ctx context.Context, g *Group, output, input []T, op ReduceOp,
) error {
	return reduceScatterTensor(g, output, input, op).run(ctx)
}

// AllToAll gives inputs[r] of every rank to rank r, in whose outputs it has the giver's place. The
// slices may differ in length. With nil inputs the outputs are also the inputs.
func AllToAll[T Element](ctx context.Context, g *Group, outputs, inputs [][]T) error {
	return allToAll(g, outputs, inputs).run(ctx)
}

// AllToAllSingle gives every rank a piece of input and receives the pieces in output, in rank
// order. The splits are the lengths of the pieces, nil: equal ones; either all ranks give some or
// none does. A nil input is taken from output.
func AllToAllSingle[T Element](
	ctx context.Context, g *Group, output, input []T, outputSplits, inputSplits []int,
) error {
	return allToAllSingle(g, output, input, outputSplits, inputSplits).run(ctx)
}
