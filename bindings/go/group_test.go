package tutti

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestGroupFacts(t *testing.T) {
	onRanks(t, 3, func(t *testing.T, g *Group) {
		is(t, g.Size(), 3)
		is(t, g.Backend(), "loopback")
		is(t, g.IsMember(), true)
		is(t, g.IsReproducible(), false)
		is(t, must(g.Ranks()), []int{0, 1, 2})
		is(t, []int{g.GroupRank(2), g.GlobalRank(1), g.GroupRank(7)}, []int{2, 1, -1})
		check(t, g.SetTimeout(time.Minute))
		failsWith(t, g.SetTimeout(0), ErrInvalidArgument)
	})
}

func TestSubgroups(t *testing.T) {
	onRanks(t, 4, func(t *testing.T, g *Group) {
		ctx, cancel := context.WithTimeout(background, time.Minute)
		defer cancel()
		options := &NewGroupOptions{Description: "odd", Reproducible: Reproducible}
		odd := must(g.NewGroup(ctx, []int{3, 1}, options))
		defer odd.Close()
		is(t, odd.IsMember(), g.Rank()%2 == 1)
		if odd.IsMember() {
			is(t, must(odd.Ranks()), []int{1, 3})
			is(t, odd.IsReproducible(), true)
			sum := []int{g.Rank()}
			check(t, AllReduce(background, odd, sum, Sum))
			is(t, sum[0], 4)
		} else {
			is(t, []int{odd.Rank(), odd.Size()}, []int{-1, -1})
			failsWith(t, odd.Barrier(background), ErrInvalidHandle)
		}
		half := must(g.SplitGroup(background, [][]int{{0, 1}, {2, 3}}, nil))
		is(t, must(half.Ranks()), [][]int{{0, 1}, {2, 3}}[g.Rank()/2])
		check(t, half.Barrier(background))
		check(t, half.Close())
		if g.Rank() < 2 {
			local := &NewGroupOptions{UseLocalSynchronization: true}
			pair := must(g.NewGroup(background, []int{0, 1}, local))
			check(t, pair.Barrier(background))
		}
		all := must(g.NewGroup(background, nil, nil))
		is(t, all.Size(), 4)
		_, err := g.NewGroup(background, []int{9}, nil)
		failsWith(t, err, ErrInvalidArgument)
	})
}

func TestTheDefaultGroup(t *testing.T) {
	is(t, IsInitialized(), false)
	failsWith(t, World().Barrier(background), ErrInvalidHandle)
	store := must(HashStore())
	g := must(InitProcessGroup(background, &InitOptions{Store: store, WorldSize: 1}))
	is(t, IsInitialized(), true)
	is(t, PGCount(), 1)
	is(t, []int{World().Rank(), World().Size()}, []int{0, 1})
	if g != World() {
		t.Error("the default group is not World")
	}
	_, err := InitProcessGroup(background, &InitOptions{Store: store, WorldSize: 1})
	failsWith(t, err, ErrInvalidArgument)
	check(t, g.Barrier(background))
	check(t, g.Close())
	check(t, g.Close())
	failsWith(t, DestroyProcessGroup(), ErrInvalidHandle)
	is(t, PGCount(), 0)
	_, err = InitProcessGroup(background, &InitOptions{InitMethod: "carrier-pigeon://"})
	failsWith(t, err, ErrInvalidArgument)
}

func TestADeadlineOfMakingAGroupIsNotThatOfItsOperations(t *testing.T) {
	store := must(HashStore())
	ctx, cancel := context.WithTimeout(background, 20*time.Millisecond)
	defer cancel()
	_, err := CreateGroup(ctx, "loopback", store, 0, 2, nil)
	failsWith(t, err, ErrTimeout)
	failsWith(t, err, context.DeadlineExceeded)

	ctx, cancel = context.WithTimeout(background, time.Minute)
	defer cancel()
	g := must(CreateGroup(ctx, "loopback", must(HashStore()), 0, 1, nil))
	is(t, g.timeout.Load(), defaultTimeout.Milliseconds())
	check(t, g.Barrier(background))
	check(t, g.Close())
}

