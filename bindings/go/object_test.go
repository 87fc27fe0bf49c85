package tutti

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

type weekday int8
type label string

func TestValuesGoThroughAnObject(t *testing.T) {
	now := time.Date(2024, 2, 29, 12, 0, 0, 999, time.FixedZone("", 3600))
	long := strings.Repeat("long ", 1000)
	many := make([]any, 3*itemsAtOnce)
	for i := range many {
		many[i] = map[string]any{"i": int64(i), "text": long[:i]}
	}
	for _, one := range []struct{ given, read any }{
		{nil, nil}, {true, true}, {false, false},
		{-1, int64(-1)}, {uint8(200), int64(200)}, {weekday(3), int64(3)},
		{int64(math.MinInt64), int64(math.MinInt64)},
		{uint64(math.MaxUint64), uint64(math.MaxUint64)}, {uint64(7), int64(7)},
		{float32(0.5), 0.5}, {math.Inf(1), math.Inf(1)}, {math.Copysign(0, -1), math.Copysign(0, -1)},
		{"text ü", "text ü"}, {"", ""}, {"a\x00b", "a\x00b"}, {label("x"), "x"}, {long, long},
		{[]byte{0, 1, 255}, []byte{0, 1, 255}}, {[]byte{}, []byte{}}, {[]byte(nil), []byte{}},
		{now, now.UTC()}, {time.Unix(-5, 1), time.Unix(-5, 1).UTC()},
		{[]any{1, 2.5, nil, []any{}}, []any{int64(1), 2.5, nil, []any{}}},
		{[]string{"a", "b"}, []any{"a", "b"}}, {[2]string{"a", "b"}, []any{"a", "b"}},
		{[]float64{1, 2}, NewArray([]float64{1, 2})}, {[]int{1}, NewArray([]int64{1})},
		{[]bool{true, false}, NewArray([]bool{true, false})},
		{[]Float16{1}, NewArray([]Float16{1})}, {[]complex64{1i}, NewArray([]complex64{1i})},
		{NewArray([]int32{0, 1, 2, 3, 4, 5}, 2, 3), NewArray([]int32{0, 1, 2, 3, 4, 5}, 2, 3)},
		{Array{Data: []uint8{9}}, &Array{Data: []uint8{9}}},
		{NewArray([]BFloat16{}, 0, 4), NewArray([]BFloat16{}, 0, 4)},
		{map[string]any{"a": 1, "": nil}, map[string]any{"a": int64(1), "": nil}},
		{map[label]int{"k": 2}, map[string]any{"k": int64(2)}},
		{map[int]string{-1: "x"}, map[any]any{int64(-1): "x"}},
		{map[any]any{"s": 1, uint64(math.MaxUint64): 2},
			map[any]any{"s": int64(1), uint64(math.MaxUint64): int64(2)}},
		{map[string]int(nil), nil}, {&now, now.UTC()}, {(*Array)(nil), nil},
		{must(NewObject([]any{1})), []any{int64(1)}},
		{[]any{must(NewObject("inside"))}, []any{"inside"}}, {many, any(many)},
	} {
		object, err := NewObject(one.given)
		if err != nil {
			t.Errorf("%#v: %v", one.given, err)
			continue
		}
		read := must(object.Value())
		if !reflect.DeepEqual(read, one.read) {
			t.Errorf("%#v became %#v, not %#v", one.given, read, one.read)
		}
		decoded := must(DecodeObject(must(object.Encode(nil)), nil))
		is(t, must(object.Equal(decoded)), true)
	}
}

func TestWhatIsNoValueIsRefused(t *testing.T) {
	endless := []any{nil}
	endless[0] = endless
	for _, one := range []any{
		struct{}{}, func() {}, make(chan int), 1i, map[float64]int{1: 2}, map[any]any{nil: 1},
		"\xff", &Array{}, Array{Data: []string{"x"}, Shape: []int{1}},
		NewArray([]int{1, 2}, 3), NewArray([]int{1}, -1), NewArray([]int{}, 0, 1<<62, 1<<62),
		endless, (*Object)(nil), []any{&Object{}},
	} {
		_, err := NewObject(one)
		if err == nil {
			t.Errorf("%T was taken", one)
		}
	}
	for _, bytes := range [][]byte{nil, {0xc1}, {0x92, 1}, []byte("\x28\xb5\x2f\xfd?")} {
		_, err := DecodeObject(bytes, nil)
		failsWith(t, err, ErrInvalidArgument)
	}
}

