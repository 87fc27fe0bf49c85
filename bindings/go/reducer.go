package tutti

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"tutti/internal/raw"
)

// Parameter is a parameter of a model: its name and its elements. [Param] makes it.
type Parameter struct {
	name string
	view func(c *call, buffer *raw.Tutti_buffer)
}

// Param describes a parameter, for [NewReducer].
func Param[T Element](name string, values []T) Parameter {
	return Parameter{name, func(c *call, b *raw.Tutti_buffer) { view(c, b, values) }}
}

// ReducerOptions are the options of a reducer, the same on all ranks but for Timeout; zero is every
// field's default, and so is a nil pointer.
type ReducerOptions struct {
	FindUnusedParameters bool          // some parameters may get no gradient in a pass
	StaticGraph          bool          // every pass marks the same parameters equally often
	KeepBuckets          bool          // they never follow the order in which gradients come
	NoInitialBroadcast   bool          // parameters stay as they are, instead of those of rank 0
	Sum                  bool          // results are sums, not means
	KeepMicroBatches     int           // passes that are kept apart, of a reproducible group
	BucketCap            int64         // bytes from which on a bucket is full; 0: 25 MiB
	FirstBucketCap       int64         // of the first one; 0: 1 MiB
	Timeout              time.Duration // of each bucket; 0: the group's
	Predivide            float64       // before the sum, the rest after it; 0: 1
	Order                []int         // in which gradients are expected; nil: the last one first
}

func (o *ReducerOptions) forC(device *Device) *raw.Tutti_reducer_options {
	made := &raw.Tutti_reducer_options{
		Find_unused_parameters: uint32(toInt(o.FindUnusedParameters)),
		Static_graph:           uint32(toInt(o.StaticGraph)),
		Keep_buckets:           uint32(toInt(o.KeepBuckets)),
		No_initial_broadcast:   uint32(toInt(o.NoInitialBroadcast)),
		Sum:                    uint32(toInt(o.Sum)),
		Keep_micro_batches:     uint32(o.KeepMicroBatches),
		Bucket_cap_bytes:       o.BucketCap,
		First_bucket_cap_bytes: o.FirstBucketCap,
		Timeout_ms:             milliseconds(o.Timeout),
		Predivide:              o.Predivide,
	}
	if device != nil {
		made.Stream = device.Stream
	}
	made.Struct_size = uint32(unsafe.Sizeof(*made))
	return made
}

// Reducer adds the gradients of a model up over the ranks, in buckets, while the program computes
// others; torch's DistributedDataParallel. [Reducer.MarkReady] may be called by many goroutines at
// once, and so may what only asks.
type Reducer struct {
	number atomic.Uintptr
	device *Device // of the gradients; nil: the CPU
	mutex  sync.Mutex
	owns   []*call // gradients of the program's own, until a synchronised pass has ended
	synced bool    // the pass that has begun
	fault  *hookFault
}

// NewReducer makes a reducer for the parameters of a model. Every rank of the group calls it with
// parameters of the same names, lengths and types, in the same order; where they differ, all get
// [ErrMismatch], which shows both. The parameters receive the values of rank 0, and are the
// caller's again when it returns. Their gradients are zero.
//
// With a Group of [Group.OnDevice] the parameters, the gradients and the buffers of
// [Reducer.SyncBuffers] are on that device. The program computes gradients on its Stream, or on the
// device's default stream; buckets are reduced after what that has when their last gradient is
// marked. With a Stream, the parameters are the caller's again when it has come so far, and the
// Stream is there until the reducer is closed.
func NewReducer(ctx context.Context, g *Group, parameters []Parameter,
	options *ReducerOptions) (*Reducer, error) {
	if options == nil {
		options = &ReducerOptions{}
	}
	if options.KeepMicroBatches < 0 {
		return nil, invalid("options.KeepMicroBatches is %d", options.KeepMicroBatches)
	}
	if options.Order != nil && len(options.Order) != len(parameters) {
		return nil, invalid("options.Order has %d indices for %d parameters", len(options.Order),
			len(parameters))
	}
	names := make([]string, len(parameters))
	for i, one := range parameters {
		names[i] = one.name
	}
	texts, err := cTexts("the name of a parameter", names)
	if err != nil {
		return nil, err
	}
	defer texts.release()
	c := newCall(g)
	defer c.release()
	list := make([]raw.Tutti_buffer, len(parameters))
	for i, one := range parameters {
		if one.view == nil {
			return nil, invalid("parameter %d was not made by Param", i)
		}
		one.view(c, &list[i])
	}
	if err := c.ready(ctx); err != nil {
		return nil, err
	}
	handle, err := ask(func(out *raw.Tutti_reducer, e *raw.Tutti_error) int32 {
		return raw.Tutti_reducer_create(g.handle(), unsafe.SliceData(list), texts.first(),
			int64s(options.Order), int64(len(list)), options.forC(c.device), out, e)
	})
	if err != nil {
		return nil, err
	}
	r := &Reducer{device: c.device, fault: &hookFault{}}
	r.number.Store(uintptr(handle))
	runtime.SetFinalizer(r, (*Reducer).Close)
	return r, nil
}

