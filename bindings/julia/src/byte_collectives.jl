# byte_collectives.jl: collectives of bytes, whose number may differ freely between ranks.
#
# Bytes are given as a vector of UInt8 or a string, and received as a vector of UInt8. All take
# `max_bytes = 0` (of one rank; 0: 4 GiB), `group = WORLD`, `timeout = nothing`, `async = false`.

no_bytes(count) = fill(Ptr{Raw.tutti_bytes}(C_NULL), count)

"The result that receives bytes."
struct Bytes
    slots::Vector{Ptr{Raw.tutti_bytes}}
    made::Any  # made(bytes) is the result
end
(bytes::Bytes)(_) = bytes.made(map(take_bytes, bytes.slots))

"""
    bcast_bytes(data = nothing; src = 0, ...)

The bytes of rank `src`, on every rank; others than `src` give `nothing`.
"""
function bcast_bytes(data = nothing; src::Integer = 0, max_bytes::Integer = 0,
                     group::Group = WORLD, async::Bool = false, timeout = nothing)
    sends = get_rank(group) == src
    sends && data === nothing && throw(ArgumentError("data is nothing on the source, rank $src"))
    bytes = sends ? bytes_of(data, :data) : UInt8[]
    slots = no_bytes(sends ? 0 : 1)
    issue(Raw.tutti_broadcast_bytes, Manner(async = async),
          Bytes(slots, all -> sends ? bytes : first(all)), (bytes, slots), group,
          sends ? bytes : C_NULL, length(bytes), sends ? C_NULL : slots, int32(src, :src),
          int64(max_bytes, :max_bytes), call_options(timeout))
end

"""
    allgather_bytes(data; ...)

Every rank's bytes, in a vector in the order of the ranks.
"""
function allgather_bytes(data; max_bytes::Integer = 0, group::Group = WORLD, async::Bool = false,
                         timeout = nothing)
    bytes, slots = bytes_of(data, :data), no_bytes(max(0, get_world_size(group)))
    issue(Raw.tutti_all_gather_bytes, Manner(async = async), Bytes(slots, identity),
          (bytes, slots), group, bytes, length(bytes), slots, length(slots),
          int64(max_bytes, :max_bytes), call_options(timeout))
end

"""
    gather_bytes(data; dst = 0, ...)

On rank `dst` every rank's bytes, in a vector in the order of the ranks; `nothing` on the others.
"""
function gather_bytes(data; dst::Integer = 0, max_bytes::Integer = 0, group::Group = WORLD,
                      async::Bool = false, timeout = nothing)
    receives = get_rank(group) == dst
    bytes, slots = bytes_of(data, :data), no_bytes(receives ? get_world_size(group) : 0)
    issue(Raw.tutti_gather_bytes, Manner(async = async),
          Bytes(slots, all -> receives ? all : nothing), (bytes, slots), group, bytes,
          length(bytes), receives ? slots : C_NULL, length(slots), int32(dst, :dst),
          int64(max_bytes, :max_bytes), call_options(timeout))
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
    slots = no_bytes(1)
    issue(Raw.tutti_scatter_bytes, Manner(async = async), Bytes(slots, first), (given, slots),
          group, places, sizes, length(given), slots, int32(src, :src),
          int64(max_bytes, :max_bytes), call_options(timeout))
end
