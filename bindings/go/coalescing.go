package tutti

import (
	"context"
	"errors"
	"sync"

	"tutti/internal/raw"
)

// collected are the calls of a coalescing, whose buffers are the operation's until its end is done.
type collected struct {
	mutex sync.Mutex
	ended bool
	calls []*call
}

// end takes the calls out; from here on there come no more.
func (c *collected) end() []*call {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	calls := c.calls
	c.calls, c.ended = nil, true
	return calls
}

func releaseAll(calls []*call) {
	for _, one := range calls {
		one.release()
	}
}

var errGroupClosed = &Error{
	Status: ErrInvalidHandle, Rank: -1, Message: "the group is nil or closed",
}

// Coalesce calls a function with a second Group for the same group. Collectives that the function
// calls on it are collected instead of done, and then all of them run as one operation; those that
// follow each other and are alike share their messages while they are short. Calls on the group
// itself work as ever, also meanwhile. The function calls the same collectives in the same order on
// every rank, whose buffers and results must be left alone until Coalesce returns. Their contexts
// are looked at before they are collected, and no more: that of Coalesce counts.
// MonitoredBarrier, messages, works, and collectives of objects, bytes and several GPUs cannot be
// collected. If the function fails or panics, or the context is done meanwhile, the collected calls
// run nevertheless, as the other ranks count on them.
func Coalesce(ctx context.Context, g *Group, function func(coalescing *Group) error) (err error) {
	if function == nil {
		return invalid("function is nil")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	coalescing, err := g.CoalescingBegin()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, coalescing.CoalescingEnd(ctx)) }()
	return function(coalescing)
}

// CoalescingBegin gives a second Group for the same group, on which collectives are collected, as
// [Coalesce] says; any number of goroutines may call them. CoalescingEnd does them; Close drops
// them, and so does the garbage collector.
func (g *Group) CoalescingBegin() (*Group, error) {
	var device *Device
	if g != nil {
		device = g.device
	}
	options := device.coalescingOptions()
	handle, err := ask(func(handle *raw.Tutti_group, e *raw.Tutti_error) int32 {
		return raw.Tutti_coalescing_begin(g.handle(), options, handle, e)
	})
	if err != nil {
		return nil, err
	}
	coalescing := newGroup(handle)
	coalescing.collected, coalescing.device = &collected{}, device
	if g != nil {
		coalescing.tagName = g.tagName
	}
	return coalescing, nil
}

// CoalescingEnd runs the calls collected on a Group of CoalescingBegin, also with a context that is
// done: the other ranks count on them. It closes that Group.
func (g *Group) CoalescingEnd(ctx context.Context) error { return g.coalescingEnd().run(ctx) }

func (g *Group) coalescingEnd() *call {
	c := newCall(nil)
	c.owed = true
	if g != nil {
		c.device = g.device
		c.name(g.tagName)
	}
	g = g.base()
	handle := g.handle()
	if g.isCoalescing() {
		handle = raw.Tutti_group(g.number.Swap(0))
		calls := g.collected.end()
		c.also = func() { releaseAll(calls) }
	}
	c.start = func(options *raw.Tutti_call_options, work *raw.Tutti_work) int32 {
		status := raw.Tutti_coalescing_end(handle, options, work, &c.frame.err)
		if g.isCoalescing() {
			raw.Tutti_group_release(handle) // if an argument was refused
		}
		return status
	}
	return c
}

func (g *Group) isCoalescing() bool { return g != nil && g.collected != nil }

// collect has C take the call for the end of the coalescing.
func (c *call) collect(ctx context.Context) error {
	to := c.group.collected
	to.mutex.Lock()
	defer to.mutex.Unlock()
	err := errGroupClosed
	if !to.ended {
		if c.start(nil, nil) == raw.TUTTI_OK {
			to.calls = append(to.calls, c)
			return nil
		}
		err = c.failure(ctx, &c.frame.err)
	}
	c.release()
	return err
}
