package tutti

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"tutti/internal/raw"
)

// A frame is what C reads and writes during a call. It holds no Go pointer, so C may have it.
type frame struct {
	first, second raw.Tutti_buffer
	options       raw.Tutti_call_options
	work          raw.Tutti_work
	rank          int32
	err           raw.Tutti_error
}

// A call is one operation of a group, from its arguments to its end: what it pins, how it is
// started, and how results become values of Go.
type call struct {
	frame    *frame
	pins     runtime.Pinner
	group    *Group
	device   *Device // of the group; nil: the CPU
	op       *CustomOp
	hook     *hookFault // of a reducer
	fault    error      // of an argument, found before C was called
	tagName  *byte      // nil: none
	receives bool       // a message, so that it can be cancelled until that comes
	inPlace  bool       // on one buffer, which C calls input and output
	owed     bool       // starts whatever the context says, as the other ranks count on it
	start    func(options *raw.Tutti_call_options, work *raw.Tutti_work) int32
	// Called once the operation has succeeded.
	deliver func() error
	also    func() // what else is let go of with its buffers
}

var calls = sync.Pool{New: func() any {
	made := &call{frame: new(frame)}
	made.frame.err.Struct_size = uint32(unsafe.Sizeof(made.frame.err))
	made.frame.options.Struct_size = uint32(unsafe.Sizeof(made.frame.options))
	return made
}}

func newCall(group *Group) *call {
	c := calls.Get().(*call)
	c.group = group
	if group != nil {
		c.device = group.device
		c.name(group.tagName)
	}
	return c
}

// name gives the operation a name, which C reads while it is started.
func (c *call) name(tagName string) {
	text, err := cTextOrNil("tagName", tagName)
	if err != nil {
		c.fail(err)
	}
	if text != nil {
		pin(&c.pins, text)
		c.tagName = text
	}
}

// release lets go of everything the call held; it may be used for another one then.
func (c *call) release() {
	c.letGo()
	*c = call{frame: c.frame}
	c.frame.work = 0
	calls.Put(c)
}

// letGo gives the buffers back to the garbage collector.
func (c *call) letGo() {
	c.pins.Unpin()
	if c.also != nil {
		c.also()
		c.also = nil
	}
}

// fail notes a fault of an argument; the first one is told.
func (c *call) fail(err error) {
	if c.fault == nil {
		c.fault = err
	}
}

// failure is what C says of the operation, and what Go knows of its cause.
func (c *call) failure(ctx context.Context, said *raw.Tutti_error) *Error {
	failure := errorOf(said)
	if c.inPlace && (failure.Status == ErrInvalidArgument || failure.Status == ErrUnsupported) {
		failure.Message = inPlaceNames.Replace(failure.Message)
	}
	c.op.explain(failure)
	c.hook.explain(failure)
	if _, has := ctx.Deadline(); has && failure.Status == ErrTimeout {
		failure.cause = context.DeadlineExceeded // which the timeout was made of
	}
	return failure
}

// pin keeps the garbage collector from memory, by any pointer to it. What is not of Go needs no
// pinning; Go 1.21 panics at it.
func pin(pins *runtime.Pinner, memory any) {
	defer func() { _ = recover() }()
	pins.Pin(memory)
}

// pin keeps memory where it is until the call lets go of it.
func (c *call) pin(data unsafe.Pointer, length int) {
	if length > 0 {
		pin(&c.pins, data)
	} else if data == freedMemory {
		c.fail(errBufferFreed)
	}
}

// view describes a slice to C, in a buffer of the frame or of a list, and pins it if it is of Go.
func view[T Element](c *call, buffer *raw.Tutti_buffer, slice []T) *raw.Tutti_buffer {
	return viewOn(c, c.device, buffer, slice)
}

// viewOn is view for a slice on any device; nil: the CPU.
func viewOn[T Element](c *call, device *Device, buffer *raw.Tutti_buffer, slice []T,
) *raw.Tutti_buffer {
	*buffer = raw.Tutti_buffer{Count: int64(len(slice)), Dtype: uint32(DTypeOf[T]())}
	data := unsafe.Pointer(unsafe.SliceData(slice))
	if device != nil {
		device.place(buffer)
	}
	if device == nil || device.Type == CPU || len(slice) == 0 {
		c.pin(data, len(slice))
	}
	if len(slice) > 0 {
		buffer.Data = uintptr(data)
	}
	return buffer
}

