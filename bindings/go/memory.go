package tutti

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"tutti/internal/raw"
)

// Buffer is a slice in memory that the other ranks of the host read where it is; [Alloc] makes it.
// Its memory is not of Go: the garbage collector does not free it, because slices of it may be in
// use while nothing refers to the Buffer. All methods may be called by many goroutines at once.
type Buffer[T Element] struct {
	region *region
	count  int
}

// Alloc makes a Buffer of so many elements, all zero; the number may differ between ranks, also be
// 0. Every rank of the group calls it, in the same order as its collectives. Those of this group,
// and its messages, whose slices lie in such Buffers on all ranks that give data, are done without
// copying the data first, as far as the ranks are on one host; everywhere else a Buffer's slice is
// like any other. To be ended with [Buffer.Free]; the group may be closed before.
//
// It blocks until all have come, up to the group's timeout; of the context only counts whether it
// is done before.
func Alloc[T Element](ctx context.Context, g *Group, count int) (*Buffer[T], error) {
	var element T
	size := int(unsafe.Sizeof(element))
	if count < 0 || count > math.MaxInt/size {
		return nil, invalid("count is %d", count)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	made, err := allocate(g, count*size)
	if err != nil {
		return nil, err
	}
	return &Buffer[T]{region: made, count: count}, nil
}

// Slice is the elements. After Free it is a slice of none, which every collective and message
// refuses with [ErrInvalidHandle].
func (b *Buffer[T]) Slice() []T {
	if b != nil && !b.region.isFreed() {
		return unsafe.Slice((*T)(pointer(b.region.begin)), b.count)
	}
	return unsafe.Slice((*T)(freedMemory), 0)
}

// Free gives the memory back, once no operation uses it any more. Slices that [Buffer.Slice] gave
// before must not be touched from here on: that ends the program, as Go cannot tell. To free a
// Buffer twice, or nil, does nothing.
func (b *Buffer[T]) Free() error {
	if b == nil {
		return nil
	}
	return b.region.free()
}

// region is memory that C gave, and how many operations use it.
type region struct {
	begin, end uintptr
	users      int
	freed      bool
}

// regions are all that were not freed, in the order of their addresses.
var regions struct {
	count atomic.Int32
	mutex sync.Mutex
	list  []*region
}

// freedMemory is where the empty slices of freed Buffers point.
var freedMemory = unsafe.Pointer(new(uint64))

var errBufferFreed = &Error{
	Status: ErrInvalidHandle, Rank: -1, Message: "a slice is of a Buffer that is nil or freed",
}

func allocate(g *Group, size int) (*region, error) {
	defer runtime.KeepAlive(g)
	address := new(uintptr)
	err := attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_alloc(g.handle(), uint64(size), address, e)
	})
	if err != nil {
		return nil, err
	}
	made := &region{begin: *address, end: *address + uintptr(size)}
	regions.mutex.Lock()
	defer regions.mutex.Unlock()
	at, _ := slices.BinarySearchFunc(regions.list, made.begin, compareBegin)
	regions.list = slices.Insert(regions.list, at, made)
	regions.count.Add(1)
	return made, nil
}

func compareBegin(r *region, address uintptr) int {
	switch {
	case r.begin < address:
		return -1
	case r.begin > address:
		return 1
	}
	return 0
}

func (r *region) isFreed() bool {
	regions.mutex.Lock()
	defer regions.mutex.Unlock()
	return r.freed
}

// free gives the memory back now, or with the end of the last operation that uses it.
func (r *region) free() error {
	regions.mutex.Lock()
	defer regions.mutex.Unlock()
	if r.freed {
		return nil
	}
	r.freed = true
	return r.giveBack()
}

// giveBack does so if the memory is freed and nothing uses it; the mutex is held.
func (r *region) giveBack() error {
	if !r.freed || r.users > 0 {
		return nil
	}
	at := slices.Index(regions.list, r)
	regions.list = slices.Delete(regions.list, at, at+1)
	regions.count.Add(-1)
	return attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_free(pointer(r.begin), e)
	})
}

// hold keeps what a slice points to until the call lets go of it: from the garbage collector, and
// from Free.
func (c *call) hold(data unsafe.Pointer, length int) {
	if length == 0 {
		if data == freedMemory {
			c.fail(errBufferFreed)
		}
		return
	}
	pin(&c.pins, data)
	if regions.count.Load() == 0 {
		return
	}
	regions.mutex.Lock()
	defer regions.mutex.Unlock()
	if used := regionAt(uintptr(data)); used != nil {
		used.users++
		c.regions = append(c.regions, used)
	}
}

// regionAt is the region that an address lies in; the mutex is held.
func regionAt(address uintptr) *region {
	behind, is := slices.BinarySearchFunc(regions.list, address, compareBegin)
	if is {
		return regions.list[behind]
	}
	if behind > 0 && address < regions.list[behind-1].end {
		return regions.list[behind-1]
	}
	return nil
}

// letGoOfRegions ends what hold began.
func (c *call) letGoOfRegions() {
	if len(c.regions) == 0 {
		return
	}
	regions.mutex.Lock()
	defer regions.mutex.Unlock()
	for _, used := range c.regions {
		used.users--
		used.giveBack()
	}
	c.regions = nil
}
