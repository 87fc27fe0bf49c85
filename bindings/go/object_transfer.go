package tutti

import (
	"errors"
	"runtime"
	"unsafe"

	"tutti/internal/raw"
)

// How values of Go get into a call, and out of one.

// give makes objects of values, which are given back with the call; nil for a list that is nil.
func (c *call) give(values []any) *raw.Tutti_object {
	if values == nil {
		return nil
	}
	objects := make([]raw.Tutti_object, len(values))
	for i, value := range values {
		object, err := encode(value)
		if err != nil {
			c.fail(err)
		}
		objects[i] = object
	}
	c.alsoLetGo(func() {
		for _, object := range objects {
			raw.Tutti_object_release(object)
		}
	})
	return unsafe.SliceData(objects)
}

func (c *call) giveOne(value any) raw.Tutti_object {
	if object, is := value.(*Object); is {
		c.alsoLetGo(func() { runtime.KeepAlive(object) })
		return object.handle()
	}
	return *c.give([]any{value})
}

// results are where C puts the handles of what has arrived: at once, or when they are taken from
// the work that has them.
type results[H any] struct{ handles []H }

// room is the place for them in a call; NULL where a work is to have them.
func (r results[H]) room(work *raw.Tutti_work) *H {
	if work != nil || r.handles == nil {
		return nil
	}
	return unsafe.SliceData(r.handles)
}

// count is how many there is room for in a call.
func (r results[H]) count(work *raw.Tutti_work) int64 {
	if work != nil {
		return 0
	}
	return int64(len(r.handles))
}

// receive makes room for results, which become values once the call has succeeded; none for a list
// that is nil.
func receive[H, V any](c *call, values []V,
	take func(raw.Tutti_work, *H, int64, *raw.Tutti_error) int32, decode func(H) (V, error),
) results[H] {
	if values == nil {
		return results[H]{}
	}
	r := results[H]{make([]H, len(values))}
	c.deliver = func() error {
		if c.frame.work != 0 {
			err := attempt(func(e *raw.Tutti_error) int32 {
				return take(c.frame.work, r.room(nil), r.count(nil), e)
			})
			if err != nil {
				return err
			}
		}
		var failed error
		for i, handle := range r.handles {
			value, err := decode(handle)
			if err == nil {
				values[i] = value
			} else if failed == nil {
				failed = err
			}
		}
		return failed
	}
	return r
}

// receiveOne is receive for one variable.
func receiveOne[H, V any](c *call, name string, value *V,
	take func(raw.Tutti_work, *H, int64, *raw.Tutti_error) int32, decode func(H) (V, error),
) results[H] {
	if value == nil {
		c.fail(invalid("%s is nil", name))
		return results[H]{}
	}
	return receive(c, unsafe.Slice(value, 1), take, decode)
}

func (c *call) receive(values []any) results[raw.Tutti_object] {
	return receive(c, values, raw.Tutti_work_take_objects, decode)
}

func (c *call) receiveBytes(values [][]byte) results[raw.Tutti_bytes] {
	return receive(c, values, raw.Tutti_work_take_bytes, decodeBytes)
}

func (c *call) receiveOneBytes(name string, value *[]byte) results[raw.Tutti_bytes] {
	return receiveOne(c, name, value, raw.Tutti_work_take_bytes, decodeBytes)
}

func decodeBytes(bytes raw.Tutti_bytes) ([]byte, error) { return takeBytes(bytes), nil }

// oneOfEach refuses a list that has not one place for each rank where results arrive, or any
// elsewhere: with a work, C would see that too late. A group that is none, C refuses.
func (c *call) oneOfEach(name string, length int, arrives bool) {
	size := c.group.Size()
	switch {
	case arrives && length != size && size >= 0:
		c.fail(invalid("%s has %d elements for %d ranks", name, length, size))
	case !arrives && length != 0:
		c.fail(invalid("%s has %d elements where none arrive", name, length))
	}
}

// giveBytes pins bytes.
func (c *call) giveBytes(bytes []byte) unsafe.Pointer {
	c.pin(unsafe.Pointer(unsafe.SliceData(bytes)), len(bytes))
	return unsafe.Pointer(bytesPointer(bytes))
}

// deliverAlso adds to what is done with results.
func (c *call) deliverAlso(then func() error) {
	first := c.deliver
	c.deliver = func() error {
		if first == nil {
			return then()
		}
		return errors.Join(first(), then())
	}
}

// alsoLetGo adds to what is let go of when the operation is done.
func (c *call) alsoLetGo(then func()) {
	first := c.also
	c.also = func() {
		if first != nil {
			first()
		}
		then()
	}
}
