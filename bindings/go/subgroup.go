package tutti

import (
	"context"
	"time"
	"unsafe"

	"tutti/internal/raw"
)

// Reproducibility is whether a group that is made from another one sums exactly.
type Reproducibility uint32

// Options of a group that is made from another one.
const (
	AsParent        = Reproducibility(raw.TUTTI_AS_PARENT)
	Reproducible    = Reproducibility(raw.TUTTI_REPRODUCIBLE)
	NotReproducible = Reproducibility(raw.TUTTI_NOT_REPRODUCIBLE)
)

// NewGroupOptions are the options of a group that is made from another one; zero is every field's
// default, and so is a nil pointer.
type NewGroupOptions struct {
	Backend      string          // "": that of the group it is made from
	Description  string          // what errors call the group; "": its parent's name and a number
	Timeout      time.Duration   // 0: that of the group it is made from
	Reproducible Reproducibility // the same on all ranks
	Device       Device          // the one device of this rank; zero: that of its parent
	// Only the members of the new group call, and only they wait for each other. Groups that share
	// ranks must then be made in an order that all of them agree on.
	UseLocalSynchronization bool
}

func (o *NewGroupOptions) forC(m making) *raw.Tutti_new_group_options {
	made := &raw.Tutti_new_group_options{
		Use_local_synchronization: uint32(toInt(o.UseLocalSynchronization)),
		Timeout_ms:                m.now,
		Reproducible:              uint32(o.Reproducible),
		Device_type:               int32(o.Device.Type),
		Device_index:              toInt32(o.Device.Index),
	}
	made.Struct_size = uint32(unsafe.Sizeof(*made))
	return made
}

// NewGroup makes a group of some of the group's ranks; nil: of all. Every rank of this group calls
// it with the same arguments, in the same order as other such calls, and returns when all have;
// those that are not in the new group get one for which [Group.IsMember] is false. The new ranks
// are in the order of the old ones.
func (g *Group) NewGroup(ctx context.Context, ranks []int,
	options *NewGroupOptions) (*Group, error) {
	list := int32s(ranks)
	pointer := unsafe.SliceData(list)
	if ranks == nil {
		pointer = nil
	}
	return g.derive(ctx, options, func(o derivation, e *raw.Tutti_error) int32 {
		return raw.Tutti_new_group(g.handle(), pointer, int64(len(list)), o.backend,
			o.description, o.options, o.group, e)
	})
}

// SplitGroup makes several groups that share no rank in one step, of the ranks of this group that
// each of the lists names, and returns the one this rank is in. Every rank calls it with the same
// arguments; the backend is that of this group.
func (g *Group) SplitGroup(ctx context.Context, lists [][]int,
	options *NewGroupOptions) (*Group, error) {
	var ranks []int32
	var sizes []int64
	for _, list := range lists {
		ranks = append(ranks, int32s(list)...)
		sizes = append(sizes, int64(len(list)))
	}
	if options != nil && options.Backend != "" {
		return nil, invalid("options.Backend is %q: SplitGroup takes that of the group",
			options.Backend)
	}
	return g.derive(ctx, options, func(o derivation, e *raw.Tutti_error) int32 {
		return raw.Tutti_split_group(g.handle(), unsafe.SliceData(ranks), int64(len(ranks)),
			unsafe.SliceData(sizes), int64(len(sizes)), o.description, o.options, o.group, e)
	})
}

// A derivation is what making a group from another one takes in C, and gives.
type derivation struct {
	backend, description *byte
	options              *raw.Tutti_new_group_options
	group                *raw.Tutti_group
}

func (g *Group) derive(ctx context.Context, options *NewGroupOptions,
	create func(derivation, *raw.Tutti_error) int32) (*Group, error) {
	if options == nil {
		options = &NewGroupOptions{}
	}
	if err := options.Device.checkBound(); err != nil {
		return nil, err
	}
	m, err := makingWithin(ctx, options.Timeout, g.Timeout)
	if err != nil {
		return nil, err
	}
	o := derivation{options: options.forC(m), group: new(raw.Tutti_group)}
	if o.backend, err = cTextOrNil("options.Backend", options.Backend); err != nil {
		return nil, err
	}
	if o.description, err = cTextOrNil("options.Description", options.Description); err != nil {
		return nil, err
	}
	err = attempt(func(e *raw.Tutti_error) int32 { return create(o, e) })
	if err != nil {
		return nil, deadlineError(ctx, err)
	}
	group := newGroup(*o.group)
	return group, m.settle(group)
}
