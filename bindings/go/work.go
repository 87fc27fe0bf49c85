package tutti

import (
	"context"
	"reflect"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"tutti/internal/raw"
)

// Work is an operation that runs while the caller goes on. Its buffers belong to the operation
// until it is done, also if the Work is dropped or closed before: the garbage collector does not
// touch them. All methods may be called by many goroutines at once; those that wait hold up no
// thread.
type Work struct {
	operation *operation
	closed    atomic.Bool
}

func newWork(o *operation) *Work {
	w := &Work{operation: o}
	runtime.SetFinalizer(w, (*Work).Close)
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
// the wait ends with [ErrUnfinished] and the operation goes on; the wait may be repeated.
func (w *Work) Wait(ctx context.Context) error {
	o, err := w.open()
	if err != nil {
		return err
	}
	defer runtime.KeepAlive(w)
	return o.wait(ctx)
}

// Done is closed when the operation is done, successfully or not; for select. After it, Wait
// returns at once.
func (w *Work) Done() <-chan struct{} {
	if w == nil {
		return nil
	}
	return w.operation.done
}

// IsCompleted tells whether the operation is done, successfully or not.
func (w *Work) IsCompleted() bool {
	return w != nil && w.operation.isDone()
}

// IsSuccess tells whether the operation is done and successful.
func (w *Work) IsSuccess() bool {
	return w.IsCompleted() && w.operation.err == nil
}

// Err is the failure of the operation; nil while it is running and if it succeeded.
func (w *Work) Err() error {
	if !w.IsCompleted() {
		return nil
	}
	return w.operation.err
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
	go func() {
		<-o.done
		err := o.outcome()
		runtime.KeepAlive(w)
		function(err)
	}()
	return nil
}

// SourceRank is the group rank that a finished receive received from; -1 while nothing has come and
// for other operations.
func (w *Work) SourceRank() (int, error) {
	var rank int32
	err := w.ask(func(work raw.Tutti_work, e *raw.Tutti_error) int32 {
		return raw.Tutti_work_source_rank(work, &rank, e)
	})
	return int(rank), err
}

// OpType is what kind of operation it is, for instance "all_reduce".
func (w *Work) OpType() string {
	if w == nil {
		return ""
	}
	return w.operation.name
}

// SequenceNumber is which collective of its group it is, from 1 on, the same on all ranks; 0 for
// messages.
func (w *Work) SequenceNumber() (uint64, error) {
	var number uint64
	err := w.ask(func(work raw.Tutti_work, e *raw.Tutti_error) int32 {
		return raw.Tutti_work_get_sequence_number(work, &number, e)
	})
	return number, err
}

// Duration is how long the operation took; -1 while it is running.
func (w *Work) Duration() (time.Duration, error) {
	var took float64
	err := w.ask(func(work raw.Tutti_work, e *raw.Tutti_error) int32 {
		return raw.Tutti_work_get_duration(work, &took, e)
	})
	if took < 0 {
		return -1, err
	}
	return time.Duration(took * float64(time.Millisecond)), err
}

// ask makes a call with the handle.
func (w *Work) ask(question func(raw.Tutti_work, *raw.Tutti_error) int32) error {
	o, err := w.open()
	if err != nil {
		return err
	}
	defer runtime.KeepAlive(w)
	return attempt(func(e *raw.Tutti_error) int32 { return question(o.handle, e) })
}

// Close gives the work back. An operation that is not done goes on, and its buffers are its own
// until it is. What was to be delivered after Close is discarded. A Work that is not closed is
// when the garbage collector finds it.
func (w *Work) Close() error {
	if w == nil || w.closed.Swap(true) {
		return nil
	}
	runtime.SetFinalizer(w, nil)
	w.operation.abandon()
	return nil
}

// WaitAll waits until all works are done, also after a failure; the first failure in their order is
// the result.
func WaitAll(ctx context.Context, works ...*Work) error {
	var first error
	for _, work := range works {
		err := work.Wait(ctx)
		if first == nil {
			first = err
		}
		if ctx.Err() != nil && err != nil {
			return first
		}
	}
	return first
}

// WaitAny waits until one of several works is done, and returns its place; the lowest one if
// several are. How it ended, its Wait tells.
func WaitAny(ctx context.Context, works ...*Work) (int, error) {
	if len(works) == 0 {
		return -1, invalid("there is no work to wait for")
	}
	for i, work := range works {
		if _, err := work.open(); err != nil {
			return -1, err
		}
		if work.IsCompleted() {
			return i, nil
		}
	}
	over, stop := context.WithCancel(ctx)
	defer stop()
	chosen := firstDone(over, works)
	if chosen < 0 {
		return -1, &unfinished{operation: "all of the works", cause: ctx.Err()}
	}
	return chosen, nil
}

// mostCases is how many works one select waits for: reflect knows 65536 cases.
const mostCases = 1 << 15

// firstDone is the place of the first work that is done; -1 if the context is done before. More
// works than one select takes are waited for by several goroutines, until the context is done.
func firstDone(ctx context.Context, works []*Work) int {
	if len(works) <= mostCases {
		cases := make([]reflect.SelectCase, 0, len(works)+1)
		for _, work := range works {
			cases = append(cases, received(work.Done()))
		}
		chosen, _, _ := reflect.Select(append(cases, received(ctx.Done())))
		if chosen == len(works) {
			return -1
		}
		return chosen
	}
	works = slices.Clone(works) // some of them may still look when the caller has its slice back
	places := make(chan int, len(works)/mostCases+1)
	for begin := 0; begin < len(works); begin += mostCases {
		go func(begin int) {
			chosen := firstDone(ctx, works[begin:min(begin+mostCases, len(works))])
			if chosen >= 0 {
				chosen += begin
			}
			places <- chosen
		}(begin)
	}
	return <-places
}

func received[T any](from <-chan T) reflect.SelectCase {
	return reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(from)}
}
