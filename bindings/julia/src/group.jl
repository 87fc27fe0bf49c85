# group.jl: process groups, from the first meeting of the ranks to the end.

"""
    Group(store, rank, world_size; backend = nothing, description = nothing, timeout = nothing,
          reproducible = false, device = Tutti.CPU)

A group with no global state: several may live in one process, also several ranks of one group, as
tasks. One set of ranks, one use of a store: give further groups a `PrefixStore`.

    Group(allgather, rank, world_size; ...)

The same without a store, for programs that have MPI or other means to reach each other:
`allgather(bytes)` returns the bytes of all ranks, one after the other.

Calls take a group as `group = ...`; `WORLD` is the one that `init_process_group` makes.
"""
mutable struct Group <: Handle
    handle::Ptr{Raw.tutti_group}
    collected::Any  # of a coalescing: what its calls borrow
    Group(handle, collected = nothing) = new(handle, collected)
end

"The default group, of all ranks."
const WORLD = Group(C_NULL)  # the handles of both are set when the module starts
"What a rank that is in none of the new groups receives: it has no rank, and no call takes it."
const NON_MEMBER = Group(C_NULL)

"Numbers, of which pointers are made when the module starts: those would not outlive precompiling."
const constant_groups = UInt[Raw.TUTTI_GROUP_WORLD, Raw.TUTTI_GROUP_NON_MEMBER]

group_slot() = Ref(Ptr{Raw.tutti_group}(C_NULL))

function owned_group(handle)
    handle == NON_MEMBER.handle && return NON_MEMBER
    finalizer(close, Group(handle))
end

release(handle::Ptr{Raw.tutti_group}) = Raw.tutti_group_release(handle)

Base.close(group::Group) =
    group === WORLD || group === NON_MEMBER ? nothing : invoke(close, Tuple{Handle}, group)

function Base.show(io::IO, group::Group)
    group === NON_MEMBER && return print(io, "NON_MEMBER")
    name = group === WORLD ? "WORLD" : "Group"
    is_member(group) || return print(io, name, "(none)")
    print(io, name, "(rank ", get_rank(group), " of ", get_world_size(group), ", ",
          get_backend(group), ")")
end

"""
    init_process_group(backend = nothing; init_method = "env://", rank, world_size, store,
                       description = nothing, timeout = nothing, reproducible = false,
                       device = Tutti.CPU)

Makes the default group, `WORLD`: every rank calls this once, and all meet, by `init_method`
(`env://`, `tcp://host:port`, `file:///path`) or at a `store`; then and with `tcp://` and `file://`
it takes `rank` and `world_size`. `backend` is `"tcp"`, `"gloo"`, `"shm"`, `"hierarchy"` or
`"loopback"`; without it the best one for where the ranks are. `timeout` is of making the group, and the
default of its operations. `device` is the one device that this rank works on, see `get_bound_device`.

    init_process_group(f, backend = nothing; ...)

Calls `f()` between `init_process_group` and `destroy_process_group`.
"""
function init_process_group(name::Union{AbstractString, Nothing} = nothing;
                            init_method::Union{AbstractString, Nothing} = nothing,
                            rank::Union{Integer, Nothing} = nothing,
                            world_size::Union{Integer, Nothing} = nothing,
                            store::Union{Store, Nothing} = nothing, description = nothing,
                            timeout = nothing, reproducible::Bool = false, device::Device = CPU)
    place = (optional(description), int32(something(rank, -1), :rank),
             int32(something(world_size, -1), :world_size),
             group_options(timeout, reproducible, device))
    if store === nothing
        call_waiting(Raw.tutti_init_process_group, optional(name), optional(init_method), place...)
    else
        init_method === nothing || throw(ArgumentError("init_method and store exclude each other"))
        call_waiting(Raw.tutti_init_process_group_with_store, optional(name), store,
                     place...)
    end
end

function init_process_group(f::Function, arguments...; options...)
    init_process_group(arguments...; options...)
    finished = false
    try
        result = f()
        finished = true
        result
    finally
        # The program's own failure is more telling than what ending the group may fail with.
        finished ? destroy_process_group() : try destroy_process_group() catch end
    end
end

"Whether the default group exists in this process."
is_initialized() = Raw.tutti_is_initialized() == 1