func TestGroupsMeetByAnAllGatherOfTheCaller(t *testing.T) {
	_, err := CreateGroupWithAllGather(background, "gloo", nil, 0, 2, nil)
	failsWith(t, err, ErrInvalidArgument)
	const size = 2
	var mutex sync.Mutex
	var all sync.WaitGroup
	var given [size][]byte
	all.Add(size)
	var done sync.WaitGroup
	for rank := 0; rank < size; rank++ {
		done.Add(1)
		go func(rank int) {
			defer done.Done()
			g, err := CreateGroupWithAllGather(background, "gloo", func(output, input []byte) error {
				mutex.Lock()
				given[rank] = append([]byte{}, input...)
				mutex.Unlock()
				all.Done()
				all.Wait()
				copy(output, append(given[0], given[1]...))
				return nil
			}, rank, size, nil)
			if err != nil {
				t.Error(err)
				return
			}
			check(t, g.Barrier(background))
			check(t, g.Close())
		}(rank)
	}
	done.Wait()
	wrong := errors.New("no such thing")
	_, err = CreateGroupWithAllGather(background, "gloo",
		func(output, input []byte) error { return wrong }, 0, 2, nil)
	failsWith(t, err, wrong)
}

func TestEveryBackend(t *testing.T) {
	for _, backend := range []string{"loopback", "gloo", "shm", "hierarchy"} {
		is(t, IsBackendAvailable(backend), true)
		onBackend(t, backend, 2, nil, func(t *testing.T, g *Group) {
			is(t, g.Backend(), backend)
			big := make([]float32, 100000)
			for i := range big {
				big[i] = float32(i)
			}
			check(t, AllReduce(background, g, big, Sum))
			is(t, []float32{big[1], big[99999]}, []float32{2, 199998})
		})
	}
	is(t, IsBackendAvailable("pigeon"), false)
	is(t, DefaultBackendForDevice("cpu"), "gloo")
	is(t, DefaultBackendForDevice("abacus"), "")
	is(t, IsTorchelasticLaunched(), false)
	major, minor, patch := VersionNumber()/10000, VersionNumber()/100%100, VersionNumber()%100
	is(t, Version(), fmt.Sprintf("%d.%d.%d", major, minor, patch))
}

func TestMeshes(t *testing.T) {
	onRanks(t, 6, func(t *testing.T, g *Group) {
		names := &MeshOptions{DimNames: []string{"rows", "columns"}}
		ctx, cancel := context.WithTimeout(background, time.Minute)
		defer cancel()
		m := must(InitDeviceMesh(ctx, g, []int{2, 3}, names))
		row, column := g.Rank()/3, g.Rank()%3
		is(t, must(m.Coordinate()), []int{row, column})
		is(t, must(m.Shape()), []int{2, 3})
		is(t, must(m.Ranks()), []int{0, 1, 2, 3, 4, 5})
		is(t, []int{m.NDim(), m.Size(-1), m.Size(1), m.Rank()}, []int{2, 6, 3, g.Rank()})
		is(t, m.DimName(1), "columns")
		is(t, must(m.LocalRank(0)), row)
		is(t, must(m.LocalRankByName("columns")), column)

		sum := []int{g.Rank()}
		check(t, AllReduce(background, must(m.GroupByName("columns")), sum, Sum))
		is(t, sum[0], 9*row+3)
		is(t, must(must(m.Group(0)).Ranks()), []int{column, column + 3})
		groups := must(m.AllGroups())
		is(t, len(groups), 2)
		is(t, groups[1].timeout.Load(), (10 * time.Minute).Milliseconds()) // that of g

		again := must(MeshFromGroup(groups, must(m.Ranks()), []int{2, 3}, nil))
		is(t, must(again.Coordinate()), []int{row, column})
		slice := must(m.Slice("columns"))
		is(t, must(slice.Ranks()), []int{3 * row, 3*row + 1, 3*row + 2})
		flat := must(m.Flatten(background, "all", nil))
		is(t, must(flat.Shape()), []int{6})
		is(t, must(must(m.GroupByName("all")).Ranks()), []int{0, 1, 2, 3, 4, 5})

		_, err := m.GroupByName("diagonals")
		failsWith(t, err, ErrInvalidArgument)
		_, err = InitDeviceMesh(background, g, []int{2}, names)
		failsWith(t, err, ErrInvalidArgument)
		_, err = MeshFromGroup(groups, []int{0, 1, 2, 3, 4, 5}, nil, nil)
		failsWith(t, err, ErrInvalidArgument)
		if err != nil && !strings.Contains(err.Error(), "give both or none") {
			t.Errorf("%q does not say what is missing", err)
		}
		_, err = MeshFromGroup(groups, []int{1}, []int{2, 3}, nil)
		failsWith(t, err, ErrInvalidArgument)
		check(t, g.Barrier(background))
		check(t, m.Close())
		_, err = m.Shape()
		failsWith(t, err, ErrInvalidHandle)
		_, err = m.Flatten(background, "x", nil)
		failsWith(t, err, ErrInvalidHandle)
	})
}
