package tutti

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"time"

	"tutti/internal/raw"
)

// A wait of C cannot be cancelled, and holds up its thread. One whose context can be done is made
// of short ones, between which the context is looked at; so are those that are too many, which take
// turns at their threads.
const shortWait = 100 * time.Millisecond

var (
	longWaits  threshold
	shortWaits = make(chan struct{}, mostBlocked)
)

// Wait waits until all of several keys are there, up to the timeout of the store.
func (s *Store) Wait(ctx context.Context, keys ...string) error {
	if mayBlock(ctx) {
		defer longWaits.leave()
		return s.waitOnce(keys, 0)
	}
	return s.waitInTurns(ctx, keys)
}

// mayBlock tells whether a wait may be one of C's, and counts it.
func mayBlock(ctx context.Context) bool { return ctx.Done() == nil && longWaits.enter() }

// waitFor does nothing where the call behind it may wait by itself; leave is to be called after it.
func (s *Store) waitFor(ctx context.Context, keys []string) (leave func(), err error) {
	if mayBlock(ctx) {
		return longWaits.leave, nil
	}
	return func() {}, s.waitInTurns(ctx, keys)
}

func (s *Store) waitInTurns(ctx context.Context, keys []string) error {
	return s.untilDone(ctx, strings.Join(keys, ", "), func(limit time.Duration) error {
		return s.waitOnce(keys, limit)
	})
}

func (s *Store) waitOnce(keys []string, limit time.Duration) error {
	defer runtime.KeepAlive(s)
	list, err := cTexts("keys", keys)
	if err != nil {
		return err
	}
	defer list.release()
	return attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_store_wait(s.handle(), list.first(), list.count(), milliseconds(limit), e)
	})
}

// untilDone makes short waits until one succeeds, the context is done or the store's timeout has
// passed.
func (s *Store) untilDone(ctx context.Context, what string, wait func(time.Duration) error) error {
	timeout, err := s.Timeout()
	if err != nil {
		return err
	}
	end := time.Now().Add(timeout)
	for {
		if err := takeTurn(ctx); err != nil {
			return s.gaveUp(ctx, what)
		}
		limit := shortWait
		if deadline, has := ctx.Deadline(); has {
			limit = min(limit, max(time.Millisecond, time.Until(deadline)))
		}
		if timeout != NoTimeout {
			limit = min(limit, max(time.Millisecond, time.Until(end)))
		}
		err := wait(limit)
		<-shortWaits
		if !errors.Is(err, ErrTimeout) || timeout != NoTimeout && !time.Now().Before(end) {
			return err
		}
	}
}

// takeTurn waits until there is a thread for one more short wait, or the context is done.
func takeTurn(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case shortWaits <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// gaveUp is the error of a wait whose context is done.
func (s *Store) gaveUp(ctx context.Context, what string) error {
	status := ErrAborted
	if ctx.Err() == context.DeadlineExceeded {
		status = ErrTimeout
	}
	message := "the wait for " + what + " was given up: " + ctx.Err().Error()
	return &Error{Status: status, Rank: -1, Message: message, cause: ctx.Err()}
}

// QueuePop takes the first value out of a queue; waits until there is one. Each value is given to
// one caller alone.
func (s *Store) QueuePop(ctx context.Context, key string) ([]byte, error) {
	if mayBlock(ctx) {
		defer longWaits.leave()
		return s.queuePop(key, true)
	}
	var value []byte
	err := s.untilDone(ctx, key, func(limit time.Duration) error {
		if err := s.waitOnce([]string{key}, limit); err != nil {
			return err
		}
		popped, err := s.queuePop(key, false)
		if errors.Is(err, ErrQueueEmpty) {
			return ErrTimeout // another one was quicker: once more
		}
		value = popped
		return err
	})
	return value, err
}

// Barrier waits until worldSize callers have come to the barrier of this key, a fresh one for each
// barrier. The deadline of the context counts; to cancel it ends no wait that has begun.
func (s *Store) Barrier(ctx context.Context, key string, worldSize int) error {
	defer runtime.KeepAlive(s)
	if err := ctx.Err(); err != nil {
		return err
	}
	text, err := cText("key", key)
	if err != nil {
		return err
	}
	timeout, err := s.Timeout()
	if err != nil {
		return err
	}
	limit := milliseconds(timeout)
	if deadline, has := ctx.Deadline(); has {
		left := max(1, milliseconds(max(0, time.Until(deadline))))
		if limit < 0 || left < limit {
			limit = left
		}
	}
	return deadlineError(ctx, attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_store_barrier(s.handle(), text, toInt32(worldSize), limit, e)
	}))
}
