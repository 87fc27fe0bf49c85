package tutti

import (
	"context"
	"math"
	"runtime"
	"time"
	"unsafe"

	"tutti/internal/raw"
)

// ShrinkOptions are the options of [Group.Shrink]; zero is every field's default, and so is a nil
// pointer.
type ShrinkOptions struct {
	// Operations of the group that run end first, on all ranks; else they go on until the new group
	// is made.
	Abort       bool
	Description string // what errors call the group; "": this one's name and the new size
	// The fewest ranks that the new group may have: if fewer are left, none is made. The highest of
	// all ranks counts; 0: 1.
	MinSize int
	Timeout time.Duration // of making the group; 0: that of the group
}

// Shrink makes a group of those ranks of this one that are alive, whether or not it has failed, and
// without a store; ranks may also die during the call. Every rank that is alive and not excluded
// calls it with the same ranksToExclude: members that are to go though they may be alive. All get
// the same group, or all get an error and may call again. The ranks keep their order. Afterwards
// calls on this group fail with [ErrAborted], on the excluded ranks as well; it is still to be
// closed. The default group is another one afterwards: [World] stays what it is, with a new rank
// and size, and is what Shrink returns.
//
// It blocks until all have called, up to the options' timeout or the deadline of the context; to
// cancel the context does not end it.
func (g *Group) Shrink(ctx context.Context, ranksToExclude []int,
	options *ShrinkOptions) (*Group, error) {
	if options == nil {
		options = &ShrinkOptions{}
	}
	m, err := makingWithin(ctx, options.Timeout, g.Timeout)
	if err != nil {
		return nil, err
	}
	limits, err := options.forC(m)
	if err != nil {
		return nil, err
	}
	description, err := cTextOrNil("options.Description", options.Description)
	if err != nil {
		return nil, err
	}
	flags := uint32(raw.TUTTI_SHRINK_DEFAULT)
	if options.Abort {
		flags = raw.TUTTI_SHRINK_ABORT
	}
	var made *raw.Tutti_group // nil: C puts the new group in the place of the default one
	if g.base() != world {
		made = new(raw.Tutti_group)
	}
	ranks := int32s(ranksToExclude)
	err = attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_shrink_group(g.handle(), unsafe.SliceData(ranks), int64(len(ranks)), flags,
			description, limits, made, e)
	})
	if err != nil {
		return nil, deadlineError(ctx, err)
	}
	if made == nil {
		return world, nil
	}
	return newGroup(*made), nil
}

func (o *ShrinkOptions) forC(m making) (*raw.Tutti_shrink_options, error) {
	if o.MinSize < 0 || o.MinSize > math.MaxInt32 {
		return nil, invalid("options.MinSize is %d", o.MinSize)
	}
	made := &raw.Tutti_shrink_options{Min_size: uint32(o.MinSize), Timeout_ms: m.now}
	made.Struct_size = uint32(unsafe.Sizeof(*made))
	return made, nil
}

// Agree gives the bits that are set in the flags of all ranks of the group that are alive, for
// instance whether a step has succeeded everywhere. It works whether or not the group has failed;
// ranks may also die during the call, and the flags of such a rank may count. Every rank that is
// alive calls it, and all get the same. It blocks as [Group.Shrink] does.
func (g *Group) Agree(ctx context.Context, flags uint64) (uint64, error) {
	m, err := makingWithin(ctx, 0, g.Timeout)
	if err != nil {
		return 0, err
	}
	agreed := &flags
	err = attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_group_agree(g.handle(), agreed, m.now, e)
	})
	if err != nil {
		return 0, deadlineError(ctx, err)
	}
	return *agreed, nil
}

// Revoke ends the group on all its ranks: operations that run end, and later ones fail, with
// [ErrAborted] and the reason, which may be "". So a rank that has found that the group cannot go
// on frees the others from waiting for it. The group can then be shrunk. It does not block, and does
// nothing if the group has failed before.
func (g *Group) Revoke(reason string) error {
	text, err := cTextOrNil("reason", reason)
	if err != nil {
		return err
	}
	return attempt(func(e *raw.Tutti_error) int32 {
		return raw.Tutti_group_revoke(g.handle(), text, e)
	})
}

// Abort ends the operations of this rank on the group at once, with [ErrAborted], and waits for no
// other rank. A buffer is the caller's again when its call or work has ended, which takes
// milliseconds. Those of the other ranks fail as with [Group.Revoke]. It does nothing if the group
// has failed before.
func (g *Group) Abort() error {
	return attempt(func(e *raw.Tutti_error) int32 { return raw.Tutti_group_abort(g.handle(), e) })
}

// Failure is a work that ends when the group cannot go on: its error says why, and names the rank.
// So a program learns of a death without an operation on the group, for instance by [Work.Done] or
// [WaitAny]. If the group is closed first, it ends with [ErrAborted].
func (g *Group) Failure() (*Work, error) {
	defer runtime.KeepAlive(g)
	c := newCall(nil) // it does not keep the group from the garbage collector
	if raw.Tutti_group_failure(g.handle(), &c.frame.work, &c.frame.err) != raw.TUTTI_OK {
		defer c.release()
		return nil, errorOf(&c.frame.err)
	}
	return newWork(&operation{call: c, ctx: context.Background()}), nil
}
