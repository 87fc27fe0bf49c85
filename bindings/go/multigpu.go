package tutti

import (
	"context"
	"unsafe"

	"tutti/internal/raw"
)

// Collectives of ranks that have several GPUs each, as many on every rank, and the same ones in
// each call on a group. A list has a slice on each of them, all of one length. The first call on a
// group makes the connections: it waits for all ranks, also one whose name ends in Async. The calls
// wait for the default streams, so the group has no Stream.

// OnGPU is a slice on a GPU, for the calls that take one on each GPU of a rank.
//
// Deprecated: as those calls are.
type OnGPU[T Element] struct {
	Device Device // without a Stream
	Slice  []T    // such as those of [DeviceSlice]
}

// BroadcastMultiGPU copies one slice, srcTensor in the list of rank src, to all slices of all
// ranks.
//
// Deprecated: torch has taken it out. Be a rank for each GPU ([CreateGroup]), and use [Broadcast].
func BroadcastMultiGPU[T Element](
	ctx context.Context, g *Group, buffers []OnGPU[T], src, srcTensor int,
) error {
	return broadcastMultiGPU(g, buffers, src, srcTensor).run(ctx)
}

func broadcastMultiGPU[T Element](g *Group, buffers []OnGPU[T], src, srcTensor int) *call {
	c := newCall(g)
	data, count := viewsOnGPUs(c, "buffers", buffers)
	c.start = func(options *raw.Tutti_call_options, work *raw.Tutti_work) int32 {
		return raw.Tutti_broadcast_multigpu(g.handle(), data, count, toInt32(src),
			toInt32(srcTensor), options, work, &c.frame.err)
	}
	return c
}

// AllReduceMultiGPU reduces all slices of all ranks, element by element; every slice receives the
// result. [Avg] divides by the number of all slices.
//
// Deprecated: torch has taken it out. Be a rank for each GPU ([CreateGroup]), and use [AllReduce].
func AllReduceMultiGPU[T Element](
	ctx context.Context, g *Group, buffers []OnGPU[T], op ReduceOp,
) error {
	return allReduceMultiGPU(g, buffers, op).run(ctx)
}

func allReduceMultiGPU[T Element](g *Group, buffers []OnGPU[T], op ReduceOp) *call {
	c := newCall(g)
	data, count := viewsOnGPUs(c, "buffers", buffers)
	code := use[T](c, op)
	c.start = func(options *raw.Tutti_call_options, work *raw.Tutti_work) int32 {
		return raw.Tutti_all_reduce_multigpu(g.handle(), data, count, code, options, work,
			&c.frame.err)
	}
	return c
}

// ReduceMultiGPU reduces all slices of all ranks, element by element; one alone, dstTensor in the
// list of rank dst, receives the result.
//
// Deprecated: torch has taken it out. Be a rank for each GPU ([CreateGroup]), and use [Reduce].
func ReduceMultiGPU[T Element](
	ctx context.Context, g *Group, buffers []OnGPU[T], op ReduceOp, dst, dstTensor int,
) error {
	return reduceMultiGPU(g, buffers, op, dst, dstTensor).run(ctx)
}

func reduceMultiGPU[T Element](
	g *Group, buffers []OnGPU[T], op ReduceOp, dst, dstTensor int,
) *call {
	c := newCall(g)
	data, count := viewsOnGPUs(c, "buffers", buffers)
	code := use[T](c, op)
	c.start = func(options *raw.Tutti_call_options, work *raw.Tutti_work) int32 {
		return raw.Tutti_reduce_multigpu(g.handle(), data, count, code, toInt32(dst),
			toInt32(dstTensor), options, work, &c.frame.err)
	}
	return c
}

// AllGatherMultiGPU gives the inputs of all ranks to each GPU of every rank. Outputs are first
// those on the GPU of inputs[0], one for each input of rank 0, then of rank 1, and so on; then as
// many on the GPU of inputs[1], and so on. An input may be its own output.
//
// Deprecated: torch has taken it out. Be a rank for each GPU ([CreateGroup]), and use [AllGather].
func AllGatherMultiGPU[T Element](
	ctx context.Context, g *Group, outputs, inputs []OnGPU[T],
) error {
	return allGatherMultiGPU(g, outputs, inputs).run(ctx)
}

func allGatherMultiGPU[T Element](g *Group, outputs, inputs []OnGPU[T]) *call {
	c := newCall(g)
	in, inCount := viewsOnGPUs(c, "inputs", inputs)
	out, outCount := viewsOnGPUs(c, "outputs", outputs)
	c.start = func(options *raw.Tutti_call_options, work *raw.Tutti_work) int32 {
		return raw.Tutti_all_gather_multigpu(g.handle(), in, inCount, out, outCount, options, work,
			&c.frame.err)
	}
	return c
}

// ReduceScatterMultiGPU reduces lists of slices, element by element, and leaves one part to each
// GPU of every rank. Inputs are first those on the GPU of outputs[0], one for each output of rank
// 0, then of rank 1, and so on; then as many on the GPU of outputs[1], and so on. An output may be
// its own input.
//
// Deprecated: torch has taken it out. Be a rank for each GPU ([CreateGroup]), and use
// [ReduceScatter].
func ReduceScatterMultiGPU[T Element](
	ctx context.Context, g *Group, outputs, inputs []OnGPU[T], op ReduceOp,
) error {
	return reduceScatterMultiGPU(g, outputs, inputs, op).run(ctx)
}

func reduceScatterMultiGPU[T Element](g *Group, outputs, inputs []OnGPU[T], op ReduceOp) *call {
	c := newCall(g)
	in, inCount := viewsOnGPUs(c, "inputs", inputs)
	out, outCount := viewsOnGPUs(c, "outputs", outputs)
	code := use[T](c, op)
	c.start = func(options *raw.Tutti_call_options, work *raw.Tutti_work) int32 {
		return raw.Tutti_reduce_scatter_multigpu(g.handle(), in, inCount, out, outCount, code,
			options, work, &c.frame.err)
	}
	return c
}

// viewsOnGPUs describes slices that say where they are; nil for a list that is nil.
func viewsOnGPUs[T Element](c *call, name string, slices []OnGPU[T]) (*raw.Tutti_buffer, int64) {
	if slices == nil {
		return nil, 0
	}
	list := make([]raw.Tutti_buffer, len(slices))
	for i := range slices {
		if slices[i].Device.Stream != 0 {
			c.fail(invalid("%s[%d].Device.Stream is given; these calls have none", name, i))
		}
		viewOn(c, &slices[i].Device, &list[i], slices[i].Slice)
	}
	return unsafe.SliceData(list), int64(len(list))
}
