# object_collectives.jl: collectives of values of Julia, whose sizes may differ between ranks.
#
# All take `group = WORLD`, `options = nothing` (`ObjectOptions`), `timeout = nothing` and
# `async = false`. Values come back as new values: nothing is shared between ranks.

"Objects of values that are sent: held until that is done, then given back."
objects_of(values) = Object[value isa Object ? value : Object(value) for value in values]
handles_of(objects) = Ptr{Raw.tutti_object}[object.handle for object in objects]
no_handles(count) = fill(Ptr{Raw.tutti_object}(C_NULL), count)

"The result that receives objects: the values of what came into the slots."
struct Values
    slots::Vector{Ptr{Raw.tutti_object}}
    made::Any  # made(values) is the result
end
function (values::Values)(_)
    objects = map(Object, values.slots)
    try
        values.made(Any[value(object) for object in objects])
    finally
        foreach(close, objects)
    end
end

"""
    bcast_object_list!(values; src = 0, ...)

Fills the vector with the values of rank `src`; all ranks give one of the same length.
"""
function bcast_object_list!(values::AbstractVector; src::Integer = 0, group::Group = WORLD,
                            options = nothing, async::Bool = false, timeout = nothing)
    sends = get_rank(group) == src
    sends || is_writable(values) || throw(ArgumentError(
        "values is a $(described(values)), which takes no values on rank $(get_rank(group))"))
    objects = sends ? objects_of(values) : Object[]
    slots = no_handles(sends ? 0 : length(values))
    filled = Values(slots, all -> sends ? values : copyto!(values, all))
    issue(Raw.tutti_broadcast_object_list, Manner(async = async), filled, (objects, slots), group,
          sends ? handles_of(objects) : C_NULL, length(values), sends ? C_NULL : slots, int32(src,
          :src), object_options(options), call_options(timeout))
end

"""
    allgather_object(value; ...)

Every rank's value, in a vector in the order of the ranks.
"""
function allgather_object(value; group::Group = WORLD, options = nothing, async::Bool = false,
                          timeout = nothing)
    object, slots = Object(value), no_handles(max(0, get_world_size(group)))
    issue(Raw.tutti_all_gather_object, Manner(async = async), Values(slots, identity),
          (object, slots), group, object, slots, length(slots), object_options(options),
          call_options(timeout))
end

"""
    gather_object(value; dst = 0, ...)

On rank `dst` every rank's value, in a vector in the order of the ranks; `nothing` on the others.
"""
function gather_object(value; dst::Integer = 0, group::Group = WORLD, options = nothing,
                       async::Bool = false, timeout = nothing)
    receives = get_rank(group) == dst
    object, slots = Object(value), no_handles(receives ? get_world_size(group) : 0)
    issue(Raw.tutti_gather_object, Manner(async = async),
          Values(slots, all -> receives ? all : nothing), (object, slots), group, object,
          receives ? slots : C_NULL, length(slots), int32(dst, :dst), object_options(options),
          call_options(timeout))
end

"""
    scatter_object_list(values = nothing; src = 0, ...)

Every rank's own of the `values` that rank `src` gives, one for each rank; others give `nothing`.
"""
function scatter_object_list(values = nothing; src::Integer = 0, group::Group = WORLD,
                             options = nothing, async::Bool = false, timeout = nothing)
    objects = values === nothing ? Object[] : objects_of(values)
    slots = no_handles(1)
    issue(Raw.tutti_scatter_object_list, Manner(async = async), Values(slots, first),
          (objects, slots), group, values === nothing ? C_NULL : handles_of(objects),
          length(objects), slots, int32(src, :src), object_options(options), call_options(timeout))
end
