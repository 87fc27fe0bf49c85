package tutti

import "tutti/internal/raw"

// How each collective is called in C.

func broadcast[T Element](g *Group, buffer []T, src int) *call {
	c := newCall(g)
	data := view(c, &c.frame.first, buffer)
	c.start = func(options *raw.Tutti_call_options, work *raw.Tutti_work) int32 {
		return raw.Tutti_broadcast(g.handle(), data, toInt32(src), options, work, &c.frame.err)
	}
	return c
}

func allReduce[T Element](g *Group, buffer []T, op ReduceOp) *call {
	c := allReduceInto(g, buffer, nil, op)
	c.inPlace = true
	return c
}

func allReduceInto[T Element](g *Group, output, input []T, op ReduceOp) *call {
	c := newCall(g)
	in, out := viewOrNil(c, &c.frame.first, input), view(c, &c.frame.second, output)
	code := use[T](c, op)
	c.start = func(options *raw.Tutti_call_options, work *raw.Tutti_work) int32 {
		return raw.Tutti_all_reduce(g.handle(), in, out, code, options, work, &c.frame.err)
	}
	return c
}

func allReduceAddends[T Element](g *Group, output []T, inputs [][]T, op ReduceOp) *call {
	c := newCall(g)
	in, count := views(c, inputs)
	out := view(c, &c.frame.second, output)
	code := use[T](c, op)
	c.start = func(options *raw.Tutti_call_options, work *raw.Tutti_work) int32 {
		return raw.Tutti_all_reduce_addends(g.handle(), in, count, out, code, options, work,
			&c.frame.err)
	}
	return c
}

func reduce[T Element](g *Group, buffer []T, op ReduceOp, dst int) *call {
	c := reduceInto(g, buffer, nil, op, dst)
	c.inPlace = true
	return c
}

// reduceInto takes a nil input from output; elsewhere than on dst output may be nil.
func reduceInto[T Element](g *Group, output, input []T, op ReduceOp, dst int) *call {
	c := newCall(g)
	in, out := viewOrNil(c, &c.frame.first, input), viewOrNil(c, &c.frame.second, output)
	code := use[T](c, op)
	c.start = func(options *raw.Tutti_call_options, work *raw.Tutti_work) int32 {
		return raw.Tutti_reduce(g.handle(), in, out, code, toInt32(dst), options, work,
			&c.frame.err)
	}
	return c
}

func allGather[T Element](g *Group, outputs [][]T, input []T) *call {
	c := newCall(g)
	in := viewOrNil(c, &c.frame.first, input)
	out, count := views(c, outputs)
	c.start = func(options *raw.Tutti_call_options, work *raw.Tutti_work) int32 {
		return raw.Tutti_all_gather(g.handle(), in, out, count, options, work, &c.frame.err)
	}
	return c
}

func allGatherIntoTensor[T Element](g *Group, output, input []T) *call {
	c := newCall(g)
	in, out := viewOrNil(c, &c.frame.first, input), view(c, &c.frame.second, output)
	c.start = func(options *raw.Tutti_call_options, work *raw.Tutti_work) int32 {
		return raw.Tutti_all_gather_into_tensor(g.handle(), in, out, options, work, &c.frame.err)
	}
	return c
}

func gather[T Element](g *Group, outputs [][]T, input []T, dst int) *call {
	c := newCall(g)
	in := viewOrNil(c, &c.frame.first, input)
	out, count := views(c, outputs)
	c.start = func(options *raw.Tutti_call_options, work *raw.Tutti_work) int32 {
		return raw.Tutti_gather(g.handle(), in, out, count, toInt32(dst), options, work,
			&c.frame.err)
	}
	return c
}

func scatter[T Element](g *Group, output []T, inputs [][]T, src int) *call {
	c := newCall(g)
	in, count := views(c, inputs)
	out := viewOrNil(c, &c.frame.second, output)
	c.start = func(options *raw.Tutti_call_options, work *raw.Tutti_work) int32 {
		return raw.Tutti_scatter(g.handle(), in, count, out, toInt32(src), options, work,
			&c.frame.err)
	}
	return c
}

func reduceScatter[T Element](g *Group, output []T, inputs [][]T, op ReduceOp) *call {
	c := newCall(g)
	in, count := views(c, inputs)
	out := view(c, &c.frame.second, output)
	code := use[T](c, op)
	c.start = func(options *raw.Tutti_call_options, work *raw.Tutti_work) int32 {
		return raw.Tutti_reduce_scatter(g.handle(), in, count, out, code, options, work,
			&c.frame.err)
	}
	return c
}

func reduceScatterTensor[T Element](g *Group, output, input []T, op ReduceOp) *call {
	c := newCall(g)
	in, out := view(c, &c.frame.first, input), view(c, &c.frame.second, output)
	code := use[T](c, op)
	c.start = func(options *raw.Tutti_call_options, work *raw.Tutti_work) int32 {
		return raw.Tutti_reduce_scatter_tensor(g.handle(), in, out, code, options, work,
			&c.frame.err)
	}
	return c
}

func allToAll[T Element](g *Group, outputs, inputs [][]T) *call {
	c := newCall(g)
	in, inCount := views(c, inputs)
	out, outCount := views(c, outputs)
	c.start = func(options *raw.Tutti_call_options, work *raw.Tutti_work) int32 {
		return raw.Tutti_all_to_all(g.handle(), in, inCount, out, outCount, options, work,
			&c.frame.err)
	}
	return c
}

func allToAllSingle[T Element](g *Group, output, input []T, outputSplits, inputSplits []int) *call {
	c := newCall(g)
	in, out := viewOrNil(c, &c.frame.first, input), view(c, &c.frame.second, output)
	inSizes, inCount := int64s(inputSplits), int64(len(inputSplits))
	outSizes, outCount := int64s(outputSplits), int64(len(outputSplits))
	c.start = func(options *raw.Tutti_call_options, work *raw.Tutti_work) int32 {
		return raw.Tutti_all_to_all_single(g.handle(), in, inSizes, inCount, out, outSizes, outCount,
			options, work, &c.frame.err)
	}
	return c
}
