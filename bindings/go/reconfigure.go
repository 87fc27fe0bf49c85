package tutti

import (
	"context"

	"tutti/internal/raw"
)

// ReconfigureHandle is the text by which other processes reach this one in [ReconfigureGroup]: pass
// it to them in any way, for instance by a store or a file. It stays the same until the process
// ends. The first call opens a port.
func ReconfigureHandle() (string, error) {
	handle, err := askBytes(func(handle *raw.Tutti_bytes, e *raw.Tutti_error) int32 {
		return raw.Tutti_get_reconfigure_handle(handle, e)
	})
	return string(handle), err
}

// ReconfigureGroup makes a group of the processes whose handles are listed, in the order of the new
// ranks: those that are left of g, and new ones, for which g is nil. So a group shrinks, grows or
// replaces its dead in one call, without a store. Each listed process makes the call with the same
// list, backend and Reproducible, and with an id with which none of them has called before. If it
// fails, g is as before: call again with a new id. Afterwards calls on g fail with [ErrAborted]; it
// is still to be closed. If g is [World], whether the default group exists or not, the new group is
// the default group, and World is what is returned.
//
// It blocks as [InitProcessGroup] does, until all listed processes have called.
func ReconfigureGroup(ctx context.Context, g *Group, id uint64, handles []string, backend string,
	options *GroupOptions) (*Group, error) {
	list, err := cTexts("handles", handles)
	if err != nil {
		return nil, err
	}
	defer list.release()
	return createGroup(ctx, backend, options, func(o creation, e *raw.Tutti_error) int32 {
		before, made := g.handle(), o.group
		switch g.base() {
		case nil:
			before = raw.TUTTI_GROUP_NON_MEMBER
		case world: // C puts the new group in the place of the default one
			*o.group, made = before, nil
		}
		return raw.Tutti_group_reconfigure(before, id, list.first(), list.count(), o.backend,
			o.description, o.options, made, e)
	})
}
