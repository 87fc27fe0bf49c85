# object_collectives.jl: collectives of values of Julia, whose sizes may differ between ranks.
#
# All take `group = WORLD`, `options = nothing` (`ObjectOptions`), `timeout = nothing` and
# `async = false`. Values come back as new values: nothing is shared between ranks.

"Objects of values that are sent: held until that is done, then given back."
objects_of(values) = Object[value isa Object ? value : Object(value) for value in values]
handles_of(objects) = Ptr{Raw.tutti_object}[object.handle for object in objects]
no_handles(count) = fill(Ptr{Raw.tutti_object}(C_NULL), count)

"How objects are received: by a work, which keeps them until they are taken."
receiving(async) = CallMode(async = async, needs_work = true)

"The result that receives objects: the values of so many that the work has."
struct Values
    count::Int
    made::Any  # made(values) is the result
end
function (values::Values)(handle)
    slots = no_handles(values.count)
    isempty(slots) || call(Raw.tutti_work_take_objects, handle, slots, length(slots))
    objects = map(Object, slots)
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
    filled = Values(sends ? 0 : length(values), all -> sends ? values : copyto!(values, all))
    issue(Raw.tutti_broadcast_object_list, receiving(async), filled, objects, group,
          sends ? handles_of(objects) : C_NULL, length(values), int32(src, :src),
          object_options(options), call_options(timeout), C_NULL)
end

"""
    allgather_object(value; ...)

Every rank's value, in a vector in the order of the ranks.
"""
function allgather_object(value; group::Group = WORLD, options = nothing, async::Bool = false,
                          timeout = nothing)
    object = Object(value)
    issue(Raw.tutti_all_gather_object, receiving(async),
          Values(max(0, get_world_size(group)), identity), object, group, object,
          object_options(options), call_options(timeout), C_NULL, 0)
end

"""
    gather_object(value; dst = 0, ...)

On rank `dst` every rank's value, in a vector in the order of the ranks; `nothing` on the others.
"""
function gather_object(value; dst::Integer = 0, group::Group = WORLD, options = nothing,
                       async::Bool = false, timeout = nothing)
    receives = get_rank(group) == dst
    object = Object(value)
    gathered = Values(receives ? get_world_size(group) : 0, all -> receives ? all : nothing)
    issue(Raw.tutti_gather_object, receiving(async), gathered, object, group, object,
          int32(dst, :dst), object_options(options), call_options(timeout), C_NULL, 0)
end

"""
    scatter_object_list(values = nothing; src = 0, ...)

Every rank's own of the `values` that rank `src` gives, one for each rank; others give `nothing`.
"""
function scatter_object_list(values = nothing; src::Integer = 0, group::Group = WORLD,
                             options = nothing, async::Bool = false, timeout = nothing)
    objects = values === nothing ? Object[] : objects_of(values)
    issue(Raw.tutti_scatter_object_list, receiving(async), Values(1, first), objects, group,
          values === nothing ? C_NULL : handles_of(objects), length(objects), int32(src, :src),
          object_options(options), call_options(timeout), C_NULL)
end
