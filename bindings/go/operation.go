package tutti

import (
	"context"
	"runtime"
	"sync"
	"time"

	"tutti/internal/raw"
)

// endingGrace is how long a wait goes on after its context's end, where that ends the operation as
// well.
const endingGrace = 2 * time.Second

// An operation is a call that runs beside its caller. C tells when it is done, whoever still has an
// interest in it: only then its buffers are let go of.
type operation struct {
	call *call
	ctx  context.Context // it was started with
	done chan struct{}

	mutex     sync.Mutex
	watchers  map[chan<- struct{}]struct{}
	disobey   func() bool // ends what obey began; nil if it did not
	cancelled bool        // because of the context
	released  bool
	settled   bool
	err       error // how it ended, if settled
	delivered bool
	result    error // after delivery
}

// Finish is called by C when the operation is done, on the library's thread for callbacks.
func (o *operation) Finish() {
	o.call.letGo()
	o.mutex.Lock()
	close(o.done)
	for watcher := range o.watchers {
		tell(watcher)
	}
	disobey := o.disobey
	o.mutex.Unlock()
	if disobey != nil {
		disobey()
	}
}

// watch has a channel told when the operation is done.
func (o *operation) watch(watcher chan<- struct{}) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.isDone() {
		tell(watcher)
		return
	}
	if o.watchers == nil {
		o.watchers = map[chan<- struct{}]struct{}{}
	}
	o.watchers[watcher] = struct{}{}
}

func (o *operation) unwatch(watcher chan<- struct{}) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	delete(o.watchers, watcher)
}

// tell tells a channel that has room for one; it needs to be told once.
func tell(watcher chan<- struct{}) {
	select {
	case watcher <- struct{}{}:
	default:
	}
}

// obey has a receive cancelled with its context; the work is kept from the garbage collector until
// then.
func (o *operation) obey(work *Work) {
	if !o.call.receives || o.ctx.Done() == nil {
		return
	}
	disobey := context.AfterFunc(o.ctx, func() {
		if o.ctx.Err() == context.Canceled { // a deadline is the operation's own timeout
			_, _ = o.cancel(true)
		}
		runtime.KeepAlive(work)
	})
	o.mutex.Lock()
	o.disobey = disobey
	o.mutex.Unlock()
	if o.isDone() {
		disobey()
	}
}

// cancel cancels a receive whose message has not begun to come, and tells whether it did.
func (o *operation) cancel(byContext bool) (bool, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	cancelled, err := ask(func(cancelled *int32, e *raw.Tutti_error) int32 {
		return raw.Tutti_work_cancel(o.call.frame.work, cancelled, e)
	})
	if cancelled == 1 {
		o.cancelled = byContext
	}
	return cancelled == 1, err
}

// settle asks C how the operation ended, once it has. The mutex is held.
func (o *operation) settle() error {
	if o.settled || !o.isDone() {
		return o.err
	}
	o.settled = true
	said := &o.call.frame.err
	if o.released {
		o.err = errWorkClosed
	} else if raw.Tutti_work_error(o.call.frame.work, said) != raw.TUTTI_OK {
		failure := o.call.failure(o.ctx, said)
		if o.cancelled {
			failure.cause = o.ctx.Err()
		}
		o.err = failure
	}
	return o.err
}

// failure is how the operation has ended; nil while it runs.
func (o *operation) failure() error {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.settle()
}

// outcome is how the operation ended; the first one to ask turns what arrived into values of Go.
func (o *operation) outcome() error {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.delivered {
		return o.result
	}
	o.delivered = true
	o.result = o.settle()
	if o.result == nil && o.call.deliver != nil {
		if o.released {
			o.result = errWorkClosed
		} else {
			o.result = o.call.deliver()
		}
	}
	return o.result
}

// release gives back what C has for the operation, results that nobody took among it.
func (o *operation) release() {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	_ = o.settle()
	o.released = true
	raw.Tutti_work_release(o.call.frame.work)
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
	select {
	case <-o.done:
		return o.outcome()
	default:
	}
	select {
	case <-o.done:
	case <-ctx.Done():
		if !o.ends() {
			return o.pending(ctx)
		}
	}
	return o.outcome()
}

// ends waits for an operation that its own context ends; false if it does not.
func (o *operation) ends() bool {
	deadline, has := o.ctx.Deadline()
	if !(has && !time.Now().Before(deadline) || o.call.receives && o.ctx.Err() != nil) {
		return false
	}
	grace := time.NewTimer(endingGrace)
	defer grace.Stop()
	select {
	case <-o.done:
		return true
	case <-grace.C:
		return false
	}
}

// pending is the error of a wait that ends before the operation.
func (o *operation) pending(ctx context.Context) error {
	name := goString(raw.Tutti_work_get_op_type(o.call.frame.work))
	return &Error{Status: ErrPending, Rank: -1, cause: ctx.Err(),
		Message: name + ": " + ctx.Err().Error() + ", and the operation is still running"}
}
