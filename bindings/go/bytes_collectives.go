package tutti

import (
	"context"
	"unsafe"

	"tutti/internal/raw"
)

// Collectives and messages of byte strings, whose lengths may differ freely between ranks: the
// receivers need not know them. Of the options MaxBytes counts. The Async ones use the given bytes
// until the work is done, and fill their variables when [Work.Wait] returns nil.

// BroadcastBytes gives the bytes of rank src to every rank.
func BroadcastBytes(ctx context.Context, g *Group, data *[]byte, src int,
	options *ObjectOptions) error {
	return broadcastBytes(g, data, src, options).run(ctx)
}

func broadcastBytes(g *Group, data *[]byte, src int, options *ObjectOptions) *call {
	c := newCall(g)
	var from unsafe.Pointer
	var size uint64
	var result results[raw.Tutti_bytes]
	switch {
	case data == nil:
		c.fail(invalid("data is nil"))
	case g.Rank() == src:
		from, size = c.giveBytes(*data), uint64(len(*data))
	default:
		result = c.receiveOneBytes("data", data)
	}
	most := options.maxBytes()
	c.start = func(options *raw.Tutti_call_options, work *raw.Tutti_work) int32 {
		return raw.Tutti_broadcast_bytes(g.handle(), from, size, toInt32(src), most, options,
			result.room(work), work, &c.frame.err)
	}
	return c
}

// AllGatherBytes gives every rank's bytes to every rank; outputs has room for those of each.
func AllGatherBytes(ctx context.Context, g *Group, outputs [][]byte, data []byte,
	options *ObjectOptions) error {
	return allGatherBytes(g, outputs, data, options).run(ctx)
}

func allGatherBytes(g *Group, outputs [][]byte, data []byte, options *ObjectOptions) *call {
	c := newCall(g)
	c.oneOfEach("outputs", len(outputs), true)
	from, results, most := c.giveBytes(data), c.receiveBytes(outputs), options.maxBytes()
	c.start = func(options *raw.Tutti_call_options, work *raw.Tutti_work) int32 {
		return raw.Tutti_all_gather_bytes(g.handle(), from, uint64(len(data)), most, options,
			results.room(work), results.count(work), work, &c.frame.err)
	}
	return c
}

// GatherBytes gives every rank's bytes to rank dst; elsewhere outputs is nil.
func GatherBytes(ctx context.Context, g *Group, outputs [][]byte, data []byte, dst int,
	options *ObjectOptions) error {
	return gatherBytes(g, outputs, data, dst, options).run(ctx)
}

func gatherBytes(g *Group, outputs [][]byte, data []byte, dst int, options *ObjectOptions) *call {
	c := newCall(g)
	c.oneOfEach("outputs", len(outputs), g.Rank() == dst)
	from, results, most := c.giveBytes(data), c.receiveBytes(outputs), options.maxBytes()
	c.start = func(options *raw.Tutti_call_options, work *raw.Tutti_work) int32 {
		return raw.Tutti_gather_bytes(g.handle(), from, uint64(len(data)), toInt32(dst), most,
			options, results.room(work), results.count(work), work, &c.frame.err)
	}
	return c
}

// ScatterBytes gives every rank its bytes of those that rank src has; elsewhere inputs is nil.
func ScatterBytes(ctx context.Context, g *Group, output *[]byte, inputs [][]byte, src int,
	options *ObjectOptions) error {
	return scatterBytes(g, output, inputs, src, options).run(ctx)
}

func scatterBytes(g *Group, output *[]byte, inputs [][]byte, src int,
	options *ObjectOptions) *call {
	c := newCall(g)
	var data *uintptr
	var lengths *uint64
	if inputs != nil {
		for _, input := range inputs {
			c.giveBytes(input)
		}
		list, sizes := cValues(inputs)
		c.alsoLetGo(list.release)
		data, lengths = list.first(), unsafe.SliceData(sizes)
	}
	result, most := c.receiveOneBytes("output", output), options.maxBytes()
	c.start = func(options *raw.Tutti_call_options, work *raw.Tutti_work) int32 {
		return raw.Tutti_scatter_bytes(g.handle(), data, lengths, int64(len(inputs)), toInt32(src),
			most, options, result.room(work), work, &c.frame.err)
	}
	return c
}

// SendBytes sends bytes to rank dst, which receives them with [RecvBytes] and the same tag. It
// waits for its receiver, as [Send] does.
func SendBytes(ctx context.Context, g *Group, data []byte, dst, tag int) error {
	return sendBytes(g, data, dst, tag).run(ctx)
}

func sendBytes(g *Group, data []byte, dst, tag int) *call {
	c := newCall(g)
	from := c.giveBytes(data)
	c.start = func(options *raw.Tutti_call_options, work *raw.Tutti_work) int32 {
		return raw.Tutti_send_bytes(g.handle(), from, uint64(len(data)), toInt32(dst), toInt32(tag),
			options, work, &c.frame.err)
	}
	return c
}

// RecvBytes receives bytes that rank src, or [AnySource], sent with the same tag, and returns the
// rank they came from.
func RecvBytes(ctx context.Context, g *Group, output *[]byte, src, tag int,
	options *ObjectOptions) (int, error) {
	return recvBytes(g, output, src, tag, options).runRecv(ctx)
}

func recvBytes(g *Group, output *[]byte, src, tag int, options *ObjectOptions) *call {
	c := newCall(g)
	c.receives = true
	result, most := c.receiveOneBytes("output", output), options.maxBytes()
	c.start = func(options *raw.Tutti_call_options, work *raw.Tutti_work) int32 {
		return raw.Tutti_recv_bytes(g.handle(), toInt32(src), toInt32(tag), most, options,
			result.room(work), c.sender(work), work, &c.frame.err)
	}
	return c
}