func (r *Reducer) handle() raw.Tutti_reducer {
	if r == nil {
		return 0
	}
	return raw.Tutti_reducer(r.number.Load())
}

// newCall makes a call for slices that are where the gradients are.
func (r *Reducer) newCall() *call {
	c := newCall(nil)
	if r != nil {
		c.device, c.hook = r.device, r.fault
	}
	return c
}

func (r *Reducer) attempt(f func(raw.Tutti_reducer, *raw.Tutti_error) int32) error {
	defer runtime.KeepAlive(r)
	err := attempt(func(e *raw.Tutti_error) int32 { return f(r.handle(), e) })
	if failure, is := err.(*Error); is && r != nil {
		r.fault.explain(failure)
	}
	return err
}

// askReducer is attempt for the calls that give something.
func askReducer[T any](r *Reducer,
	f func(raw.Tutti_reducer, *T, *raw.Tutti_error) int32) (T, error) {
	answer := new(T)
	err := r.attempt(func(h raw.Tutti_reducer, e *raw.Tutti_error) int32 { return f(h, answer, e) })
	return *answer, err
}

// Close gives the reducer and its gradients back; slices of [Gradient] must not be touched from
// here on. No pass may be under way. A Reducer that is not closed is when the garbage collector
// finds it.
func (r *Reducer) Close() error {
	if r != nil {
		runtime.SetFinalizer(r, nil)
		raw.Tutti_reducer_release(raw.Tutti_reducer(r.number.Swap(0)))
		r.letGo()
	}
	return nil
}

