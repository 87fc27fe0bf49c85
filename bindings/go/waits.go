package tutti

import (
	"context"
	"runtime"
	"time"
	"unsafe"

	"tutti/internal/raw"
)

// WaitAll waits until all works are done, also after a failure; the first failure in their order is
// the result. Works that are nil are skipped.
func WaitAll(ctx context.Context, works ...*Work) error {
	defer runtime.KeepAlive(works)
	if ctx.Done() == nil {
		waitForAll(works)
	}
	until := endOfPatience(ctx)
	var first error
	for _, work := range works {
		if work == nil {
			continue
		}
		o, err := work.open()
		if err == nil {
			err = o.wait(ctx, until)
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil && err != nil {
			return first
		}
	}
	return first
}

// waitForAll has C wait for those that run, if it can in one call. What it does not finish has
// failed, or is for a wait of its own.
func waitForAll(works []*Work) {
	running := 0
	handles := make([]raw.Tutti_work, len(works))
	for i, work := range works {
		if o, err := work.open(); err == nil && !o.over.Load() {
			handles[i] = o.call.frame.work
			running++
		}
	}
	if running < 2 || !blocking.enter() {
		return
	}
	defer blocking.leave()
	if raw.Tutti_work_wait_all(unsafe.SliceData(handles), int64(len(handles)),
		raw.TUTTI_DEFAULT_TIMEOUT, nil) != raw.TUTTI_OK {
		return
	}
	for i, handle := range handles {
		if handle != 0 {
			works[i].operation.Finish()
		}
	}
}

// WaitAny waits until one of several works is done, and returns its place; the lowest one if
// several are. How it ended, its Wait tells. Works that are nil are skipped, so that a loop can
// clear those that it has dealt with.
func WaitAny(ctx context.Context, works ...*Work) (int, error) {
	defer runtime.KeepAlive(works)
	handles := make([]raw.Tutti_work, len(works))
	var last *operation
	for i, work := range works {
		if work == nil {
			continue
		}
		o, err := work.open()
		if err != nil {
			return -1, err
		}
		if o.isDone() {
			return i, nil
		}
		handles[i], last = o.call.frame.work, o
	}
	if last == nil {
		return -1, invalid("there is no work to wait for")
	}
	if blocking.enter() {
		if ctx.Done() == nil {
			defer blocking.leave()
			return waitForAny(works, handles)
		}
		done := askAny(works, endOfPatience(ctx))
		blocking.leave()
		if done >= 0 {
			return done, nil
		}
	}
	done := make(chan struct{}, 1)
	for _, work := range works {
		if work != nil {
			work.operation.watch(done)
			defer work.operation.unwatch(done)
		}
	}
	select {
	case <-done:
		return firstDone(works), nil
	case <-ctx.Done():
		return -1, last.pending(ctx)
	}
}

// waitForAny has C wait.
func waitForAny(works []*Work, handles []raw.Tutti_work) (int, error) {
	place, err := ask(func(place *int64, e *raw.Tutti_error) int32 {
		return raw.Tutti_work_wait_any(unsafe.SliceData(handles), int64(len(handles)),
			raw.TUTTI_DEFAULT_TIMEOUT, place, e)
	})
	if err == nil {
		works[place].operation.Finish()
		return int(place), nil
	}
	if done := firstDone(works); done >= 0 { // and closed, so that C did not know it
		return done, nil
	}
	return -1, err
}

// askAny asks until one of several works is done, or that time has come, which gives -1.
func askAny(works []*Work, until time.Time) int {
	for {
		for _, work := range works {
			if work != nil && work.operation.ask() {
				return firstDone(works)
			}
			if !time.Now().Before(until) {
				return -1
			}
		}
	}
}

// firstDone is the place of the first work that is done; -1 if none is.
func firstDone(works []*Work) int {
	for i, work := range works {
		if work != nil && work.operation.isDone() {
			return i
		}
	}
	return -1
}
