package tutti

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// model makes a reducer of two parameters and an empty one, of several buckets.
func model(g *Group) *Reducer {
	r := must(NewReducer(background, g, []Parameter{
		Param("weights", make([]float64, 3000)), Param("bias", make([]float64, 2)),
		Param("nothing", []float64{}),
	}, &ReducerOptions{BucketCap: 1000, FirstBucketCap: 8}))
	must(0, g.Barrier(background)) // a rank that fails now finds no other still making it
	return r
}

// mark begins a pass and marks all gradients of a model, of this rank's values. That of parameter 0
// is in own, unless that is nil.
func mark(r *Reducer, g *Group, own []float64) error {
	if err := r.Begin(true); err != nil {
		return err
	}
	for parameter := 2; parameter > 0; parameter-- {
		fill(must(Gradient[float64](r, parameter)), g.Rank(), parameter)
		if err := r.MarkReady(parameter); err != nil {
			return err
		}
	}
	if own == nil {
		fill(must(Gradient[float64](r, 0)), g.Rank(), 0)
		return r.MarkReady(0)
	}
	fill(own, g.Rank(), 0)
	return MarkReadyFrom(r, 0, own)
}

func TestAnOptimizerTakesBucketAfterBucket(t *testing.T) {
	for _, backend := range []string{"loopback", "shm"} {
		onBackend(t, backend, 2, nil, func(t *testing.T, g *Group) {
			r := model(g)
			_, err := r.NextBucket()
			failsWith(t, err, ErrInvalidArgument)
			own := make([]float64, 3000)
			for pass := 0; pass < 3; pass++ {
				check(t, mark(r, g, own))
				work := must(r.FinishAsync())
				is(t, work.OpType(), "reducer_finish")
				is(t, len(r.owns), 0)
				seen := make([]int, 3)
				count := 0
				for ; ; count++ {
					bucket := must(r.NextBucket())
					if bucket == nil {
						break
					}
					is(t, bucket.Index, count)
					is(t, bucket.IsLast, count == bucket.Count-1)
					is(t, bucket.DType, Float64DType)
					is(t, bucket.Stream, uintptr(0))
					gradients := must(Gradients[float64](bucket))
					for _, one := range bucket.Parameters {
						seen[one.Index] += one.End - one.Begin + 1
						for _, value := range gradients[one.Begin:one.End] {
							is(t, value, 1.5*float64(one.Index+1))
						}
					}
					_, err := Gradients[float32](bucket)
					failsWith(t, err, ErrInvalidArgument)
				}
				is(t, seen, []int{3001, 3, 1})
				is(t, count, must(r.Bucket(0)).Count)
				check(t, work.Wait(background))
				is(t, []float64{own[0], own[2999]}, []float64{1.5, 1.5})
				check(t, work.Close())
			}
			_, err = r.Bucket(99)
			failsWith(t, err, ErrInvalidArgument)
			check(t, r.Begin(false))
			is(t, must(r.NextBucket()) == nil, true)
			check(t, must(r.FinishAsync()).Wait(background))
			bucket := must(r.Bucket(0))
			check(t, r.Close())
			_, err = Gradients[float64](bucket)
			failsWith(t, err, ErrInvalidHandle)
			_, err = Gradients[float64](nil)
			failsWith(t, err, ErrInvalidHandle)
			_, err = r.NextBucket()
			failsWith(t, err, ErrInvalidHandle)
		})
	}
}

