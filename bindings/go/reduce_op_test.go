package tutti

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestPremulSum(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		op := must(NewPremulSum(float64(g.Rank() + 1)))
		data := []float64{10}
		check(t, AllReduce(background, g, data, op))
		is(t, data[0], 30.0)
		check(t, op.Close())
		check(t, op.Close())
		failsWith(t, AllReduce(background, g, data, op), ErrInvalidHandle)
		failsWith(t, AllReduce(background, g, data, nil), ErrInvalidArgument)
		failsWith(t, AllReduce(background, g, data, (*CustomOp)(nil)), ErrInvalidHandle)
	})
}

// keepLast is an operator that does not commute.
func keepLast(in, inout []int) error { return nil }

func TestFunctionsOfTheCaller(t *testing.T) {
	onRanks(t, 3, func(t *testing.T, g *Group) {
		larger := must(NewReduceOp("larger", func(in, inout []int32) error {
			for i, value := range in {
				inout[i] = max(value, inout[i])
			}
			return nil
		}, nil))
		data := []int32{int32(g.Rank()), int32(-g.Rank())}
		check(t, AllReduce(background, g, data, larger))
		is(t, data, []int32{2, 0})

		last := must(NewReduceOp("last", keepLast, &ReduceOpOptions{NonCommutative: true}))
		number := []int{g.Rank()}
		work := must(AllReduceAsync(background, g, number, last))
		check(t, last.Close()) // the operation ends as if it were still there
		check(t, work.Wait(background))
		is(t, number[0], 2)
	})
}

func TestAFunctionThatFailsEndsTheOperation(t *testing.T) {
	no := errors.New("the function says no")
	var told atomic.Int32
	for _, function := range []func(in, inout []int) error{
		func(in, inout []int) error { return no },
		func(in, inout []int) error { panic(no) },
	} {
		for _, ctx := range []context.Context{background, far(t)} { // by itself, and as a work
			told.Store(0)
			onRanks(t, 2, func(t *testing.T, g *Group) {
				op := must(NewReduceOp("failing", function, nil))
				err := AllReduce(ctx, g, []int{1}, op)
				failsWith(t, err, ErrBackend)
				if errors.Is(err, no) && strings.Contains(err.Error(), no.Error()) {
					told.Add(1)
				}
			})
			if told.Load() == 0 {
				t.Error("no rank tells what the function has failed with")
			}
		}
	}
	_, err := NewReduceOp[int]("none", nil, nil)
	failsWith(t, err, ErrInvalidArgument)
	_, err = NewReduceOp("", keepLast, nil)
	failsWith(t, err, ErrInvalidArgument)
}

func TestAFunctionIsLetGoOf(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		op := must(NewReduceOp("last", keepLast, nil))
		check(t, AllReduce(background, g, []int{1}, op))
		check(t, op.Close())
	})
	forgotten := make(chan struct{})
	func() {
		held := new([1 << 10]int)
		runtime.SetFinalizer(held, func(*[1 << 10]int) { close(forgotten) })
		op := must(NewReduceOp("holding", func(in, inout []int) error {
			held[0]++
			return nil
		}, nil))
		check(t, op.Close())
		check(t, SetLogCallback(func(LogLevel, string) { held[0]++ }, LogTrace))
		check(t, SetLogCallback(nil, LogOff))
	}()
	for i := 0; i < 100000; i++ {
		runtime.GC()
		select {
		case <-forgotten:
			return
		default:
		}
	}
	t.Error("a function is kept for ever")
}

// far is a context whose deadline does not pass.
func far(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(background, time.Hour)
	t.Cleanup(cancel)
	return ctx
}

func TestAFunctionOfOtherElementsIsRefused(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		op := must(NewReduceOp("last", keepLast, nil))
		err := AllReduce(background, g, []float32{1}, op)
		failsWith(t, err, ErrInvalidArgument)
		if err != nil && !strings.Contains(err.Error(), "op is a function of int64") {
			t.Errorf("%q does not name op", err)
		}
		check(t, AllReduce(background, g, []int64{1}, op)) // the group goes on
	})
}

func TestFunctionsMayUseMuchStack(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		op := must(NewReduceOp("deep", func(in, inout []int) error {
			inout[0] += in[0] + deep(2000) - deep(2000)
			runtime.GC()
			return nil
		}, nil))
		data := []int{g.Rank() + 1}
		check(t, AllReduce(background, g, data, op))
		is(t, data[0], 3)
	})
}

// deep makes the goroutine's stack grow, and so move.
func deep(levels int) int {
	var room [128]int
	room[levels%128] = levels
	if levels == 0 {
		return 0
	}
	return deep(levels-1) + room[levels%128]
}

func TestTheLogGoesToAFunction(t *testing.T) {
	var mutex sync.Mutex
	var lines []string
	check(t, SetLogCallback(func(level LogLevel, message string) {
		mutex.Lock()
		defer mutex.Unlock()
		lines = append(lines, message)
	}, LogTrace))
	onBackend(t, "gloo", 2, nil, func(t *testing.T, g *Group) { check(t, g.Barrier(background)) })
	failsWith(t, SetLogCallback(func(LogLevel, string) {}, LogLevel(99)), ErrInvalidArgument)
	check(t, SetLogCallback(nil, LogOff)) // which waits for the lines that were said
	if len(strings.Join(lines, "")) == 0 {
		t.Error("nothing was said")
	}
}

func TestDebugLevels(t *testing.T) {
	before := GetDebugLevel()
	check(t, SetDebugLevel(DebugDetail))
	is(t, GetDebugLevel(), DebugDetail)
	onRanks(t, 2, func(t *testing.T, g *Group) {
		data := make([]int, g.Rank()+1)
		failsWith(t, AllReduce(background, g, data, Sum), ErrMismatch)
	})
	failsWith(t, SetDebugLevel(9), ErrInvalidArgument)
	t.Setenv("TORCH_DISTRIBUTED_DEBUG", "info")
	check(t, SetDebugLevelFromEnv())
	is(t, GetDebugLevel(), DebugInfo)
	check(t, SetDebugLevel(before))
}

func TestSettings(t *testing.T) {
	t.Setenv("TUTTI_PROGRESS", "70")
	t.Setenv("TUTTI_LOG_LEVLE", "info")
	settings := must(Settings())
	is(t, settings["TUTTI_PROGRESS"]["value"], "70")
	is(t, settings["TUTTI_PROGRESS"]["source"], "environment")
	is(t, settings["TUTTI_PROGRESS"]["default"], "50")
	is(t, settings["TUTTI_LOG_LEVLE"]["nearest"], "TUTTI_LOG_LEVEL")
}
