package tutti

import (
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
