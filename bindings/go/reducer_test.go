package tutti

import (
	"context"
	"math"
	"strings"
	"sync"
	"testing"
)

// fill gives every element of this rank's gradient a value that tells rank and parameter.
func fill(gradient []float64, rank, parameter int) {
	for i := range gradient {
		gradient[i] = float64((rank + 1) * (parameter + 1))
	}
}

func TestGradientsBecomeMeans(t *testing.T) {
	for _, backend := range []string{"loopback", "shm"} {
		onBackend(t, backend, 4, nil, func(t *testing.T, g *Group) {
			weights, bias := make([]float64, 3000), []float64{float64(g.Rank())}
			r := must(NewReducer(background, g, []Parameter{
				Param("weights", weights), Param("bias", bias), Param("nothing", []float64{}),
			}, &ReducerOptions{BucketCap: 1000, FirstBucketCap: 8}))
			defer r.Close()
			is(t, bias[0], 0.0) // of rank 0
			own := make([]float64, len(weights))
			for pass := 0; pass < 4; pass++ {
				check(t, r.BeginForward())
				check(t, r.Backward(true, func() error {
					var marks sync.WaitGroup
					marks.Add(1)
					go func() {
						defer marks.Done()
						fill(own, g.Rank(), 0)
						check(t, MarkReadyFrom(r, 0, own))
					}()
					place := must(Gradient[float64](r, 1))
					fill(place, g.Rank(), 1)
					check(t, r.MarkReady(1))
					check(t, r.MarkReady(2))
					marks.Wait()
					return nil
				}))
				is(t, []float64{own[0], own[2999], must(Gradient[float64](r, 1))[0]},
					[]float64{2.5, 2.5, 5})
				is(t, r.IsUsed(0), true)
			}
			data := must(r.LoggingData()).(map[string]any)
			is(t, data["iteration"], int64(4))
		})
	}
}

func TestAParameterWithoutGradientIsNamed(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		r := must(NewReducer(background, g, []Parameter{Param("fc", make([]float32, 10))}, nil))
		defer r.Close()
		failsWith(t, r.MarkReady(0), ErrInvalidArgument)
		_, err := Gradient[float64](r, 0)
		failsWith(t, err, ErrInvalidArgument)
		check(t, r.SetCompression(AsBFloat16))
		running := []float32{float32(g.Rank())}
		check(t, r.SyncBuffers(1, Param("running", running)))
		is(t, running[0], float32(1))
		check(t, r.Begin(false))
		check(t, r.Finish())
		check(t, r.Begin(true))
		failsWith(t, r.MarkUnused(0), ErrInvalidArgument)
		failsWith(t, r.Finish(), ErrMismatch)
		check(t, r.Close())
		failsWith(t, r.Begin(true), ErrInvalidHandle)
		is(t, r.Generation(), -1)
	})
}

func TestMatricesTravelAsFactors(t *testing.T) {
	const rows, columns, start = 40, 30, 1
	for _, size := range []int{2, 4} {
		onRanks(t, size, func(t *testing.T, g *Group) {
			r := must(NewReducer(background, g, []Parameter{
				Param("matrix", make([]float32, rows*columns)), Param("vector", make([]float32, 7)),
			}, nil))
			defer r.Close()
			check(t, r.SetPowerSGD([]int{rows, 0}, &PowerSGDOptions{StartIteration: start}))
			mean := float64(size+1) / 2
			for pass := 0; pass < 3; pass++ {
				outer := func(at int) float64 { // the same matrix of rank one, times a factor
					row, column := float64(at/columns), float64(at%columns)
					return math.Cos(row+float64(pass)) * (1 + math.Sin(column*float64(pass+1))/2)
				}
				check(t, r.Backward(true, func() error {
					for parameter := 1; parameter >= 0; parameter-- {
						gradient := must(Gradient[float32](r, parameter))
						for i := range gradient {
							gradient[i] = float32(float64(g.Rank()+1) * outer(i))
						}
						check(t, r.MarkReady(parameter))
					}
					return nil
				}))
				for parameter := 0; parameter < 2; parameter++ {
					for i, got := range must(Gradient[float32](r, parameter)) {
						if off := math.Abs(float64(got) - mean*outer(i)); !(off < 1e-5) {
							t.Errorf("pass %d, parameter %d: off by %g", pass, parameter, off)
							return
						}
					}
				}
			}
			is(t, logged(r, "gradient_bytes"), int64(3*4*(rows*columns+7)))
			is(t, logged(r, "communicated_bytes"),
				int64(4*(start*rows*columns+3*7+(3-start)*(rows+columns))))
		})
	}
}

func logged(r *Reducer, key string) any { return must(r.LoggingData()).(map[string]any)[key] }

