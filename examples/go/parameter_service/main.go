// A small parameter service: rank 0 holds the weights of a model, and every rank trains on its
// share of the data, at its own pace: it pulls the weights, works out a gradient, and pushes it. The
// model tells handwritten digits apart (softmax regression, examples/data/digits.csv).
//
//	tuttirun --nproc-per-node 4 go_parameter_service digits.csv
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"sync"
	"time"

	"tutti"
)

const (
	epochs    = 40
	batchSize = 32
	rate      = 0.05
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: go_parameter_service digits.csv")
	}
	// The service waits for requests for as long as there are workers; the deadline is for all.
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if err := run(ctx, os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, path string) error {
	digits, err := readDigits(path)
	if err != nil {
		return err
	}
	training, test := digits[:len(digits)*4/5], digits[len(digits)*4/5:]
	group, err := tutti.InitProcessGroup(ctx, nil)
	if err != nil {
		return err
	}
	defer group.Close()

	var parameters Parameters = &remote{group}
	var service *Service
	var serving sync.WaitGroup
	if group.Rank() == 0 {
		service = NewService(weightCount)
		parameters = service
		serve(ctx, group, service, &serving)
	}
	steps, err := train(ctx, parameters, share(training, group.Rank(), group.Size()))
	if err != nil {
		return err
	}
	if group.Rank() != 0 {
		if err := goodbye(ctx, group); err != nil {
			return err
		}
	}
	serving.Wait() // until all workers have said goodbye
	return report(ctx, group, service, steps, test)
}

// train goes over a share of the digits again and again, and counts the steps.
func train(ctx context.Context, parameters Parameters, mine []digit) (int, error) {
	steps := 0
	for epoch := 0; epoch < epochs; epoch++ {
		for from := 0; from < len(mine); from += batchSize {
			weights, err := parameters.Pull(ctx)
			if err != nil {
				return steps, err
			}
			batch := mine[from:min(from+batchSize, len(mine))]
			if err := parameters.Push(ctx, gradient(weights, batch)); err != nil {
				return steps, err
			}
			steps++
		}
	}
	return steps, nil
}

// share is every size-th of the digits.
func share(digits []digit, rank, size int) []digit {
	var mine []digit
	for i := rank; i < len(digits); i += size {
		mine = append(mine, digits[i])
	}
	return mine
}

// report compares what the service counted with what the ranks did, and tests the model.
func report(ctx context.Context, group *tutti.Group, service *Service, steps int,
	test []digit) error {
	total := []int{steps}
	if err := tutti.AllReduce(ctx, group, total, tutti.Sum); err != nil {
		return err
	}
	if service == nil {
		return nil
	}
	weights, err := service.Pull(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("%d of %d gradients arrived\n", service.Pushed(), total[0])
	fmt.Printf("test accuracy %.3f\n", accuracy(weights, test))
	return nil
}
