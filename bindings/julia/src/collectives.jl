# collectives.jl: operations that every rank of a group calls, in the same order.
#
# All take `group = WORLD`, `timeout = nothing` (the group's) and `async = false`: with `true` they
# return a `Work` at once, whose `fetch` gives what the call returns without it. Arrays are dense:
# Arrays, or views without gaps; synchronous calls copy others. Arrays of a device (device.jl) are
# taken where they are; with a `stream` of it the call returns when it is enqueued there.

"""
    bcast!(x; src = 0, group = WORLD, async = false, timeout = nothing, stream = nothing)

Copies the array of rank `src` to all ranks. torch: broadcast.
"""
function bcast!(x::Memory; src::Integer = 0, group::Group = WORLD, async::Bool = false,
                timeout = nothing, stream = nothing)
    lent = lend_output(x, :x; keeps = keeps(async, group))
    issue(Raw.tutti_broadcast, CallMode(async = async), Output(lent), lent, group, lent.buffer,
          int32(src, :src), call_options(timeout, stream))
end

"""
    allreduce!(x, op; group = WORLD, async = false, timeout = nothing, stream = nothing)
    allreduce!(output, input, op; ...)

Reduces all ranks' arrays, element by element; every rank receives the result, the same bits. `op`
is `+`, `*`, `min`, `max`, `&`, `|`, `xor`, `AVG`, a `PremulSum`, a `ReduceOp`, or another function
of two elements. torch: all_reduce.
"""
function allreduce!(x::Memory, op; group::Group = WORLD, async::Bool = false, timeout = nothing,
                    stream = nothing)
    lent = lend_output(x, :x; keeps = keeps(async, group), reduces = true)
    in_place() do
        with_op(op) do reduce
            issue(Raw.tutti_all_reduce, CallMode(async = async, calls_back = calls_back(reduce)),
                  Output(lent), (lent, reduce), group, C_NULL, lent.buffer, reduce.code,
                  call_options(timeout, stream))
        end
    end
end

function allreduce!(output::Memory, input::Memory, op; group::Group = WORLD, async::Bool = false,
                    timeout = nothing, stream = nothing)
    stays = keeps(async, group)
    out = lend_output(output, :output; keeps = stays, reduces = true)
    given = lend(input, :input; keeps = stays, reduces = true)
    with_op(op) do reduce
        issue(Raw.tutti_all_reduce, CallMode(async = async, calls_back = calls_back(reduce)),
              Output(out), (out, given, reduce), group, given.buffer, out.buffer, reduce.code,
              call_options(timeout, stream))
    end
end

"""
    allreduce(x, op; group = WORLD, timeout = nothing)

The reduction of all ranks' `x`, a number or an array, which stays as it is.
"""
allreduce(x::AbstractArray, op; options...) =
    allreduce!(is_on_device(x) ? copy(x) : Array(x), op; options...)
function allreduce(x::Number, op; group::Group = WORLD, timeout = nothing)
    group.collected === nothing || throw(ArgumentError(
        "x is a number, and coalescing has no result to return yet: give allreduce! a Ref"))
    allreduce!(Ref(x), op; group = group, timeout = timeout)[]
end

"""
    allreduce_addends!(output, inputs, op = +; group = WORLD, async = false, timeout = nothing,
                       stream = nothing)

Adds all arrays that the ranks contribute, each as many as it has: the exact sum, rounded once, or
with `AVG` divided by the number of all. For groups made with `reproducible = true`.
"""
function allreduce_addends!(output::Memory, inputs, op = +; group::Group = WORLD,
                            async::Bool = false, timeout = nothing, stream = nothing)
    stays = keeps(async, group)
    out = lend_output(output, :output; keeps = stays, reduces = true)
    ins = lend_list(lend, inputs, :inputs; keeps = stays, reduces = true)
    issue(Raw.tutti_all_reduce_addends, CallMode(async = async), Output(out), (out, ins), group,
          ins.buffers, length(ins.buffers), out.buffer, reduce_op(op).code,
          call_options(timeout, stream))
end

