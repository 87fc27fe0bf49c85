package tutti

import (
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"
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

func TestMemoryThatIsNotOfGoWillDo(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		mapped := must(syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE,
			syscall.MAP_ANON|syscall.MAP_PRIVATE))
		mapped[7] = byte(g.Rank() + 1)
		check(t, AllReduce(background, g, mapped[5:10], Sum))
		is(t, mapped[5:10], []byte{0, 0, 3, 0, 0})
		work := must(AllReduceAsync(background, g, mapped, Max))
		check(t, work.Wait(background))
		check(t, syscall.Munmap(mapped))
	})
}

// TestWhatIsForgottenIsClosed sees it by a file, which is removed with the last of its stores.
func TestWhatIsForgottenIsClosed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	check(t, must(FileStore(background, path, 1, nil)).Set("key", []byte("value")))
	for i := 0; i < 100000; i++ {
		if _, err := os.Stat(path); os.IsNotExist(err) {
			return
		}
		runtime.GC()
	}
	t.Error("the store was not closed")
}
