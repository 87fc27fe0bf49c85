package tutti

import "testing"

func TestMessages(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		if g.Rank() == 0 {
			check(t, Send(background, g, []float32{1, 2}, 1, 5))
			work := must(Isend(background, g, []float32{3}, 1, 6))
			check(t, work.Wait(background))
			check(t, Send(background, g, []int16{1}, 1, 7))
			return
		}
		data := make([]float32, 2)
		is(t, must(Recv(background, g, data, 0, 5)), 0)
		is(t, data, []float32{1, 2})
		work := must(Irecv(background, g, data[:1], AnySource, 6))
		check(t, work.Wait(background))
		is(t, data[0], float32(3))
		is(t, must(work.SourceRank()), 0)
		from, err := Recv(background, g, data, AnySource, 7)
		failsWith(t, err, ErrMismatch)
		is(t, from, -1)
	})
}

func TestBatches(t *testing.T) {
	onRanks(t, 3, func(t *testing.T, g *Group) {
		next, last := (g.Rank()+1)%3, (g.Rank()+2)%3
		var came int
		data, own := []int{0}, []int{0}
		works := must(BatchIsendIrecv(background, g,
			IsendOp([]int{g.Rank()}, next, 0), IrecvOp(data, last, 0),
			IsendOp([]byte("me"), g.Rank(), 1), IrecvOp(make([]byte, 2), g.Rank(), 1)))
		check(t, WaitAll(background, works...))
		is(t, data[0], last)
		came = must(works[1].SourceRank())
		is(t, came, last)
		none := must(BatchIsendIrecv(background, g))
		is(t, len(none), 0)
		_, err := BatchIsendIrecv(background, g, IsendOp(own, 7, 0))
		failsWith(t, err, ErrInvalidArgument)
		_, err = BatchIsendIrecv(background, g, P2POp{})
		failsWith(t, err, ErrInvalidArgument)
	})
}

func TestObjectMessages(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		if g.Rank() == 0 {
			check(t, SendObjectList(background, g, []any{"a", 1}, 1, 0, nil))
			check(t, must(SendObjectListAsync(background, g, []any{2.5}, 1, 1, nil)).Wait(background))
			check(t, SendBytes(background, g, []byte("bytes"), 1, 2))
			check(t, must(SendBytesAsync(background, g, nil, 1, 3)).Wait(background))
			return
		}
		list := make([]any, 2)
		is(t, must(RecvObjectList(background, g, list, AnySource, 0, nil)), 0)
		is(t, list, []any{"a", int64(1)})
		work := must(RecvObjectListAsync(background, g, list[:1], 0, 1, nil))
		check(t, work.Wait(background))
		is(t, list[0], 2.5)
		var bytes []byte
		is(t, must(RecvBytes(background, g, &bytes, 0, 2, nil)), 0)
		is(t, string(bytes), "bytes")
		check(t, must(RecvBytesAsync(background, g, &bytes, 0, 3, nil)).Wait(background))
		is(t, bytes, []byte{})
	})
}
