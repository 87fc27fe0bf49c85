package tutti

import (
	"context"
	"math"
	"sync/atomic"
	"unsafe"

	"tutti/internal/raw"
)

// Buffer is a slice in memory that the other ranks of the host read where it is; [Alloc] makes it.
// Its memory is not of Go: the garbage collector does not free it, because slices of it may be in
// use while nothing refers to the Buffer. All methods may be called by many goroutines at once.
type Buffer[T Element] struct {
	address atomic.Uintptr // 0 once it is freed
	count   int
}

// Alloc makes a Buffer of so many elements, all zero; the number may differ between ranks, also be
// 0. Every rank of the group calls it, in the same order as its collectives. Those of this group,
// and its messages, whose slices lie in such Buffers on all ranks that give data, are done without
// copying the data first, as far as the ranks are on one host; everywhere else a Buffer's slice is
// like any other. To be ended with [Buffer.Free]; the group may be closed before. With a Group of
// [Group.OnDevice] the memory is on that device.
//
// It blocks until all have come, up to the deadline of the context or the group's timeout; to
// cancel the context does not end it.
func Alloc[T Element](ctx context.Context, g *Group, count int) (*Buffer[T], error) {
	var element T
	size := int(unsafe.Sizeof(element))
	if count < 0 || count > math.MaxInt/size {
		return nil, invalid("count is %d", count)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	options := &raw.Tutti_memory_options{}
	options.Struct_size = uint32(unsafe.Sizeof(*options))
	if g != nil && g.device != nil {
		options.Device_type = int32(g.device.Type)
		options.Device_index = toInt32(g.device.Index)
	}
	if deadline, has := ctx.Deadline(); has {
		options.Timeout_ms = millisecondsUntil(deadline)
	}
	address, err := ask(func(address *uintptr, e *raw.Tutti_error) int32 {
		return raw.Tutti_memory_alloc(g.handle(), int64(count*size), options, address, e)
	})
	if err != nil {
		return nil, deadlineError(ctx, err)
	}
	b := &Buffer[T]{count: count}
	b.address.Store(address)
	return b, nil
}

// Slice is the elements. After Free it is a slice of none, which every collective and message
// refuses with [ErrInvalidHandle].
func (b *Buffer[T]) Slice() []T {
	if b != nil {
		if address := b.address.Load(); address != 0 {
			return unsafe.Slice((*T)(pointer(address)), b.count)
		}
	}
	return unsafe.Slice((*T)(freedMemory), 0)
}

// Free gives the memory back, once no operation uses it any more. Slices that [Buffer.Slice] gave
// before must not be touched from here on: that ends the program, as Go cannot tell. To free a
// Buffer twice, or nil, does nothing.
func (b *Buffer[T]) Free() {
	if b != nil {
		raw.Tutti_memory_release(pointer(b.address.Swap(0)))
	}
}

// freedMemory is where the empty slices of freed Buffers point.
var freedMemory = unsafe.Pointer(new(uint64))

var errBufferFreed = &Error{
	Status: ErrInvalidHandle, Rank: -1, Message: "a slice is of a Buffer that is nil or freed",
}
