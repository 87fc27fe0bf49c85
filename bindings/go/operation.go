package tutti

import (
	"context"
	"runtime/cgo"
	"sync"
	"time"

	"tutti/internal/raw"
)

// deadlineGrace is how long a wait goes on after its context's deadline: the operation has the same
// one, and so is about to end by itself.
const deadlineGrace = 2 * time.Second

// An operation is a call that runs beside its caller. C tells when it is done, whoever still has an
// interest in it: only then its buffers are let go of.
type operation struct {
	call   *call
	handle raw.Tutti_work
	name   string
	done   chan struct{}
	err    error // how it ended; to be read once done is closed
	ctx    context.Context

	mutex     sync.Mutex
	delivered bool
	abandoned bool
	result    error // after delivery
}

// follow has C tell the operation when it is done.
func follow(ctx context.Context, c *call, handle raw.Tutti_work) *operation {
	o := &operation{call: c, handle: handle, done: make(chan struct{}), ctx: ctx}
	o.name = goString(raw.Tutti_work_get_op_type(handle))
	var self cgo.Handle
	self = cgo.NewHandle(func(result *raw.Tutti_error) {
		self.Delete()
		o.finish(result)
	})
	if raw.Tutti_work_then(handle, raw.WorkDone, uintptr(self), nil) != raw.TUTTI_OK {
		self.Delete()
		go o.finishByWaiting() // no thread was to be had for callbacks
	}
	return o
}

func (o *operation) finishByWaiting() {
	var result raw.Tutti_error
	result.Struct_size = o.call.frame.err.Struct_size
	result.Status = raw.Tutti_work_wait(o.handle, 0, &result)
	o.finish(&result)
}

// finish notes how the operation ended. Runs on the library's thread for callbacks.
func (o *operation) finish(result *raw.Tutti_error) {
	if result.Status != raw.TUTTI_OK {
		o.err = o.call.failure(o.ctx, result)
	}
	o.call.letGo()
	o.mutex.Lock()
	abandoned := o.abandoned
	close(o.done)
	o.mutex.Unlock()
	if abandoned {
		o.dispose()
	}
}

// outcome is how the operation ended; the first one to ask turns what arrived into values of Go.
func (o *operation) outcome() error {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if !o.delivered {
		o.delivered = true
		o.result = o.err
		if o.err == nil && o.call.deliver != nil {
			o.result = o.call.deliver()
		}
	}
	return o.result
}

// abandon says that nobody will ask any more.
func (o *operation) abandon() {
	o.mutex.Lock()
	already := o.abandoned
	o.abandoned = true
	running := !o.isDone()
	o.mutex.Unlock()
	if !already && !running {
		o.dispose()
	}
}

// dispose gives back what C has for the operation; it is done, and nobody has an interest in it.
func (o *operation) dispose() {
	raw.Tutti_work_release(o.handle)
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.delivered {
		return
	}
	o.delivered, o.result = true, o.err
	if o.err == nil && o.call.discard != nil {
		o.call.discard()
		o.result = errWorkClosed
	}
}

func (o *operation) isDone() bool {
	select {
	case <-o.done:
		return true
	default:
		return false
	}
}

// wait waits until the operation or the context is done.
func (o *operation) wait(ctx context.Context) error {
	if !o.isDone() {
		select {
		case <-o.done:
		case <-ctx.Done():
			if err := o.leave(ctx); err != nil {
				return err
			}
		}
	}
	return o.outcome()
}

// leave is for a context that is done first; nil if the operation ends after all.
func (o *operation) leave(ctx context.Context) error {
	if o.endsBefore(ctx) {
		grace := time.NewTimer(deadlineGrace)
		defer grace.Stop()
		select {
		case <-o.done:
			return nil
		case <-grace.C:
		}
	}
	return &unfinished{operation: o.name, cause: ctx.Err()}
}

// endsBefore tells whether the context has passed a deadline that the operation has, too.
func (o *operation) endsBefore(ctx context.Context) bool {
	own, has := o.ctx.Deadline()
	limit, limited := ctx.Deadline()
	return ctx.Err() == context.DeadlineExceeded && has && limited && !own.After(limit)
}
