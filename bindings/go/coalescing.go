package tutti

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"tutti/internal/raw"
)

// What is gathered borrows its buffers until the gathering's end is done. Two Groups may be the
// same one to C (those of a mesh), so while any group gathers, calls of all groups are kept.
var gathering struct {
	groups atomic.Int32
	mutex  sync.Mutex
	kept   []*call
}

// Coalesce calls a function whose collectives of the group are gathered instead of done, and then
// does all of them as one operation; those that follow each other and are alike share their
// messages while they are short. The function calls the same collectives in the same order on
// every rank, whose buffers and results must be left alone until Coalesce returns. Their contexts
// are looked at before they are gathered, and no more: what counts is that of Coalesce.
// MonitoredBarrier, works, and collectives of objects and bytes cannot be gathered; messages are
// not affected. If the function fails or panics, or the context is done meanwhile, what was
// gathered is done nevertheless, as the other ranks count on it.
func Coalesce(ctx context.Context, g *Group, function func() error) (err error) {
	if function == nil {
		return invalid("function is nil")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := g.CoalescingBegin(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.CoalescingEnd(ctx)) }()
	return function()
}

// CoalescingBegin begins what [Coalesce] does with a function; calls of all goroutines are gathered
// from here to the end.
func (g *Group) CoalescingBegin() error {
	gathering.groups.Add(1)
	err := attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_coalescing_begin(g.handle(), e)
	})
	if err != nil {
		stopKeeping()
		return err
	}
	g.gathering.Store(true)
	return nil
}

// CoalescingEnd does what was gathered since CoalescingBegin, also with a context that is done: the
// other ranks count on it.
func (g *Group) CoalescingEnd(ctx context.Context) error { return g.coalescingEnd().run(ctx) }

// CoalescingEndAsync starts what was gathered since CoalescingBegin.
func (g *Group) CoalescingEndAsync(ctx context.Context) (*Work, error) {
	return g.coalescingEnd().async(ctx)
}

func (g *Group) coalescingEnd() *call {
	c := newCall(g)
	c.apart, c.owed = true, true
	var gathered []*call
	ended := false
	c.start = func(options *raw.Tutti_call_options, work *raw.Tutti_work) int32 {
		status := raw.Tutti_coalescing_end(g.handle(), options, work, &c.frame.err)
		if g != nil && g.gathering.Swap(false) {
			gathered, ended = takeKept(g), true
		}
		return status
	}
	c.also = func() {
		for _, one := range gathered {
			one.letGo()
		}
		if ended {
			stopKeeping()
		}
	}
	return c
}

// isGathering tells whether calls of this Group are gathered.
func (g *Group) isGathering() bool { return g != nil && g.gathering.Load() }

// stopGathering is for a group that ends.
func (g *Group) stopGathering() {
	if g.gathering.Swap(false) {
		for _, one := range takeKept(g) {
			one.release()
		}
		stopKeeping()
	}
}

// gather has C take the call for the end of the gathering.
func (c *call) gather(ctx context.Context) error {
	if c.start(nil, nil) != raw.TUTTI_OK {
		err := c.failure(ctx, &c.frame.err)
		c.release()
		return err
	}
	gathering.mutex.Lock()
	gathering.kept = append(gathering.kept, c)
	gathering.mutex.Unlock()
	return nil
}

// keepIfGathering keeps what a call pins if it may have been gathered through another Group.
func keepIfGathering(c *call) bool {
	if gathering.groups.Load() == 0 {
		return false
	}
	gathering.mutex.Lock()
	defer gathering.mutex.Unlock()
	if gathering.groups.Load() == 0 {
		return false
	}
	gathering.kept = append(gathering.kept, c)
	return true
}

// takeKept takes out the calls that were gathered through a Group.
func takeKept(g *Group) []*call {
	gathering.mutex.Lock()
	defer gathering.mutex.Unlock()
	var taken, left []*call
	for _, one := range gathering.kept {
		if one.group == g {
			taken = append(taken, one)
		} else {
			left = append(left, one)
		}
	}
	gathering.kept = left
	return taken
}

// stopKeeping lets go of what was kept, once no group gathers any more.
func stopKeeping() {
	gathering.mutex.Lock()
	defer gathering.mutex.Unlock()
	if gathering.groups.Add(-1) == 0 {
		for _, one := range gathering.kept {
			one.release()
		}
		gathering.kept = nil
	}
}