func TestAHookReducesBucketsUntilAnotherDoes(t *testing.T) {
	onRanks(t, 4, func(t *testing.T, g *Group) {
		r := model(g)
		defer r.Close()
		var group *Group
		var last *Bucket
		var indices, wanted []int
		check(t, r.SetHook(func(own *Group, bucket *Bucket) error {
			is(t, []int{own.Rank(), own.Size()}, []int{g.Rank(), 4})
			group, last, indices = own, bucket, append(indices, bucket.Index)
			gradients, err := Gradients[float64](bucket)
			if err != nil {
				return err
			}
			return AllReduce(background, own, gradients, Max)
		}))
		own := make([]float64, 3000)
		for pass := 0; pass < 2; pass++ {
			check(t, mark(r, g, own))
			check(t, r.Finish())
			is(t, []float64{own[0], own[2999]}, []float64{4, 4})
			is(t, must(Gradient[float64](r, 1)), []float64{8, 8})
			for index := 0; index < must(r.Bucket(0)).Count; index++ {
				wanted = append(wanted, index)
			}
			is(t, indices, wanted)
		}
		is(t, group.Rank(), -1) // what a hook was given ends with it
		failsWith(t, group.Barrier(background), ErrInvalidHandle)
		_, err := Gradients[float64](last)
		failsWith(t, err, ErrInvalidHandle)
		check(t, r.SetHook(nil))
		check(t, mark(r, g, own))
		failsWith(t, r.SetHook(func(*Group, *Bucket) error { return nil }), ErrInvalidArgument)
		check(t, r.Finish())
		is(t, own[0], 2.5)
		is(t, indices, wanted)
	})
	var none *Reducer
	failsWith(t, none.SetHook(func(*Group, *Bucket) error { return nil }), ErrInvalidHandle)
}

func TestABucketTellsWhereItsGradientsAre(t *testing.T) {
	onRanks(t, 1, func(t *testing.T, g *Group) {
		r := must(NewReducer(background, g, []Parameter{
			Param("weights", make([]float64, 3000)), Param("bias", make([]float64, 2)),
			Param("steps", make([]float32, 5)), Param("nothing", []float64{}),
		}, nil))
		defer r.Close()
		for index := 0; index < 2; index++ {
			bucket := must(r.Bucket(index))
			is(t, []int{bucket.Index, bucket.Count}, []int{index, 2})
			if bucket.DType == Float32DType {
				is(t, bucket.Parameters, []BucketParameter{{2, 0, 5}})
				is(t, len(must(Gradients[float32](bucket))), 5)
				continue
			}
			is(t, bucket.Parameters, []BucketParameter{{3, 0, 0}, {1, 0, 2}, {0, 2, 3002}})
			must(Gradient[float64](r, 0))[2999] = 7
			is(t, must(Gradients[float64](bucket))[3001], 7.0)
		}
	})
}

// A refusal is an error of a program's own.
type refusal struct{ day string }

func (r *refusal) Error() string { return "no bucket " + r.day }

func TestAHookThatFailsFailsTheReducerOnAllRanks(t *testing.T) {
	timedOut := &Error{Status: ErrTimeout, Rank: 0, Message: "no bucket in time"}
	for _, one := range []struct {
		hook func() error
		kind Status
		says string
	}{
		{func() error { return &refusal{"today"} }, ErrBackend, "bucket 0: no bucket today"},
		{func() error { panic(&refusal{"today"}) }, ErrBackend, "panic: no bucket today"},
		{func() error { panic("on purpose") }, ErrBackend, "panic: on purpose"},
		{func() error { return errors.Join(timedOut) }, ErrTimeout, "bucket 0: no bucket in time"},
	} {
		for _, async := range []bool{false, true} {
			onRanks(t, 2, func(t *testing.T, g *Group) {
				r := model(g)
				defer r.Close()
				ended := make(chan struct{})
				check(t, r.SetHook(func(own *Group, bucket *Bucket) error {
					if async {
						<-ended
					}
					if g.Rank() == 1 {
						return one.hook()
					}
					return own.Barrier(background)
				}))
				err := mark(r, g, nil)
				if async {
					work := must(r.FinishAsync())
					close(ended)
					err = work.Wait(background)
				} else if err == nil { // the pass may fail as well before it has ended
					err = r.Finish()
				}
				failsWith(t, err, one.kind)
				if err == nil || !strings.Contains(err.Error(), one.says) {
					t.Errorf("%v does not say %q", err, one.says)
				}
				later := r.Begin(true)
				failsWith(t, later, one.kind)
				var cause *refusal
				is(t, errors.As(err, &cause), g.Rank() == 1 && strings.HasSuffix(one.says, "today"))
				is(t, errors.As(later, &cause), errors.As(err, &cause))
				is(t, errors.Is(err, timedOut), g.Rank() == 1 && one.kind == ErrTimeout)
				if one.kind == ErrTimeout {
					is(t, err.(*Error).Rank, 0)
				} else {
					is(t, err.(*Error).Rank, 1)
				}
			})
		}
	}
}

