package tutti

import (
	"context"
	"time"
)

// C has one timeout for making a group or a store and for what is done with it afterwards. In Go
// the deadline of the context is for the making alone.
type making struct {
	now   int64         // what C is given; 0: its default
	later time.Duration // what is to be set afterwards; 0: nothing
}

// makingWithin tells what to give C: the timeout of the options, or what the context leaves if that
// is less. otherwise is what holds where the options have none.
func makingWithin(ctx context.Context, timeout time.Duration,
	otherwise func() (time.Duration, error)) (making, error) {
	m := making{now: milliseconds(timeout)}
	deadline, has := ctx.Deadline()
	if !has || ctx.Err() != nil {
		return m, ctx.Err()
	}
	if timeout == 0 {
		var err error
		if timeout, err = otherwise(); err != nil {
			return m, err
		}
	}
	if left := time.Until(deadline); timeout < 0 || left < timeout {
		m.now, m.later = millisecondsUntil(deadline), timeout
	}
	return m, nil
}

// settle gives what was made the timeout it should have, if making it had another one.
func (m making) settle(made interface{ SetTimeout(time.Duration) error }) error {
	if m.later == 0 || made == nonMember {
		return nil
	}
	return made.SetTimeout(m.later)
}

// always is for a timeout that is known.
func always(timeout time.Duration) func() (time.Duration, error) {
	return func() (time.Duration, error) { return timeout, nil }
}

// deadlineError says that the context's deadline was the timeout that has passed.
func deadlineError(ctx context.Context, err error) error {
	failure, is := err.(*Error)
	if deadline, has := ctx.Deadline(); is && has && failure.Status == ErrTimeout &&
		!time.Now().Before(deadline) {
		failure.cause = context.DeadlineExceeded
	}
	return err
}
