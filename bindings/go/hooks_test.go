package tutti

import (
	"errors"
	"strings"
	"sync"
	"testing"
)

// heardOperation is what a hook was told.
type heardOperation struct {
	what, name, tagName string
	id                  uint64
	rank, peer          int
	number              int64
	count               int
	isAsync             bool
	err                 error
}

func TestHooksHearOfEveryOperation(t *testing.T) {
	var mutex sync.Mutex
	var heard []heardOperation
	var kept Operand
	note := func(what string, o *Operation, err error) {
		mutex.Lock()
		defer mutex.Unlock()
		one := heardOperation{what: what, name: o.Name, tagName: o.TagName, id: o.ID, rank: o.Rank,
			peer: o.Peer, number: o.SequenceNumber, isAsync: o.IsAsync, err: err}
		if len(o.Inputs) > 0 {
			one.count = o.Inputs[0].Count
			kept = o.Inputs[0]
		}
		heard = append(heard, one)
		is(t, o.WorldSize, 2)
		is(t, o.GroupName != "", true)
	}
	remove, err := AddHooks(Hooks{
		Before: func(o *Operation) {
			note("before", o, nil)
			if o.TagName == "loss" {
				data := must(Elements[float32](o.Inputs[0]))
				is(t, data, []float32{float32(o.Rank), 2})
				is(t, o.Op, Max)
				_, err := Elements[float64](o.Inputs[0])
				failsWith(t, err, ErrInvalidArgument)
			}
		},
		After:   func(o *Operation) { note("after", o, nil) },
		Aborted: func(o *Operation, why error) { note("aborted", o, why) },
	})
	check(t, err)
	onRanks(t, 2, func(t *testing.T, g *Group) {
		data := []float32{float32(g.Rank()), 2}
		check(t, AllReduce(background, g.WithTagName("loss"), data, Max))
		work, err := AllReduceAsync(background, g, []int32{1, 2, 3}, Sum)
		check(t, err)
		check(t, work.Wait(background))
		if g.Rank() == 0 {
			check(t, Send(background, g, []byte{5}, 1, 9))
		} else {
			_, err := Recv(background, g, make([]byte, 1), 0, 9)
			check(t, err)
		}
		err = AllReduce(background, g.WithTagName("halo"), make([]float64, 2+g.Rank()), Sum)
		failsWith(t, err, ErrMismatch)
		is(t, strings.Contains(err.Error(), `"halo"`), true)
	})
	check(t, remove())
	failsWith(t, remove(), ErrInvalidArgument)
	is(t, len(heard), 16)
	for rank := 0; rank < 2; rank++ {
		var named, message, works, failed []heardOperation
		for _, one := range heard {
			switch {
			case one.rank != rank:
			case one.tagName == "loss":
				named = append(named, one)
			case one.what == "aborted":
				failed = append(failed, one)
			case one.name == []string{"send", "recv"}[rank]:
				message = append(message, one)
			case one.isAsync:
				works = append(works, one)
			}
		}
		is(t, []int{len(named), len(message), len(works), len(failed)}, []int{2, 2, 2, 1})
		is(t, named[0].what+named[1].what, "beforeafter")
		is(t, named[0].id == named[1].id && named[0].number == 1 && named[0].count == 2, true)
		is(t, works[0].number, int64(2))
		is(t, message[0].peer, 1-rank)
		failsWith(t, failed[0].err, ErrMismatch)
		is(t, strings.Contains(failed[0].err.Error(), `"halo"`), true)
	}
	_, err = Elements[float64](kept)
	failsWith(t, err, ErrInvalidHandle)
	_, err = AddHooks(Hooks{})
	failsWith(t, err, ErrInvalidArgument)
	var failure *Error
	is(t, errors.As(err, &failure), true)
}

func TestATagNameWithANULIsRefused(t *testing.T) {
	onRanks(t, 1, func(t *testing.T, g *Group) {
		failsWith(t, g.WithTagName("a\x00b").Barrier(background), ErrInvalidArgument)
		_, err := BatchIsendIrecv(background, g.WithTagName("a\x00b"))
		failsWith(t, err, ErrInvalidArgument)
		check(t, g.WithTagName("step").Barrier(background))
		check(t, Coalesce(background, g.WithTagName("step"), func(together *Group) error {
			return AllReduce(background, together, []int{1}, Sum)
		}))
	})
}
