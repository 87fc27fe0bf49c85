package tutti

import (
	"context"
	"runtime"
	"unsafe"

	"tutti/internal/raw"
)

// AnySource receives from any rank but one's own.
const AnySource = -1

// Send sends a slice to rank dst, which receives it with [Recv] and the same tag, length and type.
// It waits for its receiver: ranks that all send first and receive then need [Isend]. A timeout, or
// deadline of the context, ends a message whose data have not begun to move: it counts as never
// sent.
func Send[T Element](ctx context.Context, g *Group, buffer []T, dst, tag int) error {
	return send(g, buffer, dst, tag).run(ctx)
}

func send[T Element](g *Group, buffer []T, dst, tag int) *call {
	c := newCall(g)
	data := view(c, &c.frame.first, buffer)
	c.start = func(options *raw.Tutti_call_options, work *raw.Tutti_work) int32 {
		return raw.Tutti_send(g.handle(), data, toInt32(dst), toInt32(tag), options, work,
			&c.frame.err)
	}
	return c
}

// Recv receives a message that rank src, or [AnySource], sent with the same tag, length and type,
// and returns the rank it came from. Cancelling the context cancels a receive whose message has not
// begun to come: it ends with [ErrAborted] and the context's error, and a message that comes later
// goes to the next receive.
func Recv[T Element](ctx context.Context, g *Group, buffer []T, src, tag int) (int, error) {
	return recv(g, buffer, src, tag).runRecv(ctx)
}

func recv[T Element](g *Group, buffer []T, src, tag int) *call {
	c := newCall(g)
	c.receives = true
	data := view(c, &c.frame.first, buffer)
	c.start = func(options *raw.Tutti_call_options, work *raw.Tutti_work) int32 {
		return raw.Tutti_recv(g.handle(), data, toInt32(src), toInt32(tag), options,
			c.sender(work), work, &c.frame.err)
	}
	return c
}

// runRecv runs a receive, and returns the rank it received from.
func (c *call) runRecv(ctx context.Context) (int, error) {
	from := -1
	c.deliverAlso(func() error { return c.receivedFrom(&from) })
	err := c.run(ctx)
	return from, err
}

// sender is where C tells whom a receive received from: a work tells by itself.
func (c *call) sender(work *raw.Tutti_work) *int32 {
	if work != nil {
		return nil
	}
	return &c.frame.rank
}

// receivedFrom tells whom a receive that has ended received from.
func (c *call) receivedFrom(rank *int) error {
	if c.frame.work == 0 {
		*rank = int(c.frame.rank)
		return nil
	}
	from, err := ask(func(from *int32, e *raw.Tutti_error) int32 {
		return raw.Tutti_work_source_rank(c.frame.work, from, e)
	})
	*rank = int(from)
	return err
}

// P2POp is one message of a batch; [IsendOp] and [IrecvOp] make them.
type P2POp struct {
	kind      uint32
	peer, tag int
	describe  func(c *call, buffer *raw.Tutti_buffer)
}

// IsendOp is what [Isend] would send. To send to oneself is allowed.
func IsendOp[T Element](buffer []T, dst, tag int) P2POp {
	return P2POp{raw.TUTTI_ISEND, dst, tag, func(c *call, made *raw.Tutti_buffer) {
		view(c, made, buffer)
	}}
}

// IrecvOp is what [Irecv] would receive.
func IrecvOp[T Element](buffer []T, src, tag int) P2POp {
	return P2POp{raw.TUTTI_IRECV, src, tag, func(c *call, made *raw.Tutti_buffer) {
		view(c, made, buffer)
	}}
}

// BatchIsendIrecv starts several messages, in any mix, in their order, and returns a work for each.
// All are checked before the first one starts; the deadline of the context holds for each.
func BatchIsendIrecv(ctx context.Context, g *Group, ops ...P2POp) ([]*Work, error) {
	defer runtime.KeepAlive(g)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	list := make([]raw.Tutti_p2p_op, len(ops))
	batch := make([]*call, len(ops))
	for i, op := range ops {
		batch[i] = newCall(g)
		list[i] = raw.Tutti_p2p_op{Kind: op.kind, Group_peer: toInt32(op.peer), Tag: toInt32(op.tag)}
		if op.describe != nil {
			op.describe(batch[i], &list[i].Buffer)
		}
	}
	works := make([]raw.Tutti_work, len(ops)+1) // never NULL, which would be to wait
	limits := newCall(g)
	defer limits.release()
	if limits.fault != nil {
		releaseAll(batch)
		return nil, limits.fault
	}
	status := raw.Tutti_batch_isend_irecv(g.handle(), unsafe.SliceData(list), int64(len(ops)),
		limits.limits(ctx), unsafe.SliceData(works), &limits.frame.err)
	if status != raw.TUTTI_OK {
		releaseAll(batch)
		return nil, limits.failure(ctx, &limits.frame.err)
	}
	started := make([]*Work, len(ops))
	for i, one := range batch {
		one.frame.work = works[i]
		one.receives = ops[i].kind == raw.TUTTI_IRECV
		started[i] = newWork(&operation{call: one, ctx: ctx})
	}
	return started, nil
}