func (r *Reducer) isSynced() bool {
	if r == nil {
		return false
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.synced
}

// keep has the reducer keep gradients of the program's own.
func (r *Reducer) keep(owns ...*call) {
	if r != nil {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		r.owns = append(r.owns, owns...)
	}
}

// takeOwns gives what it keeps.
func (r *Reducer) takeOwns() []*call {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	taken := r.owns
	r.owns = nil
	return taken
}

func (r *Reducer) letGo() { releaseAll(r.takeOwns()) }

// Gradient is where the reducer has the gradient of a parameter, in memory that is not Go's:
// compute it there. It is good until [Reducer.Generation] changes or the reducer is closed, which
// the garbage collector does when nothing refers to it. On a device it is as a [DeviceSlice], which
// Go cannot read or write.
func Gradient[T Element](r *Reducer, parameter int) ([]T, error) {
	place, err := askReducer(r, func(h raw.Tutti_reducer, place *raw.Tutti_buffer,
		e *raw.Tutti_error) int32 {
		return raw.Tutti_reducer_gradient(h, int64(parameter), place, e)
	})
	if err != nil {
		return nil, err
	}
	return elementsIn[T](&place, "parameter", parameter)
}

// elementsIn is memory of C's as a slice, if its elements are of this type.
func elementsIn[T Element](place *raw.Tutti_buffer, what string, index int) ([]T, error) {
	if wanted := DTypeOf[T](); DType(place.Dtype) != wanted {
		return nil, invalid("%s %d is of %v, not %v", what, index, DType(place.Dtype), wanted)
	}
	if place.Count == 0 {
		return []T{}, nil
	}
	return unsafe.Slice((*T)(pointer(place.Data)), place.Count), nil
}

// Generation tells how often gradients have moved, which only [Reducer.Begin] and [Reducer.Shrink]
// do; -1 once the reducer is closed.
func (r *Reducer) Generation() int {
	defer runtime.KeepAlive(r)
	return int(raw.Tutti_reducer_generation(r.handle()))
}

// BeginForward says that a forward pass begins, for [Reducer.LoggingData].
func (r *Reducer) BeginForward() error {
	return r.attempt(func(h raw.Tutti_reducer, e *raw.Tutti_error) int32 {
		return raw.Tutti_reducer_begin_forward(h, e)
	})
}

// Begin begins a backward pass. One that is not synchronised sends nothing, as in torch's no_sync.
func (r *Reducer) Begin(synchronise bool) error {
	return r.attempt(func(h raw.Tutti_reducer, e *raw.Tutti_error) int32 {
		status := raw.Tutti_reducer_begin(h, uint32(toInt(synchronise)), e)
		if status == raw.TUTTI_OK {
			r.mutex.Lock()
			r.synced = synchronise
			r.mutex.Unlock()
		}
		return status
	})
}

// MarkReady says that the gradient of a parameter is complete in [Gradient].
func (r *Reducer) MarkReady(parameter int) error {
	return r.attempt(func(h raw.Tutti_reducer, e *raw.Tutti_error) int32 {
		return raw.Tutti_reducer_mark_ready(h, int64(parameter), nil, e)
	})
}

// MarkReadyFrom is MarkReady for a gradient of the program's own, which receives the result; it
// belongs to the reducer until a synchronised pass has ended, on a device until its results are
// there.
func MarkReadyFrom[T Element](r *Reducer, parameter int, gradient []T) error {
	c := r.newCall()
	own := view(c, &c.frame.first, gradient)
	if c.fault != nil {
		defer c.release()
		return c.fault
	}
	r.keep(c) // before C has it
	return r.attempt(func(h raw.Tutti_reducer, e *raw.Tutti_error) int32 {
		return raw.Tutti_reducer_mark_ready(h, int64(parameter), own, e)
	})
}

// MarkUnused says early that parameters get no gradient in this pass.
func (r *Reducer) MarkUnused(parameters ...int) error {
	return r.attempt(func(h raw.Tutti_reducer, e *raw.Tutti_error) int32 {
		return raw.Tutti_reducer_mark_unused(h, int64s(parameters), int64(len(parameters)), e)
	})
}

// Finish ends a backward pass. After nil, every rank has the same gradients if the pass was
// synchronised. It blocks until all buckets are reduced; with a Stream, until they are enqueued,
// and later work on that finds their results.
func (r *Reducer) Finish() error {
	err := r.attempt(func(h raw.Tutti_reducer, e *raw.Tutti_error) int32 {
		return raw.Tutti_reducer_finish(h, nil, e)
	})
	if err == nil && r.isSynced() {
		r.letGo()
	}
	return err
}

// FinishAsync is Finish that returns at once; the work is done when all buckets are reduced, with a
// Stream when their results are there. Until then gradients of the program's own are the reducer's.
func (r *Reducer) FinishAsync() (*Work, error) {
	c := r.newCall()
	var owns []*call
	if r.isSynced() {
		owns = r.takeOwns() // now: the next pass may have begun before the work is done
	}
	status := raw.Tutti_reducer_finish(r.handle(), &c.frame.work, &c.frame.err)
	if status != raw.TUTTI_OK {
		r.keep(owns...)
		defer c.release()
		return nil, c.failure(context.Background(), &c.frame.err)
	}
	c.also = func() {
		releaseAll(owns)
		runtime.KeepAlive(r) // a Reducer that is dropped goes on until then
	}
	return newWork(&operation{call: c, ctx: context.Background()}), nil
}

// Backward runs a backward pass: Begin, the function, which marks each gradient that it has
// computed, and Finish. If the function fails, the pass has not ended, and the reducer is of no
// more use but for [Reducer.Shrink], or to be closed.
func (r *Reducer) Backward(synchronise bool, compute func() error) error {
	if err := r.Begin(synchronise); err != nil {
		return err
	}
	if err := compute(); err != nil {
		return err
	}
	return r.Finish()
}

// IsUsed tells whether any rank had a gradient for a parameter in the last synchronised pass.
func (r *Reducer) IsUsed(parameter int) bool {
	defer runtime.KeepAlive(r)
	return raw.Tutti_reducer_is_used(r.handle(), int64(parameter)) == 1
}

// SyncBuffers copies buffers of one rank, each described by [Param], to all; every rank calls it
// between the same passes. They are on the device of the gradients; with a Stream it returns when
// the copies are enqueued.
func (r *Reducer) SyncBuffers(src int, buffers ...Parameter) error {
	c := r.newCall()
	defer c.release()
	list := make([]raw.Tutti_buffer, len(buffers))
	for i, one := range buffers {
		if one.view == nil {
			return invalid("buffer %d was not made by Param", i)
		}
		one.view(c, &list[i])
	}
	if c.fault != nil {
		return c.fault
	}
	return r.attempt(func(h raw.Tutti_reducer, e *raw.Tutti_error) int32 {
		return raw.Tutti_reducer_sync_buffers(h, unsafe.SliceData(list), int64(len(list)),
			toInt32(src), e)
	})
}

// Shrink lets the reducer go on in another group, mostly one that [Group.Shrink] has made after the
// death of a rank. Parameters, options, the hook and the compression stay; everything else is as
// after [NewReducer]: gradients have moved and are zero. No pass before counts any more, one that was
// interrupted or that was not synchronised, so the program repeats its step from the first forward
// pass. Ranks that had ended the pass may be one step ahead of the others: the program makes the
// parameters equal. Every rank of the group calls it, with the same model; one that has no reducer
// yet calls NewReducer with NoInitialBroadcast. It may be repeated after an error. No other goroutine
// may use the reducer meanwhile; gradients of the program's own are the program's again.
func (r *Reducer) Shrink(ctx context.Context, g *Group) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	defer runtime.KeepAlive(g)
	err := r.attempt(func(h raw.Tutti_reducer, e *raw.Tutti_error) int32 {
		return raw.Tutti_reducer_shrink(h, g.handle(), e)
	})
	if err == nil {
		r.letGo()
	}
	return err
}

// LoggingData is what the reducer is and has done, as a map with the keys of torch's
// _get_ddp_logging_data; times are in nanoseconds.
func (r *Reducer) LoggingData() (any, error) {
	object, err := askReducer(r, raw.Tutti_reducer_logging_data)
	if err != nil {
		return nil, err
	}
	return decode(object)
}
