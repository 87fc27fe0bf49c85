package main

import (
	"context"
	"fmt"
	"log"
	"sync"

	"tutti"
)

// Parameters are the weights of a model, wherever they are.
type Parameters interface {
	Pull(ctx context.Context) ([]float64, error)
	Push(ctx context.Context, gradient []float64) error
}

// Service holds the weights.
type Service struct {
	mutex   sync.Mutex
	weights []float64
	pushed  int
}

// NewService begins with weights of 0.
func NewService(count int) *Service { return &Service{weights: make([]float64, count)} }

// Pull copies the weights.
func (s *Service) Pull(context.Context) ([]float64, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]float64(nil), s.weights...), nil
}

// Push goes a step down a gradient.
func (s *Service) Push(_ context.Context, gradient []float64) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(gradient) != len(s.weights) {
		return fmt.Errorf("a gradient of %d for %d weights", len(gradient), len(s.weights))
	}
	for i, slope := range gradient {
		s.weights[i] -= rate * slope
	}
	s.pushed++
	return nil
}

// Pushed is how many gradients have come.
func (s *Service) Pushed() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.pushed
}

// Requests and answers have tags of their own. A request is a word, and what it needs.
const (
	requests = 1
	answers  = 2
)

// serve answers every other rank in a goroutine of its own, until it says goodbye.
func serve(ctx context.Context, group *tutti.Group, service *Service, serving *sync.WaitGroup) {
	for worker := 1; worker < group.Size(); worker++ {
		serving.Add(1)
		go func(worker int) {
			defer serving.Done()
			if err := answer(ctx, group, service, worker); err != nil {
				log.Fatalf("serving rank %d: %v", worker, err)
			}
		}(worker)
	}
}

func answer(ctx context.Context, group *tutti.Group, service *Service, worker int) error {
	request := make([]any, 2)
	for {
		if _, err := tutti.RecvObjectList(ctx, group, request, worker, requests, nil); err != nil {
			return err
		}
		switch request[0] {
		case "pull":
			weights, err := service.Pull(ctx)
			if err != nil {
				return err
			}
			if err := tutti.Send(ctx, group, weights, worker, answers); err != nil {
				return err
			}
		case "push":
			gradient, is := tutti.ArrayData[float64](request[1])
			if !is {
				return fmt.Errorf("a gradient that is a %T", request[1])
			}
			if err := service.Push(ctx, gradient); err != nil {
				return err
			}
		case "goodbye":
			return nil
		default:
			return fmt.Errorf("a request for %v", request[0])
		}
	}
}

// remote is the service as the other ranks see it.
type remote struct{ group *tutti.Group }

func (r *remote) Pull(ctx context.Context) ([]float64, error) {
	if err := request(ctx, r.group, "pull", nil); err != nil {
		return nil, err
	}
	weights := make([]float64, weightCount)
	_, err := tutti.Recv(ctx, r.group, weights, 0, answers)
	return weights, err
}

func (r *remote) Push(ctx context.Context, gradient []float64) error {
	return request(ctx, r.group, "push", gradient)
}

func goodbye(ctx context.Context, group *tutti.Group) error {
	return request(ctx, group, "goodbye", nil)
}

func request(ctx context.Context, group *tutti.Group, word string, with any) error {
	return tutti.SendObjectList(ctx, group, []any{word, with}, 0, requests, nil)
}