"""
    destroy_process_group(group = WORLD; timeout = nothing)

Ends a group: what was sent arrives, operations still running end with an `AbortedError`. Every rank
calls it; a rank does not wait for the others. `WORLD` takes all groups with it that were made from
it; `timeout` limits how long it says goodbye.
"""
destroy_process_group(group::Group = WORLD; timeout = nothing) =
    call_waiting(Raw.tutti_destroy_process_group, group,
                 Ref(options(Raw.tutti_destroy_options; timeout_ms = milliseconds(timeout))))

function Group(store::Store, rank::Integer, world_size::Integer; backend = nothing,
               description = nothing, timeout = nothing, reproducible::Bool = false,
               device::Device = CPU)
    slot = group_slot()
    call_waiting(Raw.tutti_group_create, optional(backend), store, optional(description),
                 int32(rank, :rank), int32(world_size, :world_size),
                 group_options(timeout, reproducible, device), slot)
    owned_group(slot[])
end

function Group(allgather, rank::Integer, world_size::Integer; backend = nothing,
               description = nothing, timeout = nothing, reproducible::Bool = false,
               device::Device = CPU)
    slot, place = group_slot(), (int32(rank, :rank), int32(world_size, :world_size))
    id = expect((allgather, Int(world_size)))
    try
        call_waiting(Raw.tutti_group_create_with_allgather, optional(backend),
                    helper_allgather.address, Ptr{Cvoid}(UInt(id)), optional(description), place...,
                    group_options(timeout, reproducible, device), slot)
    finally
        forget(id)
    end
    owned_group(slot[])
end

"Has the program's own all-gather do its part in the making of a group."
function allgather_event(event::Event)
    allgather, world_size = look_up(event.id)
    input = copy(unsafe_wrap(Array, Ptr{UInt8}(event.input), event.count))
    all = bytes_of(allgather(input), "what allgather returned")
    length(all) == world_size * event.count || throw(DimensionMismatch("allgather returned " *
        "$(length(all)) bytes, not the $(event.count) of each of $world_size ranks"))
    copyto!(unsafe_wrap(Array, Ptr{UInt8}(event.output), length(all)), all)
end

"The group by a call of `new_group` or `split_group`."
function made_from(f, group::Group, args...; description, timeout, reproducible, local_only, device)
    kinds = Dict(nothing => Raw.TUTTI_AS_PARENT, true => Raw.TUTTI_REPRODUCIBLE,
                 false => Raw.TUTTI_NOT_REPRODUCIBLE)
    wanted = options(Raw.tutti_new_group_options; use_local_synchronization = local_only,
                     timeout_ms = milliseconds(timeout), reproducible = kinds[reproducible],
                     device_type = device.type, device_index = device.index)
    slot = group_slot()
    call_waiting(f, group, args..., optional(description), Ref(wanted), slot)
    owned_group(slot[])
end

"""
    new_group(ranks = nothing; group = WORLD, backend, description, timeout, reproducible,
              use_local_synchronization = false, device = Tutti.CPU)

A group of some of the ranks of another one; every rank of `group` calls it with the same arguments.
Ranks that are not in it receive `NON_MEMBER`. With `use_local_synchronization` only the members
call. Without a `device` the group is bound to that of the other group.
"""
function new_group(ranks = nothing; group::Group = WORLD, backend = nothing, description = nothing,
                   timeout = nothing, reproducible::Union{Bool, Nothing} = nothing,
                   use_local_synchronization::Bool = false, device::Device = CPU)
    chosen = ranks === nothing ? C_NULL : integers(Int32, ranks, :ranks)
    made_from(Raw.tutti_new_group, group, chosen, ranks === nothing ? 0 : length(chosen),
              optional(backend); description = description, timeout = timeout,
              reproducible = reproducible, local_only = use_local_synchronization,
              device = device)
end

"""
    split_group(parts; group = WORLD, description, timeout, reproducible, device = Tutti.CPU)

Makes several groups that share no rank: `parts` are lists of ranks, the same on every rank, which
receives the group it is in, or `NON_MEMBER`.
"""
function split_group(parts; group::Group = WORLD, description = nothing, timeout = nothing,
                     reproducible::Union{Bool, Nothing} = nothing, device::Device = CPU)
    all = [integers(Int32, part, "parts[$i]") for (i, part) in enumerate(parts)]
    chosen, sizes = reduce(vcat, all; init = Int32[]), Int64.(length.(all))
    made_from(Raw.tutti_split_group, group, chosen, length(chosen), sizes, length(sizes);
              description = description, timeout = timeout, reproducible = reproducible,
              local_only = false, device = device)