"""
    reduce!(x, op; dst = 0, group = WORLD, async = false, timeout = nothing, stream = nothing)
    reduce!(output, input, op; ...)

Reduces all ranks' arrays, element by element; rank `dst` alone receives the result, and other
ranks' memory stays as it was: they may give `nothing` as `output`.
"""
function reduce!(x::Memory, op; dst::Integer = 0, group::Group = WORLD, async::Bool = false,
                 timeout = nothing, stream = nothing)
    lent = lend_output(x, :x; keeps = keeps(async, group), reduces = true)
    in_place() do
        with_op(op) do reduce
            issue(Raw.tutti_reduce, CallMode(async = async, calls_back = calls_back(reduce)),
                  Output(lent), (lent, reduce), group, C_NULL, lent.buffer, reduce.code,
                  int32(dst, :dst), call_options(timeout, stream))
        end
    end
end

function reduce!(output::Union{Memory, Nothing}, input::Memory, op; dst::Integer = 0,
                 group::Group = WORLD, async::Bool = false, timeout = nothing, stream = nothing)
    stays = keeps(async, group)
    out = output === nothing ? nothing : lend_output(output, :output; keeps = stays, reduces = true)
    given = lend(input, :input; keeps = stays, reduces = true)
    with_op(op) do reduce
        issue(Raw.tutti_reduce, CallMode(async = async, calls_back = calls_back(reduce)), Output(out),
              (out, given, reduce), group, given.buffer, pointer_to(out), reduce.code, int32(dst,
              :dst), call_options(timeout, stream))
    end
end

"""
    reducescatter!(output, input, op; group = WORLD, async = false, timeout = nothing,
                   stream = nothing)

Reduces all ranks' inputs and leaves to each rank its part of the result. `input` is an array of as
many times the elements of `output` as there are ranks, or a list with an array for each rank, which
may differ in length. torch: reduce_scatter_tensor, reduce_scatter.
"""
function reducescatter!(output::Memory, input, op; group::Group = WORLD, async::Bool = false,
                        timeout = nothing, stream = nothing)
    stays = keeps(async, group)
    out = lend_output(output, :output; keeps = stays, reduces = true)
    is_list(input) && return reducescatter_list!(out, input, op, group, async, stays,
                                                 call_options(timeout, stream))
    given = lend(input, :input; keeps = stays, reduces = true)
    with_op(op) do reduce
        issue(Raw.tutti_reduce_scatter_tensor,
              CallMode(async = async, calls_back = calls_back(reduce)), Output(out),
              (out, given, reduce), group, given.buffer, out.buffer, reduce.code,
              call_options(timeout, stream))
    end
end

function reducescatter_list!(out, input, op, group, async, stays, options)
    ins = lend_list(lend, input, :input; keeps = stays, reduces = true)
    with_op(op) do reduce
        issue(Raw.tutti_reduce_scatter, CallMode(async = async, calls_back = calls_back(reduce)),
              Output(out), (out, ins, reduce), group, ins.buffers, length(ins.buffers),
              out.buffer, reduce.code, options)
    end
end

"""
    barrier(; group = WORLD, async = false, timeout = nothing, stream = nothing)

Returns when every rank of the group has called it.
"""
barrier(; group::Group = WORLD, async::Bool = false, timeout = nothing, stream = nothing) =
    issue(Raw.tutti_barrier, CallMode(async = async), Output(nothing), nothing, group,
          call_options(timeout, stream))

"""
    monitored_barrier(; wait_all_ranks = false, group = WORLD, timeout = nothing)

A barrier that says who is missing: rank 0 fails with a `TimeoutError` that names the first rank
that has not come, or all of them.
"""
monitored_barrier(; wait_all_ranks::Bool = false, group::Group = WORLD, timeout = nothing) =
    call_waiting(Raw.tutti_monitored_barrier, group, wait_all_ranks, call_options(timeout))

"""
    breakpoint(rank; group = WORLD, timeout = nothing)

Stops that rank, the same on all ranks of the group, in a debugger, while the others wait for it. The
rank prints how to attach one. The timeout is for all ranks to call it; for the debugger there is
none.
"""
breakpoint(rank::Integer; group::Group = WORLD, timeout = nothing) =
    call_waiting(Raw.tutti_breakpoint, group, int32(rank, :rank), call_options(timeout))
