# byte_collectives.jl: collectives of bytes, whose number may differ freely between ranks.
#
# Bytes are given as a vector of UInt8 or a string, and received as a vector of UInt8. All take
# `max_bytes = 0` (of one rank; 0: 4 GiB), `group = WORLD`, `timeout = nothing`, `async = false`.

"The result that receives bytes: so many that the work has."
struct Bytes
    count::Int
    made::Any  # made(bytes) is the result
end
function (bytes::Bytes)(handle)
    slots = fill(Ptr{Raw.tutti_bytes}(C_NULL), bytes.count)
    isempty(slots) || call(Raw.tutti_work_take_bytes, handle, slots, length(slots))
    bytes.made(map(take_bytes, slots))
end

"""
    bcast_bytes(data = nothing; src = 0, ...)

The bytes of rank `src`, on every rank; others than `src` give `nothing`.
"""
function bcast_bytes(data = nothing; src::Integer = 0, max_bytes::Integer = 0,
                     group::Group = WORLD, async::Bool = false, timeout = nothing)
    sends = get_rank(group) == src
    sends && data === nothing && throw(ArgumentError("data is nothing on the source, rank $src"))
    bytes = sends ? bytes_of(data, :data) : UInt8[]
    issue(Raw.tutti_broadcast_bytes, receiving(async),
          Bytes(sends ? 0 : 1, all -> sends ? bytes : first(all)), bytes, group,
          sends ? bytes : C_NULL, length(bytes), int32(src, :src), int64(max_bytes, :max_bytes),
          call_options(timeout), C_NULL)
end

"""
    allgather_bytes(data; ...)

Every rank's bytes, in a vector in the order of the ranks.
"""
function allgather_bytes(data; max_bytes::Integer = 0, group::Group = WORLD, async::Bool = false,
                         timeout = nothing)
    bytes = bytes_of(data, :data)
    issue(Raw.tutti_all_gather_bytes, receiving(async),
          Bytes(max(0, get_world_size(group)), identity), bytes, group, bytes, length(bytes),
          int64(max_bytes, :max_bytes), call_options(timeout), C_NULL, 0)
end

"""
    gather_bytes(data; dst = 0, ...)

On rank `dst` every rank's bytes, in a vector in the order of the ranks; `nothing` on the others.
"""
function gather_bytes(data; dst::Integer = 0, max_bytes::Integer = 0, group::Group = WORLD,
                      async::Bool = false, timeout = nothing)
    receives = get_rank(group) == dst
    bytes = bytes_of(data, :data)
    gathered = Bytes(receives ? get_world_size(group) : 0, all -> receives ? all : nothing)
    issue(Raw.tutti_gather_bytes, receiving(async), gathered, bytes, group, bytes, length(bytes),
          int32(dst, :dst), int64(max_bytes, :max_bytes), call_options(timeout), C_NULL, 0)
end

"""
    scatter_bytes(data = nothing; src = 0, ...)

Every rank's own of the bytes that rank `src` gives, one vector or string for each rank; others
give `nothing`.
"""
function scatter_bytes(data = nothing; src::Integer = 0, max_bytes::Integer = 0,
                       group::Group = WORLD, async::Bool = false, timeout = nothing)
    given = Vector{UInt8}[bytes_of(one, "data[$i]")
                          for (i, one) in enumerate(something(data, ()))]
    places = data === nothing ? C_NULL : Ptr{Cvoid}[pointer(bytes) for bytes in given]
    sizes = data === nothing ? C_NULL : Csize_t[length(bytes) for bytes in given]
    issue(Raw.tutti_scatter_bytes, receiving(async), Bytes(1, first), given, group, places, sizes,
          length(given), int32(src, :src), int64(max_bytes, :max_bytes), call_options(timeout),
          C_NULL)
end