// viewOrNil is view, but nil, which is C's NULL, for a slice that is nil.
func viewOrNil[T Element](c *call, buffer *raw.Tutti_buffer, slice []T) *raw.Tutti_buffer {
	if slice == nil {
		return nil
	}
	return view(c, buffer, slice)
}

// views describes several slices; nil for a list that is nil.
func views[T Element](c *call, slices [][]T) (*raw.Tutti_buffer, int64) {
	if slices == nil {
		return nil, 0
	}
	list := make([]raw.Tutti_buffer, len(slices))
	for i, slice := range slices {
		view(c, &list[i], slice)
	}
	return unsafe.SliceData(list), int64(len(list))
}

// A threshold counts calls that hold up their threads: Go does not survive ten thousand of those.
type threshold struct{ inside atomic.Int32 }

const mostBlocked = 500

// enter tells whether one more call may hold up its thread.
func (t *threshold) enter() bool {
	if t.inside.Add(1) <= mostBlocked {
		return true
	}
	t.leave()
	return false
}

func (t *threshold) leave() { t.inside.Add(-1) }

var blocking threshold

// run makes the call and waits for its end. Where nothing can end the wait but the operation
// itself, C does all of it on this thread; else it runs as a work, which the context may leave.
func (c *call) run(ctx context.Context) error {
	if err := c.ready(ctx); err != nil {
		c.release()
		return err
	}
	if c.group.isCoalescing() {
		return c.collect(ctx)
	}
	if c.onStream() {
		return c.enqueue(ctx)
	}
	if ctx.Done() != nil || !blocking.enter() {
		return c.runAsWork(ctx)
	}
	defer blocking.leave()
	defer c.release()
	var options *raw.Tutti_call_options
	if c.tagName != nil {
		options = c.limits(ctx)
	}
	if c.start(options, nil) != raw.TUTTI_OK {
		return c.failure(ctx, &c.frame.err)
	}
	return c.deliverNow()
}

// enqueue makes the call on its stream; it returns before the operation is done.
func (c *call) enqueue(ctx context.Context) error {
	defer c.release()
	if c.start(c.limits(ctx), nil) != raw.TUTTI_OK {
		return c.failure(ctx, &c.frame.err)
	}
	return c.deliverNow()
}

func (c *call) deliverNow() error {
	if c.deliver == nil {
		return nil
	}
	return c.deliver()
}

// ready tells what stands against starting.
func (c *call) ready(ctx context.Context) error {
	if c.fault != nil || c.owed {
		return c.fault
	}
	return ctx.Err()
}

// runAsWork runs the call beside the wait for it.
func (c *call) runAsWork(ctx context.Context) error {
	operation, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer operation.close()
	operation.obey()
	return operation.wait(ctx, endOfPatience(ctx))
}

// async starts the call and returns its work.
func (c *call) async(ctx context.Context) (*Work, error) {
	if err := c.ready(ctx); err != nil {
		c.release()
		return nil, err
	}
	operation, err := c.begin(ctx)
	if err != nil {
		return nil, err
	}
	return newWork(operation), nil
}

// begin starts the operation, which then has the call.
func (c *call) begin(ctx context.Context) (*operation, error) {
	if c.start(c.limits(ctx), &c.frame.work) != raw.TUTTI_OK {
		err := c.failure(ctx, &c.frame.err)
		c.release()
		return nil, err
	}
	return &operation{call: c, ctx: ctx}, nil
}

// limits are the call's options: the time that the context gives, the stream and the name.
func (c *call) limits(ctx context.Context) *raw.Tutti_call_options {
	c.frame.options.Timeout_ms = raw.TUTTI_DEFAULT_TIMEOUT
	if deadline, has := ctx.Deadline(); has {
		c.frame.options.Timeout_ms = millisecondsUntil(deadline)
	}
	c.frame.options.Stream = 0
	if c.device != nil {
		c.frame.options.Stream = c.device.Stream
	}
	c.frame.options.Tag_name = uintptr(unsafe.Pointer(c.tagName))
	return &c.frame.options
}
