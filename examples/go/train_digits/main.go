// Data-parallel training: the ranks share the images of every batch, and a reducer adds up their
// gradients, those of the last layer while the first one's are computed. All ranks then take the
// same step, so their weights stay the same without being sent. Start it with
//
//	tuttirun --nproc-per-node 4 go_train_digits FILE
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"tutti"
)

const (
	epochs       = 20
	batchSize    = 64
	learningRate = 0.1
	momentum     = 0.9
	seed         = 1998
)

type training struct {
	world             *tutti.Group
	network, velocity network
	reducer           *tutti.Reducer
}

// share is this rank's part of some images.
func (t *training) share(digits []digit) []digit {
	rank, size := t.world.Rank(), t.world.Size()
	return digits[len(digits)*rank/size : len(digits)*(rank+1)/size]
}

func (t *training) sumOverRanks(value float64) (float64, error) {
	sum := []float64{value}
	err := tutti.AllReduce(context.Background(), t.world, sum, tutti.Sum)
	return sum[0], err
}

// newTraining makes all ranks begin with the weights of rank 0.
func newTraining(world *tutti.Group) (*training, error) {
	t := &training{world: world, network: newNetwork(), velocity: newNetwork()}
	if world.Rank() == 0 {
		t.network.initialise(seed)
	}
	var err error
	t.reducer, err = tutti.NewReducer(context.Background(), world, []tutti.Parameter{
		tutti.Param("first layer", t.network[0]), tutti.Param("second layer", t.network[1]),
	}, &tutti.ReducerOptions{
		Sum:            true, // the ranks' parts of a batch differ in size
		FirstBucketCap: int64(8 * len(t.network[1])),
	})
	return t, err
}

// backward computes the gradients of this rank's images, layer by layer.
func (t *training) backward(images []digit, of []activations) error {
	return t.reducer.Backward(true, func() error {
		for layer := 1; layer >= 0; layer-- {
			gradient, err := tutti.Gradient[float64](t.reducer, layer)
			if err != nil {
				return err
			}
			for i := range gradient {
				gradient[i] = 0
			}
			for i := range images {
				t.network.addGradient(layer, &images[i], &of[i], gradient)
			}
			if err := t.reducer.MarkReady(layer); err != nil {
				return err
			}
		}
		return nil
	})
}

// trainBatch takes one step; it returns the loss of this rank's images, summed.
func (t *training) trainBatch(batch []digit) (float64, error) {
	images, sum := t.share(batch), 0.0
	of := make([]activations, len(images))
	for i := range images {
		var loss float64
		loss, of[i] = t.network.forward(&images[i])
		sum += loss
	}
	if err := t.backward(images, of); err != nil {
		return 0, err
	}
	for layer, weights := range t.network {
		sums, err := tutti.Gradient[float64](t.reducer, layer)
		if err != nil {
			return 0, err
		}
		for i := range weights {
			speed := &t.velocity[layer][i]
			*speed = momentum**speed - learningRate*sums[i]/float64(len(batch))
			weights[i] += *speed
		}
	}
	return sum, nil
}

// trainEpoch goes over the images, in a new order; it returns the mean loss.
func (t *training) trainEpoch(images []digit, r *random) (float64, error) {
	r.shuffle(images)
	sum := 0.0
	for start := 0; start < len(images); start += batchSize {
		loss, err := t.trainBatch(images[start:min(start+batchSize, len(images))])
		if err != nil {
			return 0, err
		}
		sum += loss
	}
	sum, err := t.sumOverRanks(sum)
	return sum / float64(len(images)), err
}

func min(a, b int) int {
	if a < b {
		return a
	}
	return b
}

// accuracy is how many per cent of the images the network gets right.
func (t *training) accuracy(images []digit) (float64, error) {
	right, own := 0.0, t.share(images)
	for i := range own {
		if t.network.classify(&own[i]) == own[i].label {
			right++
		}
	}
	right, err := t.sumOverRanks(right)
	return 100 * right / float64(len(images)), err
}

func run(arguments []string) error {
	if len(arguments) != 2 {
		return errors.New("which file?")
	}
	images, err := readDigits(arguments[1])
	if err != nil {
		return err
	}
	r := random(seed)
	r.shuffle(images)
	forTraining, forTesting := images[:len(images)*4/5], images[len(images)*4/5:]

	world, err := tutti.InitProcessGroup(context.Background(), nil)
	if err != nil {
		return err
	}
	defer world.Close()
	t, err := newTraining(world)
	if err != nil {
		return err
	}
	defer t.reducer.Close()
	accuracy := 0.0
	for epoch := 1; epoch <= epochs; epoch++ {
		loss, err := t.trainEpoch(forTraining, &r)
		if err != nil {
			return err
		}
		if accuracy, err = t.accuracy(forTesting); err != nil {
			return err
		}
		if world.Rank() == 0 {
			fmt.Printf("epoch %2d: loss %.6f, test accuracy %.2f %%\n", epoch, loss, accuracy)
		}
	}
	if world.Rank() == 0 {
		fmt.Printf("test accuracy: %.2f %%\n", accuracy)
	}
	return nil
}

func main() {
	if err := run(os.Args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
