//go:build ignore

// A rank of a world of several languages: the same exchange in each, checked by every rank.
//
//	tuttirun --nproc-per-node 2 go_world
package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"reflect"
	"strconv"

	"tutti"
)

var ctx = context.Background()

func main() {
	group, err := meet(os.Getenv("WORLD_PREFIX"))
	if err != nil {
		fail(err)
	}
	for _, part := range []func(*tutti.Group) error{
		allReduce, gatherObjects, broadcastObjects, maximum, ring, reconfigure, allReduce,
		func(g *tutti.Group) error { return g.Barrier(ctx) },
	} {
		if err := part(group); err != nil {
			fail(err)
		}
	}
	fmt.Printf("go rank %d of %d: ok\n", group.Rank(), group.Size())
	if err := group.Close(); err != nil {
		fail(err)
	}
}

// meet does what the launcher says; or, with a prefix, it meets there at the store, where ranks of
// PyTorch's do.
func meet(prefix string) (*tutti.Group, error) {
	if prefix == "" {
		return tutti.InitProcessGroup(ctx, nil)
	}
	rank, size := number("RANK"), number("WORLD_SIZE")
	whole, err := tutti.TCPStore(ctx, os.Getenv("MASTER_ADDR"), number("MASTER_PORT"), size, false, nil)
	if err != nil {
		return nil, err
	}
	defer whole.Close()
	store, err := tutti.PrefixStore(whole, prefix)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	return tutti.InitProcessGroup(ctx, &tutti.InitOptions{Store: store, Rank: rank, WorldSize: size})
}

func number(name string) int {
	value, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		fail(err)
	}
	return value
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "go rank:", err)
	os.Exit(1)
}

// same is an error unless two values are equal.
func same(what string, got, wanted any) error {
	if !reflect.DeepEqual(got, wanted) {
		return fmt.Errorf("%s: got %v, not %v", what, got, wanted)
	}
	return nil
}

func allReduce(g *tutti.Group) error {
	data, wanted := make([]float64, 1000), make([]float64, 1000)
	for i := range data {
		data[i] = float64((i + 1) * (g.Rank() + 1))
		wanted[i] = float64((i + 1) * g.Size() * (g.Size() + 1) / 2)
	}
	if err := tutti.AllReduce(ctx, g, data, tutti.Sum); err != nil {
		return err
	}
	return same("all_reduce", data, wanted)
}

// card is what the member of a rank tells of itself.
func card(language string, rank int) map[string]any {
	array := make([]int32, 6)
	for i := range array {
		array[i] = int32(i + rank)
	}
	return map[string]any{
		"language": language,
		"rank":     int64(rank),
		"values":   []any{int64(1), 2.5, true, nil, "text ü"},
		"bytes":    []byte{0x00, 0x01, 0xff},
		"array":    tutti.NewArray(array, 2, 3),
	}
}

func gatherObjects(g *tutti.Group) error {
	cards := make([]any, g.Size())
	if err := tutti.AllGatherObject(ctx, g, cards, card("go", g.Rank()), nil); err != nil {
		return err
	}
	for rank, got := range cards {
		told, _ := got.(map[string]any)
		language, is := told["language"].(string)
		if !is || language == "" {
			return fmt.Errorf("rank %d names no language: %v", rank, got)
		}
		if err := same(fmt.Sprint("the card of rank ", rank), told, card(language, rank)); err != nil {
			return err
		}
	}
	return nil
}

func broadcastObjects(g *tutti.Group) error {
	wanted := []any{"hello", map[any]any{int64(1): int64(-1), int64(2): uint64(math.MaxUint64)}, nil}
	list := make([]any, 3)
	if g.Rank() == 0 {
		copy(list, wanted)
	}
	if err := tutti.BroadcastObjectList(ctx, g, list, 0, nil); err != nil {
		return err
	}
	return same("broadcast_object_list", list, wanted)
}

func maximum(g *tutti.Group) error {
	data := []int64{int64(g.Rank())}
	work, err := tutti.AllReduceAsync(ctx, g, data, tutti.Max)
	if err != nil {
		return err
	}
	defer work.Close()
	if err := work.Wait(ctx); err != nil {
		return err
	}
	return same("all_reduce of MAX", data, []int64{int64(g.Size() - 1)})
}

func message(rank int) []float32 {
	return []float32{float32(rank), float32(rank) + 0.5, float32(rank) + 0.25}
}

func ring(g *tutti.Group) error {
	next, last := (g.Rank()+1)%g.Size(), (g.Rank()+g.Size()-1)%g.Size()
	sent, err := tutti.Isend(ctx, g, message(g.Rank()), next, 0)
	if err != nil {
		return err
	}
	data := make([]float32, 3)
	received, err := tutti.Irecv(ctx, g, data, last, 0)
	if err != nil {
		return err
	}
	if err := tutti.WaitAll(ctx, sent, received); err != nil {
		return err
	}
	return same("the message around the ring", data, message(last))
}

// reconfigure makes a world of the same processes in the opposite order.
func reconfigure(g *tutti.Group) error {
	if os.Getenv("WORLD_PREFIX") != "" {
		return nil // PyTorch's ranks cannot
	}
	handle, err := tutti.ReconfigureHandle()
	if err != nil {
		return err
	}
	all := make([][]byte, g.Size())
	if err := tutti.AllGatherBytes(ctx, g, all, []byte(handle), nil); err != nil {
		return err
	}
	var handles []string
	for i := range all {
		handles = append(handles, string(all[len(all)-1-i]))
	}
	wanted := g.Size() - 1 - g.Rank()
	if _, err := tutti.ReconfigureGroup(ctx, g, 1, handles, "", nil); err != nil {
		return err
	}
	return same("the rank in the opposite order", g.Rank(), wanted)
}