end

"This process's rank in the group, from 0; -1 if it has none."
get_rank(group::Group = WORLD) = Int(Raw.tutti_get_rank(group))

"How many ranks the group has; -1 if it is not valid."
get_world_size(group::Group = WORLD) = Int(Raw.tutti_get_world_size(group))

"Whether this process is a member of the group, and the group has not ended."
is_member(group::Group = WORLD) = get_rank(group) >= 0

function text_or_nothing(text)
    text == C_NULL ? nothing : unsafe_string(text)
end

"The name of the group's backend, also where it was chosen; `nothing` if the group is not valid."
get_backend(group::Group = WORLD) = text_or_nothing(Raw.tutti_get_backend(group))

"""
    get_backend(group, device_type)

The name of the backend for the group's arrays on a type of device, `:cpu` or `:cuda`; `nothing` if
the group refuses them.
"""
get_backend(group::Group, device_type::Symbol) =
    text_or_nothing(Raw.tutti_get_backend_for_device(group, device_number(device_type)))

"""
    get_backend_config(group = WORLD)

The group's backends by type of device, `"cpu:gloo,cuda:gloo"`, with the settings of each: a text by
which another group is made.
"""
function get_backend_config(group::Group = WORLD)
    slot = bytes_slot()
    call(Raw.tutti_get_backend_config, group, slot)
    take_string(slot)
end

"Whether sums in the group have the same bits from any number of ranks."
is_reproducible(group::Group = WORLD) = Raw.tutti_group_is_reproducible(group) == 1

"""
    get_bound_device(group = WORLD)

The one device that this rank works on in the group: the `device` with which it, or the group that
it was made from, was made; `Tutti.CPU` if there is none. Calls with arrays of another device of
that type are refused.
"""
function get_bound_device(group::Group = WORLD)
    type, index = Ref(Int32(0)), Ref(Int32(0))
    call(Raw.tutti_group_get_bound_device, group, type, index)
    Device(type[], index[])
end

"A rank of the group, from its number among all ranks; -1 if it is not a member."
get_group_rank(group::Group, global_rank::Integer) =
    Int(Raw.tutti_get_group_rank(group, int32(global_rank, :global_rank)))

"The number among all ranks of a rank of the group; -1 if there is no such rank."
get_global_rank(group::Group, group_rank::Integer) =
    Int(Raw.tutti_get_global_rank(group, int32(group_rank, :group_rank)))

"The global ranks of a group's members, in the order of their ranks in the group."
function get_process_group_ranks(group::Group = WORLD)
    ranks = Vector{Int32}(undef, max(0, get_world_size(group)))
    call(Raw.tutti_get_process_group_ranks, group, ranks, length(ranks))
    Int.(ranks)
end

"Sets the timeout of the group's operations from the next one on: seconds, a `Period`, or `Inf`."
set_timeout!(group::Group, timeout) =
    call(Raw.tutti_group_set_timeout, group, milliseconds(timeout))

"The timeout of the group's operations, in seconds."
function timeout(group::Group)
    slot = Ref(Int64(0))
    call(Raw.tutti_group_get_timeout, group, slot)
    seconds(slot[])
end

"What messages call the group: its description, or a name that the library gave it."
function get_name(group::Group = WORLD)
    slot = bytes_slot()
    call(Raw.tutti_group_get_name, group, slot)
    take_string(slot)
end

"Another handle of the same group, which ends when the last of them is closed."
function Base.copy(group::Group)
    slot = group_slot()
    call(Raw.tutti_group_retain, group, slot)
    owned_group(slot[])
end

"The ranks in the group that died or were silent for too long, as far as this rank knows."
function get_failed_ranks(group::Group = WORLD)
    ranks, count = Vector{Int32}(undef, max(0, get_world_size(group))), Ref(Int64(0))
    call(Raw.tutti_get_failed_ranks, group, ranks, length(ranks), count)
    Int.(ranks[1:count[]])
end

"How many groups this process is in: the default group and those made from it."
get_pg_count() = Int(Raw.tutti_get_pg_count())
