package tutti

import (
	"context"
	"runtime/cgo"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"tutti/internal/raw"
)

// endingGrace is how long a wait goes on after its context's end, where that ends the operation as
// well.
const endingGrace = 2 * time.Second

// patience is how long a wait that its context may end asks C again and again, before it has C call
// back: what ends so soon costs no thread's wake.
const patience = 20 * time.Microsecond

// An operation is a call that runs beside its caller. Whoever learns from C that it is done
// finishes it, which releases what it borrows; C calls back only if that is asked for. C's handle
// stays until the operation is done and its work is closed.
type operation struct {
	call *call
	ctx  context.Context // it was started with
	over atomic.Bool     // it is done, and borrows nothing any more

	mutex      sync.Mutex
	registered bool          // C calls back at its end
	ended      chan struct{} // closed at its end; nil: nobody has asked for it
	watchers   map[chan<- struct{}]struct{}
	disobey    func() bool // ends what obey began; nil if it did not
	cancelled  bool        // because of the context
	released   bool
	settled    bool
	err        error // how it ended, if settled
	delivered  bool
	result     error // after delivery
}

// Finish releases what the operation borrows, once, and notifies whoever waits for its end. C has
// said that it is done: to this thread, or on the library's thread for callbacks, which calls this.
func (o *operation) Finish() {
	if o.over.Load() {
		return
	}
	o.mutex.Lock()
	if o.over.Load() {
		o.mutex.Unlock()
		return
	}
	o.call.letGo()
	o.over.Store(true)
	if o.released {
		raw.Tutti_work_release(o.call.frame.work)
	}
	if o.ended != nil {
		close(o.ended)
	}
	for watcher := range o.watchers {
		notify(watcher)
	}
	disobey := o.disobey
	o.mutex.Unlock()
	if disobey != nil {
		disobey()
	}
}

// isDone tells whether the operation is done. C moves nothing for that.
func (o *operation) isDone() bool {
	if o.over.Load() {
		return true
	}
	took := float64(-1)
	raw.Tutti_work_get_duration(o.call.frame.work, &took, nil)
	return o.finishIf(took != -1)
}

// ask is isDone for a thread that asks again until it is: C moves what can be moved.
func (o *operation) ask() bool {
	if o.over.Load() {
		return true
	}
	var completed int32
	raw.Tutti_work_is_completed(o.call.frame.work, &completed, nil)
	return o.finishIf(completed == 1)
}

// finishIf finishes the operation if C has said that it is done. One that is over, C may not know.
func (o *operation) finishIf(done bool) bool {
	if done {
		o.Finish()
	}
	return o.over.Load()
}

// askUntil asks until the operation is done, or that time has come.
func (o *operation) askUntil(until time.Time) {
	for !o.ask() && time.Now().Before(until) {
	}
}

// endOfPatience is until when a wait with this context asks.
func endOfPatience(ctx context.Context) time.Time {
	if ctx.Done() == nil {
		return time.Time{}
	}
	return time.Now().Add(patience)
}

// done is a channel that is closed when the operation is done.
func (o *operation) done() <-chan struct{} {
	o.isDone() // then C need not call back
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.ended == nil {
		o.ended = make(chan struct{})
		if o.over.Load() {
			close(o.ended)
		}
	}
	o.register(raw.Tutti_work_then)
	return o.ended
}

// register has C call back when the operation is done, unless it does already; then is
// raw.Tutti_work_then. The mutex is held.
func (o *operation) register(then func(raw.Tutti_work, unsafe.Pointer, uintptr, unsafe.Pointer,
	*raw.Tutti_error) int32) {
	if o.registered || o.over.Load() {
		return
	}
	o.registered = true
	self := cgo.NewHandle(o)
	if then(o.call.frame.work, raw.WorkDone, uintptr(self), nil, nil) == raw.TUTTI_OK {
		return
	}
	self.Delete()
	go func() { // no thread was to be had for callbacks
		for !o.isDone() {
			raw.Tutti_work_wait(o.call.frame.work, raw.TUTTI_DEFAULT_TIMEOUT, nil)
		}
	}()
}

// watch has a channel notified when the operation is done.
func (o *operation) watch(watcher chan<- struct{}) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.over.Load() {
		notify(watcher)
		return
	}
	if o.watchers == nil {
		o.watchers = map[chan<- struct{}]struct{}{}
	}
	o.watchers[watcher] = struct{}{}
	o.register(raw.Tutti_work_then)
}

func (o *operation) unwatch(watcher chan<- struct{}) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	delete(o.watchers, watcher)
}

// notify notifies a channel that has room for one; once is enough.
func notify(watcher chan<- struct{}) {
	select {
	case watcher <- struct{}{}:
	default:
	}
}

// obey has a receive cancelled with its context, also if its work is dropped meanwhile.
func (o *operation) obey() {
	if !o.call.receives || o.ctx.Done() == nil {
		return
	}
	disobey := context.AfterFunc(o.ctx, func() {
		if o.ctx.Err() == context.Canceled { // a deadline is the operation's own timeout
			_, _ = o.cancel(true)
		}
	})
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.disobey = disobey
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
	if o.settled || !o.over.Load() {
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
	o.isDone()
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

// close is release for a work whose context does not count any more.
func (o *operation) close() {
	o.mutex.Lock()
	disobey := o.disobey
	o.mutex.Unlock()
	if disobey != nil {
		disobey()
	}
	o.release()
}

// release gives back what C has for the operation, results that nobody took among it. While it
// runs it keeps all of that, and what it borrows, until C calls back.
func (o *operation) release() {
	o.isDone()
	o.mutex.Lock()
	defer o.mutex.Unlock()
	_ = o.settle()
	o.released = true
	if o.over.Load() {
		raw.Tutti_work_release(o.call.frame.work)
	} else {
		o.register(raw.Tutti_work_then)
	}
}

// wait waits until the operation or the context is done. Where nothing can end the wait but the
// operation, C does it on this thread; else this asks C until then, and waits for its call.
func (o *operation) wait(ctx context.Context, until time.Time) error {
	if !o.over.Load() && blocking.enter() {
		if ctx.Done() == nil {
			defer blocking.leave()
			return o.waitInC()
		}
		o.askUntil(until)
		blocking.leave()
	}
	done := o.done()
	if o.over.Load() {
		return o.outcome()
	}
	select {
	case <-done:
	case <-ctx.Done():
		if !o.ends() {
			return o.pending(ctx)
		}
	}
	return o.outcome()
}

// waitInC waits on this thread, which moves the group's messages and runs the operation if need be.
func (o *operation) waitInC() error {
	err := attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_work_wait(o.call.frame.work, raw.TUTTI_DEFAULT_TIMEOUT, e)
	})
	if err == nil {
		o.Finish()
	} else if !o.isDone() {
		return err // of the wait, which was refused
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
	case <-o.done():
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
