package tutti

import (
	"context"
	"math"
	"testing"
	"time"
)

func TestBuffersAreSlicesOfSharedMemory(t *testing.T) {
	for _, backend := range []string{"loopback", "shm", "gloo", "hierarchy"} {
		onBackend(t, backend, 2, nil, func(t *testing.T, g *Group) {
			const count = 100000
			buffer := must(Alloc[float64](background, g, count+g.Rank())) // sizes may differ
			data := buffer.Slice()
			is(t, len(data), count+g.Rank())
			is(t, data[count-1], 0.0)
			for i := range data {
				data[i] = float64(i * (g.Rank() + 1))
			}
			check(t, AllReduce(background, g, data[:count], Sum))
			is(t, data[count-1], float64(3*(count-1)))
			other := make([]float64, 2*count)
			check(t, AllGatherIntoTensor(background, g, other, data[:count]))
			is(t, []float64{other[1], other[2*count-1]}, []float64{3, 3 * (count - 1)})
			check(t, g.Barrier(background))
			check(t, g.Close())
			is(t, data[1], 3.0) // the memory stays
			buffer.Free()
			buffer.Free()
		})
	}
}

func TestWhatIsFreedIsRefused(t *testing.T) {
	onBackend(t, "shm", 2, nil, func(t *testing.T, g *Group) {
		buffer := must(Alloc[byte](background, g, 100*g.Rank()))
		is(t, len(buffer.Slice()), 100*g.Rank())
		buffer.Free()
		var none *Buffer[byte]
		none.Free()
		for _, freed := range [][]byte{buffer.Slice(), none.Slice()} {
			failsWith(t, AllReduce(background, g, freed, Sum), ErrInvalidHandle)
			_, err := Isend(background, g, freed, 1-g.Rank(), 0)
			failsWith(t, err, ErrInvalidHandle)
			failsWith(t, SendBytes(background, g, freed, 1-g.Rank(), 0), ErrInvalidHandle)
			failsWith(t, AllGather(background, g, [][]byte{freed, freed}, nil), ErrInvalidHandle)
		}
		check(t, g.Barrier(background)) // the group goes on
	})
}

func TestAnOperationKeepsTheMemoryItUses(t *testing.T) {
	onBackend(t, "shm", 2, nil, func(t *testing.T, g *Group) {
		buffer := must(Alloc[int](background, g, 1000))
		data := buffer.Slice()
		if g.Rank() == 1 {
			data[500] = 7
			check(t, g.Barrier(background))
			check(t, Send(background, g, data[500:], 0, 0))
			buffer.Free()
			return
		}
		first := must(Irecv(background, g, data[:500], 1, 0))
		buffer.Free()
		is(t, len(buffer.Slice()), 0)
		is(t, data[0], 0) // it is there as long as the operation
		check(t, g.Barrier(background))
		check(t, first.Wait(background))
	})
}

func TestWhatCannotBeAllocatedIsAnError(t *testing.T) {
	onBackend(t, "shm", 2, nil, func(t *testing.T, g *Group) {
		for _, count := range []int{-1, math.MaxInt/8 + 1} {
			_, err := Alloc[float64](background, g, count)
			failsWith(t, err, ErrInvalidArgument)
		}
		_, err := Alloc[int](background, nil, 1)
		failsWith(t, err, ErrInvalidHandle)
		done, cancel := context.WithCancel(background)
		cancel()
		_, err = Alloc[int](done, g, 1)
		failsWith(t, err, context.Canceled)
		_, err = Alloc[int8](background, g, 1<<50)
		failsWith(t, err, ErrOutOfMemory)
		check(t, g.Barrier(background))
	})
}

func TestADeadlineEndsAnAllocation(t *testing.T) {
	onBackend(t, "shm", 2, nil, func(t *testing.T, g *Group) {
		if g.Rank() == 1 {
			if _, err := Recv(background, g, []int{0}, 0, 0); err == nil {
				t.Error("the group goes on")
			}
			return
		}
		ctx, cancel := context.WithTimeout(background, 20*time.Millisecond)
		defer cancel()
		_, err := Alloc[int](ctx, g, 1)
		failsWith(t, err, ErrTimeout)
		failsWith(t, err, context.DeadlineExceeded)
	})
}
