package tutti

import (
	"runtime/cgo"
	"sync/atomic"
	"unsafe"

	"tutti/internal/raw"
)

// WithTagName gives the same group for calls with a name, in UTF-8: errors, hooks, traces and the
// flight recorder show it, which keeps its first 32 bytes. "": none. To close either closes both.
func (g *Group) WithTagName(tagName string) *Group {
	if g == nil {
		return nil
	}
	base := g.base()
	return &Group{of: base, device: g.device, tagName: tagName, collected: base.collected}
}

// Operation is a collective, a message or another operation of a group, which a hook is called
// about; see [AddHooks].
type Operation struct {
	ID             uint64    // from 1 on, in this process; the same in all hooks called about it
	Name           string    // "all_reduce", "send", ...
	GroupName      string    // as [Group.Name] gives it
	TagName        string    // of [Group.WithTagName]; "" if it has none
	Rank           int       // this rank, in the group
	WorldSize      int       // of the group
	Peer           int       // the root of a collective, the other rank of a message (-1: any); or -1
	SequenceNumber int64     // which collective of its group it is, from 1 on; 0 for others
	Inputs         []Operand // what it reads on this rank; objects and bytes are not shown
	Outputs        []Operand // what it writes on this rank
	Op             Operator  // of a reduction; else 0
	Tag            int       // of a message; else 0
	IsAsync        bool      // the program has a [Work] for it

	isOver atomic.Bool // the hook has returned
}

// Operand is memory that an operation reads or writes; [Elements] gives it.
type Operand struct {
	DType  DType
	Count  int    // of elements
	Device Device // where it is, without a stream

	of    *Operation
	place raw.Tutti_buffer
}

// Elements are the elements of an operand, where they are, until the hook returns. They must not be
// written. On a device they are as a [DeviceSlice], which Go cannot read.
func Elements[T Element](operand Operand) ([]T, error) {
	if operand.of == nil || operand.of.isOver.Load() {
		return nil, &Error{Status: ErrInvalidHandle, Rank: -1,
			Message: "the operand is no longer good: its hook has returned"}
	}
	if wanted := DTypeOf[T](); operand.DType != wanted {
		return nil, invalid("the operand is of %v, not %v", operand.DType, wanted)
	}
	return elementsIn[T](&operand.place, "operand", 0)
}

// Hooks are functions that are called around every operation of this process, of all groups; a nil
// one is not called. Before is called before an operation moves anything: a collective in its turn,
// on the thread that runs it. After is called when it has succeeded, before whoever waits for it
// goes on; Aborted instead when it has failed. An Operation is good until the function returns.
type Hooks struct {
	Before  func(operation *Operation)
	After   func(operation *Operation)
	Aborted func(operation *Operation, why error)
}

// AddHooks adds hooks: they hear of operations that begin from now on. Those that were added later
// are the inner ones: Before is called in the order in which hooks were added, the others in the
// reverse. Any thread calls them, several at a time. A hook must not wait for its group; operations
// that it starts call no hooks.
//
// The function that it returns removes them, and waits for those that are running on other threads:
// none of them is called again. A hook may remove itself.
func AddHooks(hooks Hooks) (remove func() error, err error) {
	self := cgo.NewHandle(&heldHooks{hooks})
	given := &raw.Tutti_hooks{User: uintptr(self), Release_user: uintptr(raw.Release)}
	given.Struct_size = uint32(unsafe.Sizeof(*given))
	if hooks.Before != nil {
		given.Before = uintptr(raw.Before)
	}
	if hooks.After != nil {
		given.After = uintptr(raw.After)
	}
	if hooks.Aborted != nil {
		given.Aborted = uintptr(raw.Aborted)
	}
	id, err := ask(func(id *uint64, e *raw.Tutti_error) int32 {
		return raw.Tutti_hooks_add(given, id, e)
	})
	if err != nil {
		self.Delete()
		return nil, err
	}
	return func() error {
		return attempt(func(e *raw.Tutti_error) int32 { return raw.Tutti_hooks_remove(id, e) })
	}, nil
}

// heldHooks are Hooks as C calls them.
type heldHooks struct{ hooks Hooks }

func (h *heldHooks) CallBefore(given *raw.Tutti_operation) { during(given, h.hooks.Before) }

func (h *heldHooks) CallAfter(given *raw.Tutti_operation) { during(given, h.hooks.After) }

func (h *heldHooks) CallAborted(given *raw.Tutti_operation, why *raw.Tutti_error) {
	during(given, func(operation *Operation) { h.hooks.Aborted(operation, errorOf(why)) })
}

func during(given *raw.Tutti_operation, hook func(*Operation)) {
	operation := newOperation(given)
	defer operation.isOver.Store(true)
	hook(operation)
}

// newOperation copies what C says of an operation, but not its memory.
func newOperation(given *raw.Tutti_operation) *Operation {
	made := &Operation{
		ID:             given.Id,
		Name:           goString((*byte)(pointer(given.Name))),
		GroupName:      goString((*byte)(pointer(given.Group_name))),
		TagName:        goString((*byte)(pointer(given.Tag_name))),
		Rank:           int(given.Rank),
		WorldSize:      int(given.World_size),
		Peer:           int(given.Peer),
		SequenceNumber: given.Sequence_number,
		Op:             Operator(given.Op),
		Tag:            int(given.Tag),
		IsAsync:        given.Is_async != 0,
	}
	made.Inputs = operands(made, given.Inputs, given.Input_count)
	made.Outputs = operands(made, given.Outputs, given.Output_count)
	return made
}

func operands(of *Operation, first uintptr, count int64) []Operand {
	list := make([]Operand, count)
	for i, place := range unsafe.Slice((*raw.Tutti_buffer)(pointer(first)), count) {
		device := Device{Type: DeviceType(place.Device_type), Index: int(place.Device_index)}
		list[i] = Operand{DType(place.Dtype), int(place.Count), device, of, place}
	}
	return list
}
