package tutti

import (
	"errors"
	"runtime"
	"runtime/cgo"
	"sync/atomic"
	"unsafe"

	"tutti/internal/raw"
)

// Bucket is the gradients of some parameters of one type, one after the other, which a reducer
// reduces together; [Gradients] gives them. It is good until the next [Reducer.Begin]; that of a
// hook, until the hook returns.
type Bucket struct {
	Index      int               // buckets are reduced in this order, from 0
	Count      int               // of buckets of the reducer
	IsLast     bool              // it has the highest index
	DType      DType             // of all its elements
	Parameters []BucketParameter // in their order in the bucket
	Stream     uintptr           // of a hook on a device: which the gradients are on; else 0

	gradients  raw.Tutti_buffer
	reducer    *Reducer // nil in a hook, which must not keep it
	generation int
	isOver     atomic.Bool // the hook has returned
}

// BucketParameter is a parameter in a bucket: its gradient is Gradients(bucket)[Begin:End].
type BucketParameter struct{ Index, Begin, End int }

// newBucket copies what C says of a bucket; nil for none.
func newBucket(r *Reducer, given *raw.Tutti_bucket) *Bucket {
	if given.Index < 0 {
		return nil
	}
	b := &Bucket{
		Index:      int(given.Index),
		Count:      int(given.Bucket_count),
		IsLast:     given.Is_last != 0,
		DType:      DType(given.Gradients.Dtype),
		Parameters: make([]BucketParameter, given.Parameter_count),
		gradients:  given.Gradients,
		reducer:    r,
	}
	list := func(first uintptr) []int64 {
		return unsafe.Slice((*int64)(pointer(first)), given.Parameter_count)
	}
	indices, offsets, counts := list(given.Parameters), list(given.Offsets), list(given.Counts)
	for i, index := range indices {
		b.Parameters[i] = BucketParameter{int(index), int(offsets[i]), int(offsets[i] + counts[i])}
	}
	if r != nil {
		b.generation = r.Generation()
	} else {
		b.Stream = given.Stream
	}
	return b
}

var errBucketOver = &Error{Status: ErrInvalidHandle, Rank: -1,
	Message: "the bucket is nil, or no longer good: its hook has returned, or its reducer is closed " +
		"or has moved gradients"}

func (b *Bucket) isGood() bool {
	if b == nil || b.isOver.Load() {
		return false
	}
	return b.reducer == nil || b.reducer.Generation() == b.generation
}

// Gradients are the gradients of all parameters of a bucket, in memory that is not Go's; a hook
// puts its result there. On a device they are as a [DeviceSlice], which Go cannot read or write.
func Gradients[T Element](b *Bucket) ([]T, error) {
	if !b.isGood() {
		return nil, errBucketOver
	}
	return elementsIn[T](&b.gradients, "bucket", b.Index)
}

// Bucket gives one of the buckets, as they are now. There is always a bucket 0, whose Count says
// how many there are.
func (r *Reducer) Bucket(index int) (*Bucket, error) {
	return r.bucket(func(h raw.Tutti_reducer, bucket *raw.Tutti_bucket, e *raw.Tutti_error) int32 {
		return raw.Tutti_reducer_get_bucket(h, toInt32(index), bucket, e)
	})
}

// NextBucket gives the next bucket of this pass whose gradients are reduced, when it is, each once:
// an optimizer may update its parameters while later buckets travel. With a Stream, later work on
// that finds them. It gives nil after the last one, and in a pass that is not synchronised. Call it
// after [Reducer.FinishAsync], or in another goroutine than those that mark; one at a time.
// [ErrPending] says that the reducer's timeout has passed, and the pass goes on.
func (r *Reducer) NextBucket() (*Bucket, error) { return r.bucket(raw.Tutti_reducer_next_bucket) }

func (r *Reducer) bucket(
	question func(raw.Tutti_reducer, *raw.Tutti_bucket, *raw.Tutti_error) int32) (*Bucket, error) {
	defer runtime.KeepAlive(r) // which has the lists that newBucket copies
	given, err := askReducer(r, func(h raw.Tutti_reducer, bucket *raw.Tutti_bucket,
		e *raw.Tutti_error) int32 {
		*bucket = raw.Tutti_bucket{Struct_size: uint32(unsafe.Sizeof(*bucket)), Index: -1}
		return question(h, bucket, e)
	})
	if err != nil {
		return nil, err
	}
	return newBucket(r, &given), nil
}

// SetHook has a function reduce each bucket in place, instead of the reducer's sum and division. It
// is called with one bucket at a time, in the same order on all ranks. The group is the reducer's
// own, which the hook has for itself until it returns; on a device, the group's calls are enqueued
// on the bucket's Stream, as all of the hook's work is. The hook must not call the reducer, and one
// that refers to it keeps it from the garbage collector. An error, or a panic, fails the reducer on
// all ranks; where that was, errors.Is and errors.As find the error in the failures of the reducer.
//
// Every rank sets the hook before the same pass. It replaces the compression and the hook before
// it. nil: the reducer reduces buckets again.
func (r *Reducer) SetHook(hook func(group *Group, bucket *Bucket) error) error {
	if hook == nil || r == nil {
		return r.attempt(func(h raw.Tutti_reducer, e *raw.Tutti_error) int32 {
			return raw.Tutti_reducer_set_hook(h, nil, 0, nil, e)
		})
	}
	self := cgo.NewHandle(hooking(r.fault, hook))
	err := r.attempt(func(h raw.Tutti_reducer, e *raw.Tutti_error) int32 {
		return raw.Tutti_reducer_set_hook(h, raw.Hook, uintptr(self), raw.Release, e)
	})
	if err != nil {
		self.Delete()
	}
	return err
}

// hooking is a hook as C calls it. It does not refer to the reducer, which can so be collected.
func hooking(fault *hookFault, hook func(*Group, *Bucket) error) raw.HookFunction {
	return func(group raw.Tutti_group, given *raw.Tutti_bucket, said *raw.Tutti_error) error {
		err := withoutPanic(func() error {
			own, err := permanent(group).Retain()
			if err != nil {
				return err
			}
			defer own.Release()
			bucket := newBucket(nil, given)
			defer bucket.isOver.Store(true)
			if kind := DeviceType(given.Gradients.Device_type); kind != CPU {
				index := int(given.Gradients.Device_index)
				own = own.OnDevice(Device{Type: kind, Index: index, Stream: given.Stream})
			}
			return hook(own, bucket)
		})
		if err != nil {
			fault.tell(err, said)
		}
		return err
	}
}

// A hookFault is what a hook of a reducer has failed with on this rank, once it has: then so has
// the reducer.
type hookFault struct{ first atomic.Pointer[Error] }

// tell notes the failure, and tells C its kind, which is that of a failure of tutti's.
func (f *hookFault) tell(err error, said *raw.Tutti_error) {
	told := Error{Status: ErrBackend, Rank: -1}
	var failure *Error
	if errors.As(err, &failure) && failure.Status != raw.TUTTI_OK {
		told = *failure
	}
	said.Status, said.Rank = int32(told.Status), int32(told.Rank)
	told.cause = err
	f.first.CompareAndSwap(nil, &told)
}

// explain adds the hook's error to a failure of the reducer that comes of it.
func (f *hookFault) explain(failure *Error) {
	if f == nil {
		return
	}
	if first := f.first.Load(); first != nil && first.Status == failure.Status {
		failure.cause = first.cause
	}
}
