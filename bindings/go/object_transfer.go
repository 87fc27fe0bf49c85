package tutti

import (
	"errors"
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
		c.alsoLetGo(func() { _ = object.number.Load() }) // alive until then
		return object.handle()
	}
	return *c.give([]any{value})
}

// receive makes room for objects, which become values once the call has succeeded; nil for a list
// that is nil.
func (c *call) receive(values []any) *raw.Tutti_object {
	if values == nil {
		return nil
	}
	objects := make([]raw.Tutti_object, len(values))
	if len(objects) > 0 {
		pin(&c.pins, unsafe.SliceData(objects))
	}
	c.deliver = func() error {
		var failed error
		for i, object := range objects {
			value, err := decode(object)
			if err == nil {
				values[i] = value
			} else if failed == nil {
				failed = err
			}
		}
		return failed
	}
	c.discard = func() {
		for _, object := range objects {
			raw.Tutti_object_release(object)
		}
	}
	return unsafe.SliceData(objects)
}

func (c *call) receiveOne(value *any) *raw.Tutti_object {
	if value == nil {
		c.fail(invalid("there is no variable for the value"))
		return nil
	}
	list := make([]any, 1)
	room := c.receive(list)
	c.deliverAlso(func() error {
		*value = list[0]
		return nil
	})
	return room
}

// receiveBytes makes room for bytes, which become slices once the call has succeeded; nil for a
// list that is nil.
func (c *call) receiveBytes(values [][]byte) *raw.Tutti_bytes {
	if values == nil {
		return nil
	}
	handles := make([]raw.Tutti_bytes, len(values))
	if len(handles) > 0 {
		pin(&c.pins, unsafe.SliceData(handles))
	}
	c.deliver = func() error {
		for i, handle := range handles {
			values[i] = takeBytes(handle)
		}
		return nil
	}
	c.discard = func() {
		for _, handle := range handles {
			raw.Tutti_bytes_release(handle)
		}
	}
	return unsafe.SliceData(handles)
}

func (c *call) receiveOneBytes(value *[]byte) *raw.Tutti_bytes {
	if value == nil {
		c.fail(invalid("there is no variable for the bytes"))
		return nil
	}
	list := make([][]byte, 1)
	room := c.receiveBytes(list)
	c.deliverAlso(func() error {
		*value = list[0]
		return nil
	})
	return room
}

// giveBytes pins bytes.
func (c *call) giveBytes(bytes []byte) unsafe.Pointer {
	c.hold(unsafe.Pointer(unsafe.SliceData(bytes)), len(bytes))
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
