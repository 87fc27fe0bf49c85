package tutti

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"tutti/internal/raw"
)

// A wait of a store is C's, and holds up its thread; its context ends it by an interruption. That
// ends all waits of the same handle, so those whose contexts are not done begin again. Waits that
// are too many for threads of their own share some in turns.
var (
	longWaits  threshold
	turns      = make(chan struct{}, mostBlocked)
	turnLength = 100 * time.Millisecond
)

// wait makes a call that may wait, up to the store's timeout or the end of the context; any number
// of times, if need be.
func (s *Store) wait(ctx context.Context, call waitingCall) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	defer s.interruptWith(ctx)()
	limit := s.limit(ctx)
	for {
		err := s.inTurn(ctx, limit, call)
		switch {
		case errors.Is(err, ErrTimeout) && !limit.isOver(): // its turn is over
		case errors.Is(err, ErrAborted) && ctx.Err() == nil: // another one's context was cancelled
		default:
			return contextError(ctx, err)
		}
	}
}

type waitingCall = func(options *raw.Tutti_store_call_options, e *raw.Tutti_error) int32

// waitLimit is when a wait is over; zero: never.
type waitLimit struct{ time.Time }

func (s *Store) limit(ctx context.Context) waitLimit {
	end, ends := ctx.Deadline()
	timeout, _ := s.Timeout() // of one that is closed, the call itself tells
	if own := time.Now().Add(timeout); timeout > 0 && (!ends || own.Before(end)) {
		end = own
	}
	return waitLimit{end}
}

func (l waitLimit) isOver() bool { return !l.IsZero() && !time.Now().Before(l.Time) }

// once makes a call that may wait, for no longer than most, which is 0 if there is no such bound.
func (s *Store) once(limit waitLimit, most time.Duration, call waitingCall) error {
	options := &raw.Tutti_store_call_options{Timeout_ms: raw.TUTTI_NO_TIMEOUT}
	options.Struct_size = uint32(unsafe.Sizeof(*options))
	if !limit.IsZero() {
		options.Timeout_ms = millisecondsUntil(limit.Time)
	}
	if most > 0 && (limit.IsZero() || time.Until(limit.Time) > most) {
		options.Timeout_ms = milliseconds(most)
	}
	return attempt(func(e *raw.Tutti_error) int32 { return call(options, e) })
}

// inTurn makes a wait, a short one if it has to share its thread.
func (s *Store) inTurn(ctx context.Context, limit waitLimit, call waitingCall) error {
	if longWaits.enter() {
		defer longWaits.leave()
		return s.once(limit, 0, call)
	}
	select {
	case turns <- struct{}{}:
		defer func() { <-turns }()
		return s.once(limit, turnLength, call)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// interruptWith ends the waits of the store when the context is cancelled, until over is called. An
// interruption misses a wait that is about to begin, so there may be several.
func (s *Store) interruptWith(ctx context.Context) (over func()) {
	if ctx.Done() == nil {
		return func() {}
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		for pause := time.Millisecond; ctx.Err() == context.Canceled; pause *= 2 {
			raw.Tutti_store_interrupt(s.handle(), nil)
			select {
			case <-ended:
				return
			case <-time.After(pause):
			}
		}
	})
	return func() {
		stop()
		close(ended)
	}
}

// contextError says that the context was what ended a wait.
func contextError(ctx context.Context, err error) error {
	failure, is := err.(*Error)
	if is && failure.Status == ErrAborted {
		failure.cause = ctx.Err()
		failure.Message += ": " + ctx.Err().Error()
	}
	return deadlineError(ctx, err)
}

// Get reads the value of a key; waits until there is one.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	text, err := cText("key", key)
	if err != nil {
		return nil, err
	}
	return s.waitForBytes(ctx, func(options *raw.Tutti_store_call_options, bytes *raw.Tutti_bytes,
		e *raw.Tutti_error) int32 {
		return raw.Tutti_store_get(s.handle(), text, options, bytes, e)
	})
}

