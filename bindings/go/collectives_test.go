package tutti

import (
	"testing"
)

// testAllReduce sums ranks' numbers in a type of elements.
func testAllReduce[T int8 | int16 | int32 | int64 | int | uint8 | uint16 | uint32 | uint64 | uint |
	float32 | float64 | complex64 | complex128](t *testing.T, number func(int) T) {
	onRanks(t, 3, func(t *testing.T, g *Group) {
		data := []T{number(g.Rank()), number(2)}
		check(t, AllReduce(background, g, data, Sum))
		is(t, data, []T{number(3), number(6)})
	})
}

func TestAllReduceTakesEveryElementType(t *testing.T) {
	testAllReduce(t, func(n int) int8 { return int8(n) })
	testAllReduce(t, func(n int) int16 { return int16(n) })
	testAllReduce(t, func(n int) int32 { return int32(n) })
	testAllReduce(t, func(n int) int64 { return int64(n) })
	testAllReduce(t, func(n int) int { return n })
	testAllReduce(t, func(n int) uint8 { return uint8(n) })
	testAllReduce(t, func(n int) uint16 { return uint16(n) })
	testAllReduce(t, func(n int) uint32 { return uint32(n) })
	testAllReduce(t, func(n int) uint64 { return uint64(n) })
	testAllReduce(t, func(n int) uint { return uint(n) })
	testAllReduce(t, func(n int) float32 { return float32(n) })
	testAllReduce(t, func(n int) float64 { return float64(n) })
	testAllReduce(t, func(n int) complex64 { return complex(float32(n), 0) })
	testAllReduce(t, func(n int) complex128 { return complex(float64(n), 0) })
}

type celsius float64

func TestAllReduceOfSmallFloatsBoolsAndNamedTypes(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		half := []Float16{ToFloat16(1.5), ToFloat16(float32(g.Rank()))}
		check(t, AllReduce(background, g, half, Sum))
		is(t, []float32{half[0].Float32(), half[1].Float32()}, []float32{3, 1})
		brain := []BFloat16{ToBFloat16(1.5)}
		check(t, AllReduce(background, g, brain, Sum))
		is(t, brain[0].Float32(), float32(3))
		truth := []bool{g.Rank() == 1, false}
		check(t, AllReduce(background, g, truth, BOr))
		is(t, truth, []bool{true, false})
		degrees := []celsius{celsius(g.Rank())}
		check(t, AllReduce(background, g, degrees, Max))
		is(t, degrees, []celsius{1})
	})
}

func TestEveryOperator(t *testing.T) {
	onRanks(t, 3, func(t *testing.T, g *Group) {
		for _, one := range []struct {
			op     Operator
			result int
		}{{Sum, 9}, {Product, 24}, {Min, 2}, {Max, 4}, {BAnd, 0}, {BOr, 7}, {BXor, 5}} {
			data := []int{g.Rank() + 2}
			check(t, AllReduce(background, g, data, one.op))
			is(t, data[0], one.result)
		}
		mean := []float64{float64(g.Rank())}
		check(t, AllReduce(background, g, mean, Avg))
		is(t, mean[0], 1.0)
	})
}

func TestBroadcastReduceAndTheirKin(t *testing.T) {
	onRanks(t, 3, func(t *testing.T, g *Group) {
		r := g.Rank()
		buffer := []int32{int32(r), int32(10 * r)}
		check(t, Broadcast(background, g, buffer, 2))
		is(t, buffer, []int32{2, 20})

		input, output := []float64{float64(r)}, []float64{-1}
		check(t, AllReduceInto(background, g, output, input, Sum))
		is(t, []float64{output[0], input[0]}, []float64{3, float64(r)})

		sum := []int{r + 1}
		check(t, Reduce(background, g, sum, Sum, 1))
		is(t, sum[0], map[bool]int{true: 6, false: r + 1}[r == 1])

		var into []int
		if r == 0 {
			into = []int{0}
		}
		check(t, ReduceInto(background, g, into, []int{r + 1}, Sum, 0))
		if r == 0 {
			is(t, into, []int{6})
		}
	})
}

func TestGathersAndScatters(t *testing.T) {
	onRanks(t, 3, func(t *testing.T, g *Group) {
		r := g.Rank()
		outputs := [][]int{make([]int, 1), make([]int, 2), make([]int, 3)}
		input := make([]int, r+1)
		for i := range input {
			input[i] = 10*r + i
		}
		check(t, AllGather(background, g, outputs, input))
		is(t, outputs, [][]int{{0}, {10, 11}, {20, 21, 22}})

		flat := make([]int, 3)
		check(t, AllGatherIntoTensor(background, g, flat, []int{r}))
		is(t, flat, []int{0, 1, 2})
		flat = make([]int, 3)
		flat[r] = r
		check(t, AllGatherIntoTensor(background, g, flat, nil))
		is(t, flat, []int{0, 1, 2})

		var gathered [][]int
		if r == 1 {
			gathered = [][]int{{0}, {0}, {0}}
		}
		check(t, Gather(background, g, gathered, []int{r * r}, 1))
		if r == 1 {
			is(t, gathered, [][]int{{0}, {1}, {4}})
		}

		var scattered [][]int
		if r == 2 {
			scattered = [][]int{{5}, {6}, {7}}
		}
		piece := []int{0}
		check(t, Scatter(background, g, piece, scattered, 2))
		is(t, piece, []int{5 + r})
	})
}

func TestReduceScatterAndAllToAll(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		r := g.Rank()
		output := make([]int, r+1)
		check(t, ReduceScatter(background, g, output, [][]int{{1}, {r, 3}}, Sum))
		is(t, output, [][]int{{2}, {1, 6}}[r])

		part := []float32{0}
		check(t, ReduceScatterTensor(background, g, part, []float32{1, float32(r)}, Sum))
		is(t, part, []float32{[]float32{2, 1}[r]})

		received := [][]int{make([]int, r+1), make([]int, r+1)}
		check(t, AllToAll(background, g, received, [][]int{{r}, {r, r}}))
		is(t, received, [][][]int{{{0}, {1}}, {{0, 0}, {1, 1}}}[r])

		single := make([]int, 2)
		check(t, AllToAllSingle(background, g, single, []int{10 * r, 10*r + 1}, nil, nil))
		is(t, single, []int{r, 10 + r})

		uneven := make([]int, []int{2, 4}[r])
		check(t, AllToAllSingle(background, g, uneven, []int{r, r, r}, []int{r + 1, r + 1},
			[]int{1, 2}))
		is(t, uneven, [][]int{{0, 1}, {0, 0, 1, 1}}[r])
	})
}

func TestAllReduceAddendsGivesTheExactSum(t *testing.T) {
	options := &GroupOptions{Reproducible: true}
	onBackend(t, "loopback", 2, options, func(t *testing.T, g *Group) {
		is(t, g.IsReproducible(), true)
		addends := [][]float64{{1e100}, {1}, {-1e100}}
		if g.Rank() == 1 {
			addends = nil
		}
		sum := []float64{0}
		check(t, AllReduceAddends(background, g, sum, addends, Sum))
		is(t, sum[0], 1.0)
	})
}

func TestEmptySlicesAndBarriers(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		check(t, AllReduce(background, g, []float64{}, Sum))
		check(t, AllReduce(background, g, []float64(nil), Sum))
		check(t, g.Barrier(background))
		check(t, g.MonitoredBarrier(background, true))
		failsWith(t, g.Breakpoint(background, 2), ErrInvalidArgument)
	})
}
