package tutti

import (
	"runtime"
	"sync/atomic"
	"testing"
)

// TestAStormOfTheGarbageCollector runs many asynchronous operations whose works and buffers are
// dropped at once, or kept, while the garbage collector runs all the time and others fill the
// memory that it frees.
func TestAStormOfTheGarbageCollector(t *testing.T) {
	operations := 100000
	if testing.Short() {
		operations = 5000
	}
	var stop atomic.Bool
	collected := make(chan int)
	go func() {
		rounds := 0
		for !stop.Load() {
			runtime.GC()
			rounds++
		}
		collected <- rounds
	}()
	onRanks(t, 2, func(t *testing.T, g *Group) {
		var litter [][]byte
		for i := 0; i < operations/2; i++ {
			dropped := []int64{int64(i)}
			if _, err := AllReduceAsync(background, g, dropped, Sum); err != nil {
				t.Error(err)
				return
			}
			dropped = nil
			if i%16 == 0 {
				litter = append(litter[:0:0], make([]byte, 8), make([]byte, 8))
				litter[0][0] = 0xff
				kept := []int64{int64(i), int64(g.Rank())}
				work := must(AllReduceAsync(background, g, kept, Sum))
				check(t, work.Wait(background))
				is(t, kept, []int64{int64(2 * i), 1})
			}
		}
		check(t, g.Barrier(background))
	})
	stop.Store(true)
	t.Logf("%d operations, %d collections", operations, <-collected)
}
