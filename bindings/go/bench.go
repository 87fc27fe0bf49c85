//go:build ignore

// The price of calls in Go: one raw call, and all_reduces of 8 bytes and 1 MiB.
//
//	tuttirun --nproc-per-node 2 go_bench
//
// prints go,nanoseconds of get_rank,microseconds of 8 bytes,microseconds of 1 MiB.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"tutti"
	"tutti/internal/raw"
)

var ctx = context.Background()

func main() {
	group, err := tutti.InitProcessGroup(ctx, nil)
	if err != nil {
		fail(err)
	}
	small := allReduce(group, 1, 20000)
	large := allReduce(group, 1<<17, 500)
	if group.Rank() == 0 {
		fmt.Printf("go,%.1f,%.2f,%.2f\n", getRank(), small, large)
	}
	if err := group.Close(); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// getRank is the nanoseconds of one raw call.
func getRank() float64 {
	const calls = 5000000
	begin := time.Now()
	for i := 0; i < calls; i++ {
		raw.Tutti_get_rank(raw.TUTTI_GROUP_WORLD)
	}
	return float64(time.Since(begin).Nanoseconds()) / calls
}

// allReduce is the microseconds of one all_reduce of so many float64.
func allReduce(g *tutti.Group, count, calls int) float64 {
	data := make([]float64, count)
	run := func(times int) {
		for i := 0; i < times; i++ {
			if err := tutti.AllReduce(ctx, g, data, tutti.Sum); err != nil {
				fail(err)
			}
		}
	}
	run(calls / 10)
	if err := g.Barrier(ctx); err != nil {
		fail(err)
	}
	begin := time.Now()
	run(calls)
	return float64(time.Since(begin).Microseconds()) / float64(calls)
}
