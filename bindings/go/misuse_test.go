package tutti

import (
	"errors"
	"strings"
	"sync"
	"testing"
)

func TestWrongArgumentsAreNamed(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		data := []int{1, 2}
		for _, one := range []struct {
			err  error
			name string
		}{
			{Broadcast(background, g, data, 2), ": src is 2"},
			{Broadcast(background, g, data, 1<<40), ": src is"},
			{Reduce(background, g, data, Sum, -1), ": dst is -1"},
			{AllReduce(background, g, []float64{1}, BXor), "BXOR"},
			{AllReduceInto(background, g, data, data[:1], Sum), "input"},
			{AllGather(background, g, [][]int{data}, data), "len(outputs)"},
			{AllGather(background, g, nil, data), "len(outputs)"},
			{AllToAllSingle(background, g, data, data[:0], nil, []int{1}), "input"},
			{AllToAllSingle(background, g, data, data, []int{3}, nil), "outputSplits has 1"},
			{AllGatherObject(background, g, make([]any, 3), 1, nil), "values has 3 elements"},
			{AllGatherBytes(background, g, make([][]byte, 1), nil, nil), "outputs has 1 elements"},
			{GatherObject(background, g, make([]any, 2), 1, 1-g.Rank(), nil), "where none arrive"},
			{ScatterObjectList(background, g, nil, nil, 0, nil), "value is nil"},
			{g.SetTimeout(0), "timeout is 0; it must be above 0, or NoTimeout"},
			{Send(background, g, data, 1-g.Rank(), -1), "tag"},
			{AllReduceAddends(background, g, data, nil, Sum), "reproducible"},
		} {
			failsWith(t, one.err, ErrInvalidArgument)
			if one.err != nil && !strings.Contains(one.err.Error(), one.name) {
				t.Errorf("%q does not name %s", one.err, one.name)
			}
		}
		check(t, g.Barrier(background)) // the group goes on
	})
}

func TestNilAndClosedThingsAreErrors(t *testing.T) {
	var group *Group
	var work *Work
	var mesh *Mesh
	var object *Object
	var op *CustomOp
	failsWith(t, AllReduce(background, group, []int{1}, Sum), ErrInvalidHandle)
	_, err := AllReduceAsync(background, group, []int{1}, Sum)
	failsWith(t, err, ErrInvalidHandle)
	_, err = BatchIsendIrecv(background, group)
	failsWith(t, err, ErrInvalidHandle)
	_, err = group.NewGroup(background, nil, nil)
	failsWith(t, err, ErrInvalidHandle)
	_, err = group.Ranks()
	failsWith(t, err, ErrInvalidHandle)
	failsWith(t, BroadcastObjectList(background, group, nil, 0, nil), ErrInvalidHandle)
	failsWith(t, Coalesce(background, group, func(*Group) error { return nil }), ErrInvalidHandle)
	failsWith(t, Coalesce(background, group, nil), ErrInvalidArgument)
	failsWith(t, group.CoalescingEnd(background), ErrInvalidHandle)
	failsWith(t, group.SetTimeout(1), ErrInvalidHandle)
	failsWith(t, work.Wait(background), ErrInvalidHandle)
	failsWith(t, work.Then(func(error) {}), ErrInvalidHandle)
	_, err = work.Cancel()
	failsWith(t, err, ErrInvalidHandle)
	_, err = WaitAny(background, work)
	failsWith(t, err, ErrInvalidArgument)
	is(t, []bool{work.IsCompleted(), work.IsSuccess(), work.Err() == nil}, []bool{false, false, true})
	_, err = mesh.Group(0)
	failsWith(t, err, ErrInvalidHandle)
	_, err = InitDeviceMesh(background, group, []int{1}, nil)
	failsWith(t, err, ErrInvalidHandle)
	_, err = object.Value()
	failsWith(t, err, ErrInvalidHandle)
	check(t, errors.Join(group.Close(), work.Close(), mesh.Close(), object.Close(), op.Close()))
}

func TestErrorsTellWhatTheyAre(t *testing.T) {
	_, err := FileStore(background, "/nowhere/at/all", 1, nil)
	var failure *Error
	if !errors.As(err, &failure) {
		t.Fatalf("%v is no Error", err)
	}
	is(t, failure.Status, ErrStore)
	is(t, failure.Rank, -1)
	is(t, failure.Errno.Error(), "no such file or directory")
	is(t, ErrPeerLost.Error(), "peer lost")
	is(t, errors.Is(err, ErrTimeout), false)
}

func TestADeadRankIsNamed(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		if g.Rank() == 1 {
			check(t, g.Close())
			return
		}
		err := AllReduce(background, g, []int{1}, Sum)
		failsWith(t, err, ErrPeerLost)
		var failure *Error
		if errors.As(err, &failure) {
			is(t, failure.Rank, 1)
		}
	})
}

func TestClosingWhileOthersCall(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		var callers sync.WaitGroup
		var begun sync.WaitGroup
		begun.Add(8) // before the first may wait
		for caller := 0; caller < 8; caller++ {
			callers.Add(1)
			go func(tag int) {
				defer callers.Done()
				for i := 0; ; i++ {
					work, err := Irecv(background, g, make([]int, 4), 1-g.Rank(), tag)
					if i == 0 {
						begun.Done()
						begun.Wait()
					}
					if err != nil {
						return
					}
					if i > 500 { // with many more, threads starve at the group's locks
						<-work.Done()
					}
					g.Size()
					go work.Close()
					work.Err()
					if _, err := work.SequenceNumber(); err != nil {
						failsWith(t, err, ErrInvalidHandle)
					}
				}
			}(caller)
		}
		begun.Wait()
		check(t, g.Close())
		callers.Wait() // each has met an error
		op := must(NewPremulSum(1.0))
		go op.Close()
		NewObject(must(NewObject(1)))
		op.Close()
	})
}

func TestAnObjectMayBeClosedWhileOthersReadIt(t *testing.T) {
	for round := 0; round < 20; round++ {
		object := must(NewObject(make([]float64, 1<<21))) // whose memory goes back to the system
		var begun, readers sync.WaitGroup
		for reader := 0; reader < 4; reader++ {
			begun.Add(1)
			readers.Add(1)
			go func() {
				defer readers.Done()
				for first := true; ; first = false {
					_, err := object.Value()
					if first {
						begun.Done()
					}
					if err != nil {
						failsWith(t, err, ErrInvalidHandle)
						return
					}
				}
			}()
		}
		begun.Wait()
		check(t, object.Close())
		readers.Wait()
	}
}
