package tutti

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"tutti/internal/raw"
)

// Work is an operation that runs while the caller goes on. Its buffers belong to the operation
// until it is done, also if the Work is dropped or closed before: the garbage collector does not
// touch them. All methods may be called by many goroutines at once. A wait whose context cannot end
// holds up its thread, which does the operation's part meanwhile; above 500 of these at once, as
// with a context that can end, waits hold up no thread. They cost tens of microseconds more, unless
// the operation ends within about 20.
type Work struct {
	operation *operation
	closed    atomic.Bool
}

func newWork(o *operation) *Work {
	w := &Work{operation: o}
	runtime.SetFinalizer(w, (*Work).drop)
	o.obey()
	return w
}

var errWorkClosed = &Error{Status: ErrInvalidHandle, Rank: -1, Message: "the work is nil or closed"}

func (w *Work) open() (*operation, error) {
	if w == nil || w.closed.Load() {
		return nil, errWorkClosed
	}
	return w.operation, nil
}

// Wait waits until the operation is done, and returns how it ended. After nil the results are in
// the caller's buffers and variables, which are the caller's again. If the context is done before,
// the wait ends with [ErrPending] and the operation goes on; the wait may be repeated.
func (w *Work) Wait(ctx context.Context) error {
	o, err := w.open()
	if err != nil {
		return err
	}
	defer runtime.KeepAlive(w)
	return o.wait(ctx, endOfPatience(ctx))
}

// Synchronize makes a stream of a device, for instance a cudaStream_t or CUstream, wait for the
// operation while the caller goes on: what is enqueued on it later finds the results. With 0 the
// caller waits, as in Wait.
func (w *Work) Synchronize(stream uintptr) error {
	if stream == 0 {
		return w.Wait(context.Background())
	}
	o, err := w.open()
	if err != nil {
		return err
	}
	defer runtime.KeepAlive(w)
	return attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_work_synchronize(o.call.frame.work, stream, e)
	})
}

// Done is closed when the operation is done, successfully or not; for select. After it, Wait
// returns at once. It costs a callback of the library, which a Wait without it does not.
func (w *Work) Done() <-chan struct{} {
	if w == nil {
		return nil
	}
	defer runtime.KeepAlive(w)
	return w.operation.done()
}

// IsCompleted tells whether the operation is done, successfully or not. Each call moves what can be
// moved of the group's messages, so a program may ask again and again instead of waiting.
func (w *Work) IsCompleted() bool {
	defer runtime.KeepAlive(w)
	return w != nil && w.operation.ask()
}

// IsSuccess tells whether the operation is done and successful.
func (w *Work) IsSuccess() bool {
	return w.IsCompleted() && w.operation.failure() == nil
}

// Err is the failure of the operation; nil while it is running and if it succeeded.
func (w *Work) Err() error {
	if w == nil {
		return nil
	}
	defer runtime.KeepAlive(w)
	return w.operation.failure()
}

// Cancel cancels a receive that no message has come for, and tells whether it did: false if its
// message has begun to come, or it is done. It then ends with [ErrAborted], its buffer is the
// caller's again, and a message that comes later goes to the next receive. The group goes on.
// [ErrUnsupported] if it is no receive: the other ranks count on those.
func (w *Work) Cancel() (bool, error) {
	o, err := w.open()
	if err != nil {
		return false, err
	}
	defer runtime.KeepAlive(w)
	return o.cancel(false)
}

// Then has a function called with how the operation ended, in a goroutine of its own, once it is
// done.
func (w *Work) Then(function func(error)) error {
	o, err := w.open()
	if err != nil {
		return err
	}
	if function == nil {
		return invalid("function is nil")
	}
	done := o.done()
	go func() {
		<-done
		err := o.outcome()
		runtime.KeepAlive(w)
		function(err)
	}()
	return nil
}

// SourceRank is the group rank that a finished receive received from; -1 while nothing has come and
// for other operations.
func (w *Work) SourceRank() (int, error) {
	rank, err := askWork(w, raw.Tutti_work_source_rank)
	return int(rank), err
}

// OpType is what kind of operation it is, for instance "all_reduce"; "" if the work is closed.
func (w *Work) OpType() string {
	o, err := w.open()
	if err != nil {
		return ""
	}
	defer runtime.KeepAlive(w)
	return goString(raw.Tutti_work_get_op_type(o.call.frame.work))
}

// SequenceNumber is which collective of its group it is, from 1 on, the same on all ranks; 0 for
// messages.
func (w *Work) SequenceNumber() (int64, error) {
	return askWork(w, raw.Tutti_work_get_sequence_number)
}

// Duration is how long the operation took; -1 while it is running.
func (w *Work) Duration() (time.Duration, error) {
	took, err := askWork(w, raw.Tutti_work_get_duration)
	if took < 0 {
		return -1, err
	}
	return time.Duration(took * float64(time.Millisecond)), err
}

// askWork makes a call that gives something of a work.
func askWork[T any](w *Work, question func(raw.Tutti_work, *T, *raw.Tutti_error) int32) (T, error) {
	o, err := w.open()
	if err != nil {
		return *new(T), err
	}
	defer runtime.KeepAlive(w)
	return ask(func(answer *T, e *raw.Tutti_error) int32 {
		return question(o.call.frame.work, answer, e)
	})
}

// Close gives the work back. An operation that is not done goes on, and its buffers are its own
// until it is; whoever waits for it waits for that, and learns no more than that the work is
// closed. What was to be delivered after Close is discarded. A Work that is not closed is when the
// garbage collector finds it.
func (w *Work) Close() error {
	if w == nil || w.closed.Swap(true) {
		return nil
	}
	runtime.SetFinalizer(w, nil)
	w.operation.close()
	return nil
}

// drop is Close for the garbage collector: the context of a receive counts until that is done.
func (w *Work) drop() { w.operation.release() }