func TestObjectsAreReadInPartsAndCompared(t *testing.T) {
	o := must(NewObject(map[any]any{"list": []any{1, "two", []any{3}}, 7: "seven"}))
	is(t, must(o.Lookup("list", 1)), "two")
	is(t, must(o.Lookup("list", uint8(2), 0)), int64(3))
	is(t, must(o.Lookup(7)), "seven")
	for _, path := range [][]any{{"none"}, {"list", 9}, {"list", "x"}, {7, 1}, {2.5}, {nil}} {
		_, err := o.Lookup(path...)
		failsWith(t, err, ErrInvalidArgument)
	}
	is(t, must(must(NewObject([]any{1, nil})).JSON(0, 0)), "[1, null]")
	copied := must(o.Copy())
	is(t, must(o.Equal(copied)), true)
	is(t, must(o.Equal(must(NewObject(1)))), false)
	check(t, o.Close())
	_, err := o.Value()
	failsWith(t, err, ErrInvalidHandle)
	data, is32 := ArrayData[int32](must(must(NewObject([]int32{4})).Value()))
	is(t, data, []int32{4})
	is(t, is32, true)
	_, is64 := ArrayData[int64]("no array")
	is(t, is64, false)
}

func TestObjectCollectives(t *testing.T) {
	onRanks(t, 3, func(t *testing.T, g *Group) {
		r := int64(g.Rank())
		list := []any{r, nil}
		check(t, BroadcastObjectList(background, g, list, 2, nil))
		is(t, list, []any{int64(2), nil})

		values := make([]any, 3)
		check(t, AllGatherObject(background, g, values, []any{r}, &ObjectOptions{MaxDepth: 3}))
		is(t, values, []any{[]any{int64(0)}, []any{int64(1)}, []any{int64(2)}})

		var gathered []any
		if r == 1 {
			gathered = make([]any, 3)
		}
		check(t, GatherObject(background, g, gathered, must(NewObject(r)), 1, nil))
		if r == 1 {
			is(t, gathered, []any{int64(0), int64(1), int64(2)})
		}

		var mine any
		var given []any
		if r == 0 {
			given = []any{"a", "b", "c"}
		}
		ctx, cancel := context.WithTimeout(background, time.Minute)
		defer cancel()
		check(t, ScatterObjectList(ctx, g, &mine, given, 0, nil))
		is(t, mine, []string{"a", "b", "c"}[r])
	})
}

func TestAsynchronousObjectCollectives(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		r := g.Rank()
		lists := [][]any{{"first", 1}, {nil, nil}}
		values := make([]any, 2)
		var gathered, given []any
		if r == 0 {
			gathered, given = make([]any, 2), []any{10, 11}
		}
		var mine any
		check(t, WaitAll(background,
			must(BroadcastObjectListAsync(background, g, lists[r], 0, nil)),
			must(AllGatherObjectAsync(background, g, values, r, nil)),
			must(GatherObjectAsync(background, g, gathered, r, 0, nil)),
			must(ScatterObjectListAsync(background, g, &mine, given, 0, nil))))
		if r == 1 {
			is(t, lists[1], []any{"first", int64(1)})
		}
		is(t, values, []any{int64(0), int64(1)})
		is(t, mine, int64(10+r))
		if r == 0 {
			is(t, gathered, []any{int64(0), int64(1)})
		}
		dropped := must(AllGatherObjectAsync(background, g, values, "nobody reads this", nil))
		check(t, dropped.Close())
		check(t, g.Barrier(background))
		is(t, values, []any{int64(0), int64(1)})
	})
}

