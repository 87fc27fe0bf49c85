# failure.jl: going on after a rank has died, or with other processes, and ending a group's operations.

"""
    shrink_group(ranks_to_exclude = (); group = WORLD, abort = false, description = nothing,
                 min_size = 1, timeout = nothing)

A group of those ranks of another one that are alive, whether or not that has failed, and without a
store; ranks may also die during the call. Every rank that is alive and not excluded calls it; those
to exclude, the same on all of them, shall not be members though they may be alive. All get the same
group, or all get an error and may call again. The ranks keep their order. Afterwards calls on the old
group fail with an `AbortedError`, on the excluded ranks as well; it is still to be destroyed. Of
`WORLD` the result is `WORLD`, which is the new group then.

With `abort` running operations of the group end first, on all ranks. If fewer than `min_size` ranks
are left, no group is made. `timeout` is for making the group.
"""
function shrink_group(ranks_to_exclude = (); group::Group = WORLD, abort::Bool = false,
                      description = nothing, min_size::Integer = 1, timeout = nothing)
    excluded = integers(Int32, ranks_to_exclude, :ranks_to_exclude)
    wanted = options(Raw.tutti_shrink_options; min_size = min_size,
                     timeout_ms = milliseconds(timeout))
    slot = group === WORLD ? C_NULL : group_slot()
    call_waiting(Raw.tutti_shrink_group, group, excluded, length(excluded),
                 abort ? Raw.TUTTI_SHRINK_ABORT : Raw.TUTTI_SHRINK_DEFAULT, optional(description),
                 Ref(wanted), slot)
    group === WORLD ? WORLD : owned_group(slot[])
end

"""
    get_reconfigure_handle()

The text by which other processes reach this one in `reconfigure`: pass it to them in any way, for
instance by a store or a file. It stays the same until the process ends. The first call opens a port.
"""
function get_reconfigure_handle()
    slot = bytes_slot()
    call(Raw.tutti_get_reconfigure_handle, slot)
    take_string(slot)
end

"""
    reconfigure(id, handles; group = WORLD, backend = nothing, description = nothing,
                timeout = nothing, reproducible = false, device = Tutti.CPU)

A group of the processes whose `handles` are listed, in the order of the new ranks: those that are left
of `group` (`NON_MEMBER`: none), and new ones. So a group shrinks, grows or replaces its dead in one
call, without a store. Each listed process makes the call with the same list, `backend` and
`reproducible`, and with an `id` with which none of them has called before; it returns when all have.
If it fails, `group` is as before: call again with a new `id`. Afterwards calls on the old group fail
with an `AbortedError`; it is still to be destroyed. Of `WORLD`, which this process need not have, the
result is `WORLD`, which is the new group then.
"""
function reconfigure(id::Integer, handles; group::Group = WORLD, backend = nothing,
                     description = nothing, timeout = nothing, reproducible::Bool = false,
                     device::Device = CPU)
    texts = strings(handles)
    slot = group === WORLD ? C_NULL : group_slot()
    call_waiting(Raw.tutti_group_reconfigure, group, integer(UInt64, id, :id), texts, length(texts),
                 optional(backend), optional(description),
                 group_options(timeout, reproducible, device), slot)
    group === WORLD ? WORLD : owned_group(slot[])
end

"""
    agree(flags; group = WORLD, timeout = nothing)

The bits, a `UInt64`, that are set in the flags of all ranks of the group that are alive: for
instance whether a step has succeeded everywhere. It works whether or not the group has failed; ranks
may also die during the call, and the flags of such a rank may count. Every rank that is alive calls
it, and all get the same.
"""
function agree(flags::Integer; group::Group = WORLD, timeout = nothing)
    slot = Ref(integer(UInt64, flags, :flags))
    call_waiting(Raw.tutti_group_agree, group, slot, milliseconds(timeout))
    slot[]
end

"""
    revoke(group = WORLD, reason = nothing)

Ends the group on all its ranks: running operations end, and later ones fail, with an `AbortedError`
and the reason. So a rank that has found that the group cannot go on frees the others from waiting for
it. The group can then be shrunk. Does nothing if the group has failed before.
"""
revoke(group::Group = WORLD, reason = nothing) =
    call(Raw.tutti_group_revoke, group, optional(reason))

"""
    abort(group = WORLD)

Ends the operations of this rank on the group at once, with an `AbortedError`, and waits for no other
rank. An array is the caller's again when its call or work has ended, which takes milliseconds. Those
of the other ranks fail as with `revoke`. Does nothing if the group has failed before.
"""
abort(group::Group = WORLD) = call_waiting(Raw.tutti_group_abort, group)

"""
    failure(group = WORLD)

A `Work` that ends when the group cannot go on; `wait` throws why, and names the rank. So a program
learns of a death without an operation on the group, for instance by `then` or `waitany`. If the
group is destroyed first, it ends with an `AbortedError`.
"""
function failure(group::Group = WORLD)
    borrows_nothing = Pending(nothing, handle -> nothing, false)  # the group can be collected
    Work(start(Raw.tutti_group_failure, borrows_nothing, group))
end
