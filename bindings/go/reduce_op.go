package tutti

import (
	"fmt"
	"runtime"
	"runtime/cgo"
	"sync/atomic"
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
	number   atomic.Uint32 // 0, which is Sum, once it is closed
	function bool          // of elements of this type
	dtype    DType
	fault    *atomic.Pointer[error] // what it has failed with, until an operation tells it
}

var errOpClosed = &Error{Status: ErrInvalidHandle, Rank: -1, Message: "op is nil or closed"}

func (o *CustomOp) use(c *call, dtype DType) uint32 {
	var number uint32
	if o != nil {
		number = o.number.Load()
	}
	if number == 0 {
		c.fail(errOpClosed)
	} else if o.function && o.dtype != dtype {
		c.fail(invalid("op is a function of %v, and the elements are %v", o.dtype, dtype))
	}
	c.op = o
	return number
}

// explain adds to an operation's failure what the function has failed with.
func (o *CustomOp) explain(failure *Error) {
	if o != nil && o.function && failure.Status == ErrBackend {
		if fault := o.fault.Swap(nil); fault != nil {
			failure.cause = *fault
		}
	}
}

// Close gives the op back; to close it twice does nothing. An op that is not closed is when the
// garbage collector finds it.
func (o *CustomOp) Close() error {
	if o != nil {
		runtime.SetFinalizer(o, nil)
		raw.Tutti_reduce_op_release(o.number.Swap(0)) // which passes over Sum
	}
	return nil
}

// use notes that a call uses an op, and tells its number.
func use[T Element](c *call, op ReduceOp) uint32 {
	if op == nil {
		c.fail(invalid("op is nil"))
		return 0
	}
	return op.use(c, DTypeOf[T]())
}

// NewPremulSum makes an op that multiplies every rank's input by that rank's factor, and sums the
// products. Factors may differ between ranks. An integer factor goes with every type of elements
// but bool, a floating-point one with floating point and complex, a complex one with complex.
func NewPremulSum[T Element](factor T) (*CustomOp, error) {
	c := newCall(nil)
	defer c.release()
	number := new(uint32)
	if raw.Tutti_reduce_op_create_premul_sum(view(c, &c.frame.first, []T{factor}), number,
		&c.frame.err) != raw.TUTTI_OK {
		return nil, errorOf(&c.frame.err)
	}
	return newOp(&CustomOp{}, *number), nil
}

func newOp(op *CustomOp, number uint32) *CustomOp {
	op.number.Store(number)
	runtime.SetFinalizer(op, (*CustomOp).Close)
	return op
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
	fault := new(atomic.Pointer[error])
	self := cgo.NewHandle(reducing(fault, function))
	number, err := ask(func(number *uint32, e *raw.Tutti_error) int32 {
		return raw.Tutti_reduce_op_create_user(text, raw.Reduce, uintptr(self), raw.Release, o,
			number, e)
	})
	if err != nil {
		self.Delete()
		return nil, err
	}
	return newOp(&CustomOp{function: true, dtype: DTypeOf[T](), fault: fault}, number), nil
}

// reducing is the function as C calls it, with elements of its own type: use has seen to that.
func reducing[T Element](fault *atomic.Pointer[error], function func(in, inout []T) error,
) raw.ReduceFunction {
	return func(in, inout unsafe.Pointer, count int64) error {
		err := withoutPanic(func() error {
			return function(unsafe.Slice((*T)(in), count), unsafe.Slice((*T)(inout), count))
		})
		if err != nil {
			fault.CompareAndSwap(nil, &err)
		}
		return err
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
