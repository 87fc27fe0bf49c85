// Every rank gives one number, every rank gets the sum. Start it with
//
//	tuttirun --nproc-per-node 4 all_reduce
package main

import (
	"context"
	"fmt"
	"log"

	"tutti"
)

func main() {
	ctx := context.Background()
	group, err := tutti.InitProcessGroup(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer group.Close()

	sum := []float64{float64(group.Rank() + 1)}
	if err := tutti.AllReduce(ctx, group, sum, tutti.Sum); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("rank %d of %d: sum = %g\n", group.Rank(), group.Size(), sum[0])
}
