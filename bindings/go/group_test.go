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
		is(t, must(g.Timeout()), time.Minute)
		check(t, g.SetTimeout(NoTimeout))
		is(t, must(g.Timeout()), NoTimeout)
		failsWith(t, g.SetTimeout(0), ErrInvalidArgument)
		is(t, must(g.FailedRanks()), []int{})
		is(t, must(g.Name()), "unnamed")
	})
}

func TestGroupsHaveNames(t *testing.T) {
	onBackend(t, "loopback", 2, &GroupOptions{Description: "pair ü"},
		func(t *testing.T, g *Group) {
			is(t, must(g.Name()), "pair ü")
			part := must(g.NewGroup(background, nil, &NewGroupOptions{Description: "part"}))
			is(t, must(part.Name()), "part")
			var none *Group
			_, err := none.Name()
			failsWith(t, err, ErrInvalidHandle)
		})
	_, err := CreateGroup(background, "loopback", must(HashStore()), 0, 1,
		&GroupOptions{Description: "a\x00b"})
	failsWith(t, err, ErrInvalidArgument)
}

func TestAGroupMayHaveSeveralHolders(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		part := must(g.NewGroup(background, nil, nil))
		other := must(part.Retain())
		part.Release()
		part.Release()
		failsWith(t, part.Barrier(background), ErrInvalidHandle)
		check(t, other.Barrier(background)) // it goes on
		again := must(other.Retain())
		check(t, other.Close())
		failsWith(t, again.Barrier(background), ErrInvalidHandle) // ended for all
		check(t, again.Close())
		if must(nonMember.Retain()) != nonMember {
			t.Error("what is no group is another one")
		}
		nonMember.Release()
		World().Release()
	})
}

func TestDestroyingHasADeadline(t *testing.T) {
	onBackend(t, "gloo", 2, nil, func(t *testing.T, g *Group) {
		check(t, g.Barrier(background))
		ctx, cancel := context.WithTimeout(background, time.Minute)
		defer cancel()
		check(t, g.Destroy(ctx))
		check(t, g.Destroy(ctx))
	})
}

func TestLostRanksAreKnown(t *testing.T) {
	onBackend(t, "gloo", 2, nil, func(t *testing.T, g *Group) {
		check(t, g.Barrier(background))
		if g.Rank() == 0 {
			_, err := Recv(background, g, []int{0}, 1, 0)
			failsWith(t, err, ErrPeerLost)
			is(t, must(g.FailedRanks()), []int{}) // it left, and said so
		}
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
	g := must(InitProcessGroup(background, &InitOptions{Store: store, WorldSize: 1,
		GroupOptions: GroupOptions{Description: "everybody"}}))
	is(t, must(g.Name()), "everybody")
	kept := must(World().Retain())
	check(t, kept.Barrier(background))
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
	failsWith(t, kept.Barrier(background), ErrInvalidHandle)
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
	is(t, must(g.Timeout()), defaultTimeout)
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
	failsWith(t, err, ErrBackend)
	if !strings.Contains(err.Error(), "no such thing") {
		t.Errorf("%q does not say why", err)
	}
}

func TestEveryBackend(t *testing.T) {
	for _, backend := range []string{"loopback", "gloo", "shm", "hierarchy"} {
		is(t, IsBackendAvailable(backend), true)
		onBackend(t, backend, 2, nil, func(t *testing.T, g *Group) {
			is(t, g.Backend(), backend)
			is(t, g.BackendForDevice(CPU), backend)
			is(t, g.BackendForDevice(DeviceType(12)), "")
			is(t, must(g.BackendConfig()), "cpu:"+backend+",cuda:"+backend)
			big := make([]float32, 100000)
			for i := range big {
				big[i] = float32(i)
			}
			check(t, AllReduce(background, g, big, Sum))
			is(t, []float32{big[1], big[99999]}, []float32{2, 199998})
		})
	}
	is(t, IsBackendAvailable("pigeon"), false)
	check(t, CheckBackendAvailable("gloo"))
	failsWith(t, CheckBackendAvailable("pigeon"), ErrUnsupported)
	failsWith(t, CheckBackendAvailable("gloo?colour=red"), ErrInvalidArgument)
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
		is(t, must(m.LocalRank(must(m.FindDim("columns")))), column)

		sum := []int{g.Rank()}
		check(t, AllReduce(background, must(m.GroupByName("columns")), sum, Sum))
		is(t, sum[0], 9*row+3)
		is(t, must(must(m.Group(0)).Ranks()), []int{column, column + 3})
		groups := must(m.AllGroups())
		is(t, len(groups), 2)
		is(t, must(groups[1].Timeout()), 10*time.Minute) // that of g

		again := must(MeshFromGroup(groups, must(m.Ranks()), []int{2, 3}, nil))
		is(t, must(again.Coordinate()), []int{row, column})
		slice := must(m.Slice("columns"))
		is(t, must(slice.Ranks()), []int{3 * row, 3*row + 1, 3*row + 2})
		flat := must(m.Flatten(background, "all", nil))
		is(t, must(flat.Shape()), []int{6})
		is(t, must(must(m.GroupByName("all")).Ranks()), []int{0, 1, 2, 3, 4, 5})

		is(t, must(m.FindDim("all")), 2)
		is(t, m.DeviceType(), CPU)

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

func TestMeshesOfAnyLayout(t *testing.T) {
	onRanks(t, 6, func(t *testing.T, g *Group) {
		order := []int{5, 3, 1, 4}
		options := &MeshOptions{DimNames: []string{"x", "y"}, Timeout: time.Minute}
		m := must(NewDeviceMesh(background, g, order, []int{2, 2}, options))
		is(t, must(m.Ranks()), order)
		switch g.Rank() {
		case 0, 2:
			is(t, must(m.Coordinate()), []int{-1, -1})
			is(t, must(m.Group(0)).IsMember(), false)
		case 1:
			is(t, must(m.Coordinate()), []int{1, 0})
			column := must(m.GroupByName("x"))
			is(t, must(column.Ranks()), []int{5, 1}) // as they lie in the mesh
			is(t, must(column.Timeout()), time.Minute)
		}
		_, err := NewDeviceMesh(background, g, order, []int{3}, nil)
		failsWith(t, err, ErrInvalidArgument)
		if err != nil && !strings.Contains(err.Error(), "len(ranks) is 4") {
			t.Errorf("%q does not name ranks", err)
		}
		_, err = InitDeviceMesh(background, g, []int{6}, &MeshOptions{DeviceType: XPU})
		failsWith(t, err, ErrUnsupported)
		check(t, g.Barrier(background))
	})
}

func TestTheTimeoutsOfAMesh(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		soon, cancel := context.WithTimeout(background, time.Minute)
		defer cancel()
		m := must(InitDeviceMesh(soon, g, []int{2}, nil))
		is(t, must(must(m.Group(-1)).Timeout()), 10*time.Minute)
		hour := &MeshOptions{DimNames: []string{"x"}, Timeout: time.Hour}
		m = must(InitDeviceMesh(soon, g, []int{2, 1}, &MeshOptions{
			DimNames: []string{"x", "y"}, Timeout: time.Hour}))
		flat := must(m.Flatten(soon, "flat", nil))
		is(t, must(must(flat.Group(0)).Timeout()), time.Hour)
		own := must(MeshFromGroup([]*Group{must(m.Group(0))}, nil, nil, hour))
		is(t, must(must(own.Group(0)).Timeout()), time.Hour)
	})
}
