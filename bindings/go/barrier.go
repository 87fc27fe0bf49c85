package tutti

import (
	"context"

	"tutti/internal/raw"
)

// Barrier returns when every rank of the group has called it.
func (g *Group) Barrier(ctx context.Context) error { return g.barrier().run(ctx) }

func (g *Group) barrier() *call {
	c := newCall(g)
	c.start = func(options *raw.Tutti_call_options, work *raw.Tutti_work) int32 {
		return raw.Tutti_barrier(g.handle(), options, work, &c.frame.err)
	}
	return c
}

// MonitoredBarrier is a barrier that names missing ranks: if not all ranks have come by the
// deadline of the context, or within the group's timeout, rank 0 fails with [ErrTimeout] and names
// the first missing rank, or with waitAllRanks all of them; all others fail with [ErrAborted] and
// the same sentence. For looking into a program that hangs. To cancel the context does not end it.
func (g *Group) MonitoredBarrier(ctx context.Context, waitAllRanks bool) error {
	c := newCall(g)
	defer c.release()
	if err := c.ready(ctx); err != nil {
		return err
	}
	status := raw.Tutti_monitored_barrier(g.handle(), toInt(waitAllRanks), c.limits(ctx),
		&c.frame.err)
	if status != raw.TUTTI_OK {
		return c.failure(ctx, &c.frame.err)
	}
	return nil
}

// Breakpoint stops that rank of the group, the same on all of them, in a debugger, while the others
// wait for it. The rank prints how to attach one. The deadline of the context, or the group's
// timeout, is for all ranks to come; for the debugger there is none. To cancel the context does not
// end it.
func (g *Group) Breakpoint(ctx context.Context, rank int) error {
	c := newCall(g)
	defer c.release()
	if err := c.ready(ctx); err != nil {
		return err
	}
	status := raw.Tutti_breakpoint(g.handle(), toInt32(rank), c.limits(ctx), &c.frame.err)
	if status != raw.TUTTI_OK {
		return c.failure(ctx, &c.frame.err)
	}
	return nil
}
