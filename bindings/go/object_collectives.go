package tutti

import (
	"context"

	"tutti/internal/raw"
)

// The object collectives take values of Go, see [Object] for which, and fill variables of the
// caller's, as torch's do. They take their turn among the group's other collectives. The Async
// ones fill their variables when [Work.Wait] returns nil.

// BroadcastObjectList gives every rank the values in the list of rank src, whose length is the same
// on every rank.
func BroadcastObjectList(ctx context.Context, g *Group, list []any, src int,
	options *ObjectOptions) error {
	return broadcastObjectList(g, list, src, options).run(ctx)
}

func broadcastObjectList(g *Group, list []any, src int, options *ObjectOptions) *call {
	c := newCall(g)
	var objects *raw.Tutti_object
	var results results[raw.Tutti_object]
	if g.Rank() == src {
		objects = c.give(list)
	} else {
		results = c.receive(list)
	}
	limits := options.forC()
	c.start = func(options *raw.Tutti_call_options, work *raw.Tutti_work) int32 {
		return raw.Tutti_broadcast_object_list(g.handle(), objects, int64(len(list)), toInt32(src),
			limits, options, results.room(work), work, &c.frame.err)
	}
	return c
}

// AllGatherObject gives every rank's value to every rank; values has room for one of each.
func AllGatherObject(ctx context.Context, g *Group, values []any, value any,
	options *ObjectOptions) error {
	return allGatherObject(g, values, value, options).run(ctx)
}

func allGatherObject(g *Group, values []any, value any, options *ObjectOptions) *call {
	c := newCall(g)
	c.oneOfEach("values", len(values), true)
	object, results := c.giveOne(value), c.receive(values)
	limits := options.forC()
	c.start = func(options *raw.Tutti_call_options, work *raw.Tutti_work) int32 {
		return raw.Tutti_all_gather_object(g.handle(), object, limits, options, results.room(work),
			results.count(work), work, &c.frame.err)
	}
	return c
}

// GatherObject gives every rank's value to rank dst; elsewhere values is nil.
func GatherObject(ctx context.Context, g *Group, values []any, value any, dst int,
	options *ObjectOptions) error {
	return gatherObject(g, values, value, dst, options).run(ctx)
}

func gatherObject(g *Group, values []any, value any, dst int, options *ObjectOptions) *call {
	c := newCall(g)
	c.oneOfEach("values", len(values), g.Rank() == dst)
	object, results := c.giveOne(value), c.receive(values)
	limits := options.forC()
	c.start = func(options *raw.Tutti_call_options, work *raw.Tutti_work) int32 {
		return raw.Tutti_gather_object(g.handle(), object, toInt32(dst), limits, options,
			results.room(work), results.count(work), work, &c.frame.err)
	}
	return c
}

// ScatterObjectList gives every rank its value of those that rank src has; elsewhere values is nil.
func ScatterObjectList(ctx context.Context, g *Group, value *any, values []any, src int,
	options *ObjectOptions) error {
	return scatterObjectList(g, value, values, src, options).run(ctx)
}

func scatterObjectList(g *Group, value *any, values []any, src int, options *ObjectOptions) *call {
	c := newCall(g)
	objects := c.give(values)
	result := receiveOne(c, "value", value, raw.Tutti_work_take_objects, decode)
	limits := options.forC()
	c.start = func(options *raw.Tutti_call_options, work *raw.Tutti_work) int32 {
		return raw.Tutti_scatter_object_list(g.handle(), objects, int64(len(values)), toInt32(src),
			limits, options, result.room(work), work, &c.frame.err)
	}
	return c
}

// SendObjectList sends values to rank dst, which receives them with [RecvObjectList] and the same
// tag and number. It waits for its receiver, as [Send] does.
func SendObjectList(ctx context.Context, g *Group, list []any, dst, tag int,
	options *ObjectOptions) error {
	return sendObjectList(g, list, dst, tag, options).run(ctx)
}

func sendObjectList(g *Group, list []any, dst, tag int, options *ObjectOptions) *call {
	c := newCall(g)
	objects, limits := c.give(list), options.forC()
	c.start = func(options *raw.Tutti_call_options, work *raw.Tutti_work) int32 {
		return raw.Tutti_send_object_list(g.handle(), objects, int64(len(list)), toInt32(dst),
			toInt32(tag), limits, options, work, &c.frame.err)
	}
	return c
}

// RecvObjectList receives values that rank src, or [AnySource], sent with the same tag, and returns
// the rank they came from.
func RecvObjectList(ctx context.Context, g *Group, list []any, src, tag int,
	options *ObjectOptions) (int, error) {
	return recvObjectList(g, list, src, tag, options).runRecv(ctx)
}

func recvObjectList(g *Group, list []any, src, tag int, options *ObjectOptions) *call {
	c := newCall(g)
	c.receives = true
	results, limits := c.receive(list), options.forC()
	c.start = func(options *raw.Tutti_call_options, work *raw.Tutti_work) int32 {
		return raw.Tutti_recv_object_list(g.handle(), toInt32(src), toInt32(tag), limits, options,
			results.room(work), int64(len(list)), c.sender(work), work, &c.frame.err)
	}
	return c
}