func (s *Store) waitForBytes(ctx context.Context, call func(*raw.Tutti_store_call_options,
	*raw.Tutti_bytes, *raw.Tutti_error) int32) ([]byte, error) {
	bytes := new(raw.Tutti_bytes)
	err := s.wait(ctx, func(options *raw.Tutti_store_call_options, e *raw.Tutti_error) int32 {
		return call(options, bytes, e)
	})
	if err != nil {
		return nil, err
	}
	return takeBytes(*bytes), nil
}

// MultiGet reads several values at once; waits until all keys are there.
func (s *Store) MultiGet(ctx context.Context, keys []string) ([][]byte, error) {
	list, err := cTexts("keys", keys)
	if err != nil {
		return nil, err
	}
	defer list.release()
	handles := make([]raw.Tutti_bytes, len(keys))
	err = s.wait(ctx, func(options *raw.Tutti_store_call_options, e *raw.Tutti_error) int32 {
		return raw.Tutti_store_multi_get(s.handle(), list.first(), list.count(), options,
			unsafe.SliceData(handles), e)
	})
	if err != nil {
		return nil, err
	}
	values := make([][]byte, len(keys))
	for i, handle := range handles {
		values[i] = takeBytes(handle)
	}
	return values, nil
}

// Wait waits until all of several keys are there.
func (s *Store) Wait(ctx context.Context, keys ...string) error {
	list, err := cTexts("keys", keys)
	if err != nil {
		return err
	}
	defer list.release()
	return s.wait(ctx, func(options *raw.Tutti_store_call_options, e *raw.Tutti_error) int32 {
		return raw.Tutti_store_wait(s.handle(), list.first(), list.count(), options, e)
	})
}

// QueuePop takes the first value out of a queue; waits until there is one. Each value is given to
// one caller alone.
func (s *Store) QueuePop(ctx context.Context, key string) ([]byte, error) {
	return s.queuePop(ctx, key, true)
}

// TryQueuePop takes the first value out of a queue; [ErrQueueEmpty] if there is none.
func (s *Store) TryQueuePop(key string) ([]byte, error) {
	return s.queuePop(context.Background(), key, false)
}

func (s *Store) queuePop(ctx context.Context, key string, block bool) ([]byte, error) {
	text, err := cText("key", key)
	if err != nil {
		return nil, err
	}
	return s.waitForBytes(ctx, func(options *raw.Tutti_store_call_options, bytes *raw.Tutti_bytes,
		e *raw.Tutti_error) int32 {
		return raw.Tutti_store_queue_pop(s.handle(), text, toInt(block), options, bytes, e)
	})
}

// Barrier waits until worldSize callers have come to the barrier of this key, a fresh one for each
// barrier. One that timed out or was cancelled may have been counted nevertheless.
func (s *Store) Barrier(ctx context.Context, key string, worldSize int) error {
	text, err := cText("key", key)
	if err != nil {
		return err
	}
	// A handle of its own, and a thread: it would count twice if it began again.
	own, err := s.Clone(ctx, nil)
	if err != nil {
		var failure *Error
		if errors.As(err, &failure) {
			failure.Message = fmt.Sprintf("barrier %q: %s", key, failure.Message)
		}
		return err
	}
	defer own.Close()
	defer own.interruptWith(ctx)()
	err = own.once(own.limit(ctx), 0,
		func(options *raw.Tutti_store_call_options, e *raw.Tutti_error) int32 {
			return raw.Tutti_store_barrier(own.handle(), text, toInt32(worldSize), options, e)
		})
	return contextError(ctx, err)
}

// Flush waits until the server has taken everything that was sent without an answer: by Set,
// Append, MultiSet and QueuePush, of any goroutine. It fails if something sent since the last Flush
// was refused or may be lost. Only stores over TCP have something to flush.
func (s *Store) Flush(ctx context.Context) error {
	return s.wait(ctx, func(options *raw.Tutti_store_call_options, e *raw.Tutti_error) int32 {
		return raw.Tutti_store_flush(s.handle(), options, e)
	})
}
