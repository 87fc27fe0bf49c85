package tutti

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

var background = context.Background()

// onRanks runs a function as each of several ranks, which are goroutines, in a group of their own.
func onRanks(t *testing.T, size int, function func(t *testing.T, g *Group)) {
	t.Helper()
	onBackend(t, "loopback", size, &GroupOptions{Timeout: 10 * time.Minute}, function)
}

func onBackend(t *testing.T, backend string, size int, options *GroupOptions,
	function func(t *testing.T, g *Group)) {
	t.Helper()
	store := must(HashStore())
	defer store.Close()
	var done sync.WaitGroup
	for rank := 0; rank < size; rank++ {
		done.Add(1)
		go func(rank int) {
			defer done.Done()
			g, err := CreateGroup(background, backend, store, rank, size, options)
			if err != nil {
				t.Errorf("rank %d: %v", rank, err)
				return
			}
			defer g.Close()
			function(t, g)
		}(rank)
	}
	done.Wait()
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// check ends the goroutine's test at an error.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// is fails unless what was got is what was wanted.
func is(t *testing.T, got, wanted any) {
	t.Helper()
	if g, w := fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", wanted); g != w {
		t.Errorf("got %s, not %s", g, w)
	}
}

// failsWith fails unless the error is of this kind.
func failsWith(t *testing.T, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("got %v, not an error of the kind %v", err, kind)
	}
}
