# point_to_point.jl: messages between two ranks of a group.

"The source of a `recv!` that takes a message of any rank."
const ANY_RANK = -1

"""
    send(x, dst; tag = 0, group = WORLD, async = false, timeout = nothing, stream = nothing)

Sends an array to rank `dst`, which receives it with `recv!` and the same tag. Returns when the
receiver takes it, or with `async = true` a `Work` at once (torch: isend).
"""
function send(x::Memory, dst::Integer; tag::Integer = 0, group::Group = WORLD, async::Bool = false,
              timeout = nothing, stream = nothing)
    lent = lend(x, :x; keeps = async)
    issue(Raw.tutti_send, CallMode(async = async, message = true), handle -> nothing, lent, group,
          lent.buffer, int32(dst, :dst), int32(tag, :tag), call_options(timeout, stream))
end

"""
    recv!(x, src = ANY_RANK; tag = 0, group = WORLD, async = false, timeout = nothing,
          stream = nothing)

Receives a message that rank `src`, or any, sent with the same tag, length and element type. Returns
the sender's rank; with `async = true` a `Work` at once (torch: irecv), which has `source_rank`.
"""
function recv!(x::Memory, src::Integer = ANY_RANK; tag::Integer = 0, group::Group = WORLD,
               async::Bool = false, timeout = nothing, stream = nothing)
    lent = lend_output(x, :x; keeps = async)
    sender = async || stream === nothing ? C_NULL : Ref(Int32(-1))
    issue(Raw.tutti_recv, CallMode(async = async, needs_work = true, message = true),
          received(lent, async, sender), lent, group, lent.buffer, int32(src, :src),
          int32(tag, :tag), call_options(timeout, stream), sender)
end

function received(lent, async, sender)
    async && return Output(lent)
    handle -> (give_back(lent); sender === C_NULL ? source_of(handle) : Int(sender[]))
end

function source_of(handle)
    slot = Ref(Int32(-1))
    call(Raw.tutti_work_source_rank, handle, slot)
    Int(slot[])
end

"""
    P2POp(send, x, dst; tag = 0)
    P2POp(recv!, x, src = ANY_RANK; tag = 0)

One message of a `batch_isend_irecv`.
"""
struct P2POp
    kind::UInt32
    x::Memory
    peer::Int32
    tag::Int32
    P2POp(::typeof(send), x::Memory, dst::Integer; tag::Integer = 0) =
        new(Raw.TUTTI_ISEND, x, int32(dst, :dst), int32(tag, :tag))
    P2POp(::typeof(recv!), x::Memory, src::Integer = ANY_RANK; tag::Integer = 0) =
        new(Raw.TUTTI_IRECV, x, int32(src, :src), int32(tag, :tag))
end

lend_message(op::P2POp, name) =
    (op.kind == Raw.TUTTI_IRECV ? lend_output : lend)(op.x, name; keeps = true)

"""
    batch_isend_irecv(ops; group = WORLD, timeout = nothing, stream = nothing)

Starts several sends and receives, in any mix, and returns their works, in the order of `ops`.
"""
function batch_isend_irecv(ops; group::Group = WORLD, timeout = nothing, stream = nothing)
    ops = P2POp[op for op in ops]
    lent = [lend_message(op, "the array of ops[$i]") for (i, op) in enumerate(ops)]
    raw = Raw.tutti_p2p_op[
        Raw.tutti_p2p_op(op.kind, op.peer, op.tag, 0, one.buffer[], (0, 0))
        for (op, one) in zip(ops, lent)]
    slots = fill(Ptr{Raw.tutti_work}(C_NULL), length(raw))
    pendings = [Pending((one, group), Output(one), false) for one in lent]
    try
        foreach(hold, pendings)
        call(Raw.tutti_batch_isend_irecv, group, raw, length(raw), call_options(timeout, stream),
             slots)
    catch
        foreach(drop, pendings)
        rethrow()
    end
    map(pendings, slots) do pending, slot
        pending.handle = slot
        Work(pending)
    end
end
