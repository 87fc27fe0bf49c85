package tutti

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func TestPremulSum(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		op := must(NewPremulSum(float64(g.Rank() + 1)))
		data := []float64{10}
		check(t, AllReduce(background, g, data, op))
		is(t, data[0], 30.0)
		check(t, op.Close())
		check(t, op.Close())
		failsWith(t, AllReduce(background, g, data, op), ErrInvalidArgument)
		failsWith(t, AllReduce(background, g, data, nil), ErrInvalidArgument)
		failsWith(t, AllReduce(background, g, data, (*CustomOp)(nil)), ErrInvalidArgument)
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
	for _, function := range []func(in, inout []int) error{
		func(in, inout []int) error { return errors.New("no") },
		func(in, inout []int) error { panic("no") },
	} {
		onRanks(t, 2, func(t *testing.T, g *Group) {
			op := must(NewReduceOp("failing", function, nil))
			err := AllReduce(background, g, []int{1}, op)
			if err == nil {
				t.Error("it did not fail")
			}
		})
	}
	_, err := NewReduceOp[int]("none", nil, nil)
	failsWith(t, err, ErrInvalidArgument)
	_, err = NewReduceOp("", keepLast, nil)
	failsWith(t, err, ErrInvalidArgument)
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