func TestWrongFactorsAreRefusedAndTheReducerGoesOn(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		r := must(NewReducer(background, g, []Parameter{
			Param("matrix", make([]float64, 600)), Param("vector", make([]float64, 7)),
		}, nil))
		defer r.Close()
		rows := []int{20, 0}
		for _, one := range []struct {
			rows    []int
			options *PowerSGDOptions
			says    string
		}{
			{[]int{20}, nil, "len(rows) is 1; rows has a number for each of the reducer's 2 parameters"},
			{nil, nil, "len(rows) is 0"},
			{[]int{-20, 0}, nil, "rows[0] is -20"},
			{[]int{19, 0}, nil, "rows[0] is 19"},
			{rows, &PowerSGDOptions{MatrixApproximationRank: -1},
				"options.MatrixApproximationRank is -1"},
			{rows, &PowerSGDOptions{StartIteration: -2}, "options.StartIteration is -2"},
			{rows, &PowerSGDOptions{MinCompressionRate: -1}, "options.MinCompressionRate is -1"},
			{rows, &PowerSGDOptions{OrthogonalizationEpsilon: math.Inf(1)},
				"options.OrthogonalizationEpsilon is inf"},
		} {
			err := r.SetPowerSGD(one.rows, one.options)
			failsWith(t, err, ErrInvalidArgument)
			if err == nil || !strings.Contains(err.Error(), one.says) {
				t.Errorf("%v does not say %q", err, one.says)
			}
		}
		for _, one := range []struct {
			name  string
			other PowerSGDOptions
		}{
			{"no_error_feedback", PowerSGDOptions{NoErrorFeedback: true}},
			{"no_warm_start", PowerSGDOptions{NoWarmStart: true}},
			{"matrix_approximation_rank", PowerSGDOptions{MatrixApproximationRank: 2}},
			{"start_iteration", PowerSGDOptions{StartIteration: 5}},
			{"min_compression_rate", PowerSGDOptions{MinCompressionRate: 3}},
			{"orthogonalization_epsilon", PowerSGDOptions{OrthogonalizationEpsilon: 0.5}},
			{"random_seed", PowerSGDOptions{RandomSeed: 4}},
		} {
			options := &PowerSGDOptions{}
			if g.Rank() == 1 {
				options = &one.other
			}
			err := r.SetPowerSGD(rows, options)
			failsWith(t, err, ErrMismatch)
			if err == nil || !strings.Contains(err.Error(), one.name) {
				t.Errorf("%v does not say %s", err, one.name)
			}
		}
		if g.Rank() == 1 {
			failsWith(t, r.SetPowerSGD(rows[:1], nil), ErrInvalidArgument)
		} else {
			failsWith(t, r.SetPowerSGD(rows, nil), ErrMismatch)
		}
		check(t, r.SetPowerSGD(rows, nil))
		check(t, r.Begin(true))
		failsWith(t, r.SetPowerSGD(rows, nil), ErrInvalidArgument)
		for parameter := 0; parameter < 2; parameter++ {
			fill(must(Gradient[float64](r, parameter)), g.Rank(), parameter)
			check(t, r.MarkReady(parameter))
		}
		check(t, r.Finish())
		is(t, must(Gradient[float64](r, 0))[599], 1.5)
	})
}

func TestAReducerGoesOnInASmallerGroup(t *testing.T) {
	onRanks(t, 3, func(t *testing.T, g *Group) {
		r := must(NewReducer(background, g, []Parameter{
			Param("weights", make([]float64, 300)), Param("bias", make([]float64, 1)),
		}, &ReducerOptions{BucketCap: 8}))
		defer r.Close()
		own := make([]float64, 300)
		pass := func(rank int) error {
			return r.Backward(true, func() error {
				fill(must(Gradient[float64](r, 1)), rank, 1)
				check(t, r.MarkReady(1))
				fill(own, rank, 0)
				return MarkReadyFrom(r, 0, own)
			})
		}
		check(t, pass(g.Rank()))
		is(t, own[299], 2.0)
		check(t, g.Barrier(background))
		if g.Rank() == 1 {
			failsWith(t, g.Barrier(background), ErrAborted)
			return
		}
		pair := must(g.Shrink(background, []int{1}, nil))
		defer pair.Close()
		check(t, r.Begin(true)) // a pass that is cut
		check(t, MarkReadyFrom(r, 0, own))
		check(t, r.Shrink(background, pair))
		is(t, must(Gradient[float64](r, 1))[0], 0.0)
		check(t, pass(pair.Rank()))
		is(t, []float64{own[299], must(Gradient[float64](r, 1))[0]}, []float64{1.5, 3})
		done, cancel := context.WithCancel(background)
		cancel()
		failsWith(t, r.Shrink(done, pair), context.Canceled)
	})
}