func TestBytesCollectives(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		r := g.Rank()
		data := [][]byte{[]byte("from 0"), nil}[r]
		check(t, BroadcastBytes(background, g, &data, 0, nil))
		is(t, string(data), "from 0")
		outputs := make([][]byte, 2)
		check(t, AllGatherBytes(background, g, outputs, []byte("abc")[:r+1], nil))
		is(t, outputs, [][]byte{[]byte("a"), []byte("ab")})
		var gathered, given [][]byte
		if r == 1 {
			gathered, given = make([][]byte, 2), [][]byte{[]byte("x"), nil}
		}
		check(t, GatherBytes(background, g, gathered, []byte{byte(r)}, 1, nil))
		if r == 1 {
			is(t, gathered, [][]byte{{0}, {1}})
		}
		var mine []byte
		check(t, ScatterBytes(background, g, &mine, given, 1, nil))
		is(t, mine, [][]byte{[]byte("x"), {}}[r])
		check(t, WaitAll(background,
			must(BroadcastBytesAsync(background, g, &data, 0, nil)),
			must(AllGatherBytesAsync(background, g, outputs, data, nil)),
			must(GatherBytesAsync(background, g, gathered, data, 1, nil)),
			must(ScatterBytesAsync(background, g, &mine, given, 1, nil))))
		is(t, string(outputs[1-r]), "from 0")
		err := ScatterBytes(background, g, nil, nil, 0, nil)
		failsWith(t, err, ErrInvalidArgument)
		failsWith(t, BroadcastBytes(background, g, nil, 0, nil), ErrInvalidArgument)
	})
}

func TestAnArrayShowsItsElements(t *testing.T) {
	is(t, fmt.Sprint([]any{NewArray([]int8{1, 2, 3, 4}, 2, 2)}), "[[]int8 of shape [2 2]: [1 2 3 4]]")
	is(t, fmt.Sprint((*Array)(nil)), "<nil>")
}

func TestMapsAreWrittenInTheOrderOfTheirKeys(t *testing.T) {
	small, mixed := map[int8]int{}, map[any]any{uint64(math.MaxUint64): 0, "b": 1, "a": 2, uint8(3): 3}
	large := map[uint64]bool{math.MaxUint64: true, 0: false, 1 << 63: true}
	for key := -100; key < 100; key++ {
		small[int8(key)], mixed[key-1000] = key, key
	}
	for _, one := range []any{small, mixed, large, map[string]int{"b": 1, "": 2, "a": 3}} {
		first := must(must(NewObject(one)).Encode(nil))
		for i := 0; i < 10; i++ {
			is(t, must(must(NewObject(one)).Encode(nil)), first)
		}
	}
	text := must(must(NewObject(map[any]int{"b": 1, -1: 2, uint8(2): 3, 1: 4, "a": 5})).JSON(0, 0))
	is(t, text, `{"-1": 2, "1": 4, "2": 3, "a": 5, "b": 1}`)
	text = must(must(NewObject(large)).JSON(0, 0))
	is(t, text, `{"0": false, "9223372036854775808": true, "18446744073709551615": true}`)
}

func TestResultsWaitInTheirWork(t *testing.T) {
	onRanks(t, 2, func(t *testing.T, g *Group) {
		values, outputs := make([]any, 2), make([][]byte, 2)
		objects := must(AllGatherObjectAsync(background, g, values, g.Rank(), nil))
		bytes := must(AllGatherBytesAsync(background, g, outputs, []byte{byte(g.Rank())}, nil))
		<-objects.Done()
		<-bytes.Done()
		is(t, values, []any{nil, nil}) // nothing is written behind the caller's back
		check(t, objects.Wait(background))
		check(t, objects.Wait(background))
		is(t, values, []any{int64(0), int64(1)})
		check(t, bytes.Wait(background))
		is(t, outputs, [][]byte{{0}, {1}})
		_, err := AllGatherObjectAsync(background, g, make([]any, 1), 1, nil)
		failsWith(t, err, ErrInvalidArgument)
	})
}
