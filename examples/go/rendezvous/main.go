// Workers that know nothing of each other meet at a store: each draws a number, leaves its card,
// and reads everybody's. Nobody needs a group for that.
//
//	tuttirun --nproc-per-node 4 go_rendezvous
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"time"

	"tutti"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := meet(ctx); err != nil {
		log.Fatal(err)
	}
}

// number reads one of the variables that tuttirun sets.
func number(name string) int {
	value, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		log.Fatalf("%s: %v (start this with tuttirun)", name, err)
	}
	return value
}

func meet(ctx context.Context) error {
	size := number("WORLD_SIZE")
	// tuttirun serves the store; whoever gives -1 is not counted.
	server, err := tutti.TCPStore(ctx, os.Getenv("MASTER_ADDR"), number("MASTER_PORT"), -1, false, nil)
	if err != nil {
		return err
	}
	defer server.Close()
	store, err := tutti.PrefixStore(server, "rendezvous") // keys that are ours
	if err != nil {
		return err
	}
	defer store.Close()

	arrived, err := store.Add("arrived", 1)
	if err != nil {
		return err
	}
	card := fmt.Sprintf("worker %d", arrived)
	if err := store.Set(fmt.Sprint("card/", arrived), []byte(card)); err != nil {
		return err
	}
	keys := make([]string, size)
	for i := range keys {
		keys[i] = fmt.Sprint("card/", i+1)
	}
	cards, err := store.MultiGet(ctx, keys) // waits until all are there
	if err != nil {
		return err
	}
	names := make([]string, size)
	for i, one := range cards {
		names[i] = string(one)
	}
	fmt.Printf("%s met %d: %s\n", card, size, strings.Join(names, ", "))
	// The store is tuttirun's and outlives us, so nobody has to wait for the others to read.
	return nil
}
