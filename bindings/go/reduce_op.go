package tutti

import (
	"fmt"
	"runtime"
	"runtime/cgo"
	"sync"
	"unsafe"

	"tutti/internal/raw"
)

// ReduceOp is how a reduction puts two elements together: one of the operators below, or a
// [CustomOp].
type ReduceOp interface {
	// use tells a call, whose elements are of this type, the number of the op.
	use(c *call, dtype DType) uint32
}

// Operator is a reduce operator that is always there.
type Operator uint32

// The reduce operators, with torch's numbers.
const (
	Sum     = Operator(raw.TUTTI_SUM)     // bool: logical or
	Avg     = Operator(raw.TUTTI_AVG)     // floating point and complex: the sum, divided once
	Product = Operator(raw.TUTTI_PRODUCT) // not complex; bool: logical and
	Min     = Operator(raw.TUTTI_MIN)     // not complex; a NaN wins
	Max     = Operator(raw.TUTTI_MAX)     // not complex; a NaN wins
	BAnd    = Operator(raw.TUTTI_BAND)    // integers and bool
	BOr     = Operator(raw.TUTTI_BOR)     // integers and bool
	BXor    = Operator(raw.TUTTI_BXOR)    // integers and bool
)

func (o Operator) use(*call, DType) uint32 { return uint32(o) }

// CustomOp is a reduce operator that [NewPremulSum] or [NewReduceOp] has made. Close gives it back;
// operations that were started with it end as if it were still there.
type CustomOp struct {
	mutex  sync.Mutex
	number uint32
	closed bool
	users  int        // operations that may call the function
	self   cgo.Handle // of the function; 0 if there is none
	dtype  DType      // of the function's elements
	fault  error      // what the function has failed with, until an operation tells it
}

var errOpClosed = &Error{Status: ErrInvalidHandle, Rank: -1, Message: "op is nil or closed"}

func (o *CustomOp) use(c *call, dtype DType) uint32 {
	if o == nil {
		c.fail(errOpClosed)
		return 0
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	switch {
	case o.closed:
		c.fail(errOpClosed)
		return 0
	case o.self != 0 && o.dtype != dtype:
		c.fail(invalid("op is a function of %v, and the elements are %v", o.dtype, dtype))
		return 0
	}
	o.users++
	c.op = o
	return o.number
}

// failed notes what the function has failed with.
func (o *CustomOp) failed(fault error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.fault == nil {
		o.fault = fault
	}
}

// explain adds to an operation's failure what the function has failed with.
func (o *CustomOp) explain(failure *Error) {
	if o == nil || failure.Status != ErrBackend {
		return
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.fault != nil {
		failure.cause = o.fault
		failure.Message += ": " + o.fault.Error()
		o.fault = nil
	}
}

// Close gives the op back; to close it twice does nothing. An op that is not closed is when the
// garbage collector finds it.
func (o *CustomOp) Close() error {
	if o == nil {
		return nil
	}
	runtime.SetFinalizer(o, nil)
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if !o.closed {
		o.closed = true
		raw.Tutti_reduce_op_release(o.number)
		o.forget()
	}
	return nil
}

// forget lets go of the function once nothing can call it; the mutex is held.
func (o *CustomOp) forget() {
	if o.closed && o.users == 0 && o.self != 0 {
		o.self.Delete()
		o.self = 0
	}
}

// use notes that a call uses an op, and tells its number.
func use[T Element](c *call, op ReduceOp) uint32 {
	if op == nil {
		c.fail(invalid("op is nil"))
		return 0
	}
	return op.use(c, DTypeOf[T]())
}

// unuse takes back what use noted.
func unuse(op *CustomOp) {
	if op == nil {
		return
	}
	op.mutex.Lock()
	op.users--
	op.forget()
	op.mutex.Unlock()
}

// NewPremulSum makes an op that multiplies every rank's input by that rank's factor, and sums the
// products. Factors may differ between ranks. An integer factor goes with every type of elements
// but bool, a floating-point one with floating point and complex, a complex one with complex.
func NewPremulSum[T Element](factor T) (*CustomOp, error) {
	c := newCall(nil)
	defer c.release()
	op := &CustomOp{}
	number := new(uint32)
	if raw.Tutti_reduce_op_create_premul_sum(view(c, &c.frame.first, []T{factor}), number,
		&c.frame.err) != raw.TUTTI_OK {
		return nil, errorOf(&c.frame.err)
	}
	op.number = *number
	runtime.SetFinalizer(op, (*CustomOp).Close)
	return op, nil
}

// ReduceOpOptions are the options of [NewReduceOp]; zero is every field's default, and so is a nil
// pointer.
type ReduceOpOptions struct {
	// a op b is not b op a, so results keep the order of the ranks; costs more.
	NonCommutative bool
}

// NewReduceOp makes an op of a function: inout[i] = in[i] op inout[i], for elements that do not
// depend on each other, where in comes from the lower ranks; both are good until it returns. It
// must be associative, and give the same bits for the same operands on every rank. It is called
// for any part of the data, any number of times, by several operations at the same time; it must
// not wait for the group. All ranks of a call use a function that does the same: what is compared
// is the name and whether it commutes. An error, or a panic, fails the operation with
// [ErrBackend], and the group with it; on the rank where that was, errors.Is finds the error.
func NewReduceOp[T Element](name string, function func(in, inout []T) error,
	options *ReduceOpOptions) (*CustomOp, error) {
	if function == nil {
		return nil, invalid("function is nil")
	}
	text, err := cText("name", name)
	if err != nil {
		return nil, err
	}
	o := &raw.Tutti_reduce_op_options{}
	o.Struct_size = uint32(unsafe.Sizeof(*o))
	if options != nil {
		o.Non_commutative = uint32(toInt(options.NonCommutative))
	}
	op := &CustomOp{dtype: DTypeOf[T]()}
	op.self = cgo.NewHandle(reducing(op.failed, function))
	number := new(uint32)
	err = attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_reduce_op_create_user(text, raw.Reduce, uintptr(op.self), o, number, e)
	})
	if err != nil {
		op.self.Delete()
		return nil, err
	}
	op.number = *number
	runtime.SetFinalizer(op, (*CustomOp).Close)
	return op, nil
}

// reducing is the function as C calls it, with elements of its own type: use has seen to that.
func reducing[T Element](failed func(error), function func(in, inout []T) error,
) raw.ReduceFunction {
	return func(in, inout unsafe.Pointer, count int64, _ uint32) int32 {
		err := withoutPanic(func() error {
			return function(unsafe.Slice((*T)(in), count), unsafe.Slice((*T)(inout), count))
		})
		if err != nil {
			failed(err)
			return raw.TUTTI_ERR_BACKEND
		}
		return raw.TUTTI_OK
	}
}

func withoutPanic(function func() error) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			if cause, is := reason.(error); is {
				err = fmt.Errorf("panic: %w", cause)
				return
			}
			err = fmt.Errorf("panic: %v", reason)
		}
	}()
	return function()
}
