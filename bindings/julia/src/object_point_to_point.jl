# object_point_to_point.jl: values of Julia and bytes between two ranks, of any size. They are
# messages like those of `send` and `recv!`, in the same order, and their tags are the same.

"""
    send_object_list(values, dst; tag = 0, group = WORLD, options, async = false, timeout)

Sends values to rank `dst`, which receives them with `recv_object_list` and the same tag.
"""
function send_object_list(values, dst::Integer; tag::Integer = 0, group::Group = WORLD,
                          options = nothing, async::Bool = false, timeout = nothing)
    objects = objects_of(values)
    issue(Raw.tutti_send_object_list, CallMode(async = async, message = true), handle -> nothing,
          objects, group, handles_of(objects), length(objects), int32(dst, :dst), int32(tag, :tag),
          object_options(options), call_options(timeout))
end

"""
    recv_object_list(count, src = ANY_RANK; tag = 0, group = WORLD, options, async = false,
                     timeout)

Receives `count` values that rank `src`, or any, sent with the same tag: a vector.
"""
function recv_object_list(count::Integer, src::Integer = ANY_RANK; tag::Integer = 0,
                          group::Group = WORLD, options = nothing, async::Bool = false,
                          timeout = nothing)
    0 <= count <= typemax(Int32) || throw(ArgumentError("count is $count"))
    issue(Raw.tutti_recv_object_list, CallMode(async = async, needs_work = true, message = true),
          Values(count, identity), nothing, group, int32(src, :src), int32(tag, :tag),
          object_options(options), call_options(timeout), C_NULL, count, C_NULL)
end

"""
    send_bytes(data, dst; tag = 0, group = WORLD, async = false, timeout = nothing)

Sends bytes to rank `dst`, which receives them with `recv_bytes` and the same tag.
"""
function send_bytes(data, dst::Integer; tag::Integer = 0, group::Group = WORLD,
                    async::Bool = false, timeout = nothing)
    bytes = bytes_of(data, :data)
    issue(Raw.tutti_send_bytes, CallMode(async = async, message = true), handle -> nothing, bytes,
          group, bytes, length(bytes), int32(dst, :dst), int32(tag, :tag), call_options(timeout))
end

"""
    recv_bytes(src = ANY_RANK; tag = 0, max_bytes = 0, group = WORLD, async = false, timeout)

Receives the bytes that rank `src`, or any, sent with the same tag: a vector of UInt8.
"""
function recv_bytes(src::Integer = ANY_RANK; tag::Integer = 0, max_bytes::Integer = 0,
                    group::Group = WORLD, async::Bool = false, timeout = nothing)
    issue(Raw.tutti_recv_bytes, CallMode(async = async, needs_work = true, message = true),
          Bytes(1, first), nothing, group, int32(src, :src), int32(tag, :tag),
          int64(max_bytes, :max_bytes), call_options(timeout), C_NULL, C_NULL)
end