// untilCollected collects garbage until something is done by a finalizer.
func untilCollected(done *atomic.Bool) bool {
	for i := 0; i < 10000 && !done.Load(); i++ {
		runtime.GC()
	}
	return done.Load()
}

// collectAll returns when the finalizers of what is garbage now have run.
func collectAll() {
	for i := 0; i < 2; i++ {
		var done atomic.Bool
		runtime.SetFinalizer(new([16]int), func(*[16]int) { done.Store(true) })
		untilCollected(&done)
	}
}

// setNotedHook gives a reducer a hook, and has the end of the hook noted.
func setNotedHook(r *Reducer, gone *atomic.Bool) error {
	held := new([16]int)
	runtime.SetFinalizer(held, func(*[16]int) { gone.Store(true) })
	return r.SetHook(func(*Group, *Bucket) error {
		held[0]++
		return nil
	})
}

func TestAHookIsLetGoOf(t *testing.T) {
	onRanks(t, 1, func(t *testing.T, g *Group) {
		for _, replace := range []func(*Reducer) error{
			func(r *Reducer) error { return r.SetHook(nil) },
			func(r *Reducer) error { return r.SetHook(func(*Group, *Bucket) error { return nil }) },
			func(r *Reducer) error { return r.SetCompression(AsFloat16) },
			func(r *Reducer) error { return r.SetPowerSGD([]int{60, 0, 0}, nil) },
			(*Reducer).Close,
			func(r *Reducer) error { return nil }, // nothing keeps the reducer
		} {
			var gone, refused atomic.Bool
			r := model(g)
			check(t, setNotedHook(r, &gone))
			check(t, mark(r, g, nil))
			failsWith(t, setNotedHook(r, &refused), ErrInvalidArgument)
			check(t, r.Finish())
			collectAll()
			is(t, []bool{gone.Load(), untilCollected(&refused)}, []bool{false, true})
			check(t, replace(r))
			r = nil
			if !untilCollected(&gone) {
				t.Error("the hook was not let go of")
			}
		}
	})
}

func TestGradientsOfTheProgramStayUntilTheWorkIsDone(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		r := model(g)
		gate := make(chan struct{})
		check(t, r.SetHook(func(*Group, *Bucket) error {
			<-gate
			return nil
		}))
		var gone atomic.Bool
		own := new([3000]float64)
		runtime.SetFinalizer(own, func(*[3000]float64) { gone.Store(true) })
		check(t, mark(r, g, own[:]))
		own = nil
		work := must(r.FinishAsync())
		r = nil
		collectAll()
		is(t, []bool{gone.Load(), work.IsCompleted()}, []bool{false, false})
		close(gate)
		check(t, work.Wait(background))
		if !untilCollected(&gone) {
			t.Error("the gradient was not let go of")
		}
		check(t, g.Barrier(background))
	})
}

func TestAPassThatFailsAtItsEnd(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		r := model(g)
		_, err := r.FinishAsync()
		failsWith(t, err, ErrInvalidArgument)
		check(t, r.Begin(true))
		check(t, MarkReadyFrom(r, 0, make([]float64, 3000)))
		_, err = r.FinishAsync()
		failsWith(t, err, ErrMismatch)
		is(t, len(r.owns), 1)
		check(t, r.Close())
		is(t, len(r.owns), 0)
		_, err = r.FinishAsync()
		failsWith(t, err, ErrInvalidHandle)
		r = nil
		_, err = r.FinishAsync()
		failsWith(t, err, ErrInvalidHandle)
	})
}

func TestAReducerThatIsClosedEndsItsPass(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		r := model(g)
		var begun sync.WaitGroup
		begun.Add(1)
		var first sync.Once
		check(t, r.SetHook(func(own *Group, bucket *Bucket) error {
			first.Do(begun.Done)
			_, err := Recv(background, own, make([]int, 1), 1-own.Rank(), 0)
			return err
		}))
		check(t, mark(r, g, make([]float64, 3000)))
		work := must(r.FinishAsync())
		begun.Wait()
		check(t, g.Barrier(background)) // a rank that closes ends the pass of the others
		check(t, r.Close())
		if err := work.Wait(background); err == nil {
			t.Error("a pass has ended well without its reducer")
		}
	})
}
