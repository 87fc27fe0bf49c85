// Training that goes on when ranks die: those that are left make a smaller group, take the newest of
// their models, and repeat the step that was interrupted. At most one step is lost. Start it with
//
//	tuttirun --nproc-per-node 4 --on-failure=shrink go_survive FILE [RANK STEP]...
//
// Each RANK kills itself in that STEP: "go_survive FILE 2 100 0 150" ends with two ranks.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"tutti"
)

const (
	steps        = 400
	shown        = 50
	batchSize    = 64
	learningRate = 0.03
	momentum     = 0.9
	seed         = 1998
)

var background = context.Background()

type training struct {
	world               *tutti.Group
	model               []float64 // the weights and the velocity: all that a step changes
	network, velocity   network   // in the model
	step                int       // that comes next
	last                int       // in which this rank kills itself; -1: none
	images, testing     []digit
	reducer             *tutti.Reducer
}

func newTraining(world *tutti.Group, images []digit) (*training, error) {
	r := random(seed)
	r.shuffle(images)
	half := len(newNetwork()[0]) + len(newNetwork()[1])
	t := &training{world: world, model: make([]float64, 2*half), last: -1,
		images: images[:len(images)*4/5], testing: images[len(images)*4/5:]}
	t.network, t.velocity = networkIn(t.model[:half]), networkIn(t.model[half:])
	t.network.initialise(r)
	var err error
	t.reducer, err = tutti.NewReducer(background, world, []tutti.Parameter{
		tutti.Param("first layer", t.network[0]), tutti.Param("second layer", t.network[1]),
	}, &tutti.ReducerOptions{
		Sum:            true, // over the images of a batch, however many ranks share them
		FirstBucketCap: int64(8 * len(t.network[1])),
	})
	return t, err
}

// networkIn is a network in these numbers.
func networkIn(numbers []float64) network {
	first := len(newNetwork()[0])
	return network{numbers[:first], numbers[first:]}
}

// share is this rank's part of the batch, which depends on the step alone.
func (t *training) share() []*digit {
	r, rank, size := random(seed+t.step), t.world.Rank(), t.world.Size()
	var images []*digit
	for i := 0; i < batchSize; i++ {
		image := &t.images[r.next()%uint64(len(t.images))]
		if i%size == rank {
			images = append(images, image)
		}
	}
	return images
}

func (t *training) backward(images []*digit) error {
	return t.reducer.Backward(true, func() error {
		for layer := 1; layer >= 0; layer-- {
			gradient, err := tutti.Gradient[float64](t.reducer, layer)
			if err != nil {
				return err
			}
			for i := range gradient {
				gradient[i] = 0
			}
			for _, image := range images {
				_, of := t.network.forward(image)
				t.network.addGradient(layer, image, &of, gradient)
			}
			if err := t.reducer.MarkReady(layer); err != nil {
				return err
			}
			if t.step == t.last {
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
		}
		return nil
	})
}

// trainStep changes the model only if all went well.
func (t *training) trainStep() error {
	if err := t.backward(t.share()); err != nil {
		return err
	}
	for layer, weights := range t.network {
		sums, err := tutti.Gradient[float64](t.reducer, layer)
		if err != nil {
			return err
		}
		for i := range weights {
			speed := &t.velocity[layer][i]
			*speed = momentum**speed - learningRate*sums[i]/batchSize
			weights[i] += *speed
		}
	}
	t.step++
	return nil
}

// takeNewestModel gives all ranks the model of one that is ahead, as it had ended the step. It is
// copied when it is there: the rank that has it may die, too.
func (t *training) takeNewestModel() error {
	newest := []int64{int64(t.step<<16 | t.world.Rank())}
	if err := tutti.AllReduce(background, t.world, newest, tutti.Max); err != nil {
		return err
	}
	taken := append([]float64(nil), t.model...)
	if err := tutti.Broadcast(background, t.world, taken, int(newest[0]&0xffff)); err != nil {
		return err
	}
	copy(t.model, taken)
	t.step = int(newest[0] >> 16)
	return nil
}

// goOn is where all ranks come that are left.
func (t *training) goOn(why error) error {
	fmt.Fprintf(os.Stderr, "step %d: %v\n", t.step, why)
	if _, err := t.world.Shrink(background, nil, nil); err != nil {
		return fmt.Errorf("cannot go on: %v", err) // for instance, the others have, without this rank
	}
	if err := t.reducer.Shrink(background, t.world); err != nil {
		return err
	}
	return t.takeNewestModel()
}

func isDeath(err error) bool {
	return errors.Is(err, tutti.ErrPeerLost) || errors.Is(err, tutti.ErrAborted)
}

func (t *training) train() error {
	for t.step < steps {
		err := t.trainStep()
		if err == nil && t.step%shown == 0 && t.world.Rank() == 0 {
			t.show()
		}
		for isDeath(err) {
			err = t.goOn(err) // again, if another rank dies meanwhile
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *training) show() {
	loss, right := 0.0, 0
	for i := range t.testing {
		one, _ := t.network.forward(&t.testing[i])
		loss += one
		if t.network.classify(&t.testing[i]) == t.testing[i].label {
			right++
		}
	}
	count := float64(len(t.testing))
	fmt.Printf("step %3d, %d ranks: loss %.4f, test accuracy %.2f %%\n", t.step, t.world.Size(),
		loss/count, 100*float64(right)/count)
}

func run(arguments []string) error {
	if len(arguments) < 2 {
		return errors.New("which file?")
	}
	images, err := readDigits(arguments[1])
	if err != nil {
		return err
	}
	world, err := tutti.InitProcessGroup(background, nil)
	if err != nil {
		return err
	}
	defer world.Close()
	t, err := newTraining(world, images)
	if err != nil {
		return err
	}
	defer t.reducer.Close()
	for deaths := arguments[2:]; len(deaths) > 1; deaths = deaths[2:] {
		if deaths[0] != strconv.Itoa(world.Rank()) {
			continue
		}
		if t.last, err = strconv.Atoi(deaths[1]); err != nil {
			return err
		}
	}
	return t.train()
}

func main() {
	if err := run(os.Args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
