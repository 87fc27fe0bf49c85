# multigpu.jl: collectives of ranks that have several GPUs each. Deprecated: torch has taken them
# out. A process can be a rank for each of its GPUs instead, which leaves it all other calls as
# well.
#
# All ranks have as many GPUs, and use the same ones in each call on a group. A list of `buffers`
# has an array on each of them, all of one length and type. The first call on a group makes the
# connections: it waits for all ranks, also with `async = true`, and the group must have a store.
# The calls wait for the default streams, so there is no `stream`.

"How C counts the arrays of a list."
function tensor_index(index::Integer, list, name)
    1 <= index <= length(list.buffers) || throw(ArgumentError(
        "$name is $index, but the list has $(length(list.buffers)) arrays"))
    int32(index - 1, name)
end

"""
    bcast_multigpu!(buffers; src = 0, src_tensor = 1, group = WORLD, async = false,
                    timeout = nothing)

Copies `buffers[src_tensor]` of rank `src` to all arrays of all ranks. Each list has an array on
each GPU of its rank. Deprecated: a process can be a rank for each of its GPUs instead. torch:
broadcast_multigpu.
"""
function bcast_multigpu!(buffers; src::Integer = 0, src_tensor::Integer = 1, group::Group = WORLD,
                         async::Bool = false, timeout = nothing)
    list = lend_list(lend_output, buffers, :buffers; keeps = keeps(async, group))
    issue(Connecting(Raw.tutti_broadcast_multigpu), CallMode(async = async),
          Output(AnyOutput(list, buffers)), list, group, list.buffers, length(list.buffers),
          int32(src, :src), tensor_index(src_tensor, list, :src_tensor), call_options(timeout))
end

"""
    allreduce_multigpu!(buffers, op; group = WORLD, async = false, timeout = nothing)

Reduces all arrays of all ranks, element by element, into each of them; `AVG` divides by the number
of all arrays. Each list has an array on each GPU of its rank. Deprecated: a process can be a rank
for each of its GPUs instead. torch: all_reduce_multigpu.
"""
function allreduce_multigpu!(buffers, op; group::Group = WORLD, async::Bool = false,
                             timeout = nothing)
    list = lend_list(lend_output, buffers, :buffers; keeps = keeps(async, group), reduces = true)
    with_op(op) do reduce
        issue(Connecting(Raw.tutti_all_reduce_multigpu),
              CallMode(async = async, calls_back = calls_back(reduce)),
              Output(AnyOutput(list, buffers)), (list, reduce), group, list.buffers,
              length(list.buffers), reduce.code, call_options(timeout))
    end
end

"""
    reduce_multigpu!(buffers, op; dst = 0, dst_tensor = 1, group = WORLD, async = false,
                     timeout = nothing)

Reduces all arrays of all ranks, element by element, into `buffers[dst_tensor]` of rank `dst`; no
other is written. Each list has an array on each GPU of its rank. Deprecated: a process can be a
rank for each of its GPUs instead. torch: reduce_multigpu.
"""
function reduce_multigpu!(buffers, op; dst::Integer = 0, dst_tensor::Integer = 1,
                          group::Group = WORLD, async::Bool = false, timeout = nothing)
    list = lend_list(lend_output, buffers, :buffers; keeps = keeps(async, group), reduces = true)
    with_op(op) do reduce
        issue(Connecting(Raw.tutti_reduce_multigpu),
              CallMode(async = async, calls_back = calls_back(reduce)),
              Output(AnyOutput(list, buffers)), (list, reduce), group, list.buffers,
              length(list.buffers), reduce.code, int32(dst, :dst),
              tensor_index(dst_tensor, list, :dst_tensor), call_options(timeout))
    end
end

"""
    allgather_multigpu!(output, input; group = WORLD, async = false, timeout = nothing)

Gathers the inputs of all ranks on each GPU of every rank. `input` is a list of arrays, one on each
GPU. `output` is a list that has first the arrays on the GPU of `input[1]`, one for each input of
rank 0, then of rank 1, ...; then as many on the GPU of `input[2]`, ... An input may be its own
output. Deprecated: a process can be a rank for each of its GPUs instead. torch:
all_gather_multigpu.
"""
function allgather_multigpu!(output, input; group::Group = WORLD, async::Bool = false,
                             timeout = nothing)
    stays = keeps(async, group)
    outs = lend_list(lend_output, output, :output; keeps = stays)
    ins = lend_list(lend, input, :input; keeps = stays)
    issue(Connecting(Raw.tutti_all_gather_multigpu), CallMode(async = async),
          Output(AnyOutput(outs, output)), (outs, ins), group, ins.buffers, length(ins.buffers),
          outs.buffers, length(outs.buffers), call_options(timeout))
end

"""
    reducescatter_multigpu!(output, input, op; group = WORLD, async = false, timeout = nothing)

Reduces lists of arrays, element by element; each GPU of every rank receives one part. `output` is a
list of arrays, one on each GPU. `input` is a list that has first the arrays on the GPU of
`output[1]`, one for each output of rank 0, then of rank 1, ...; then as many on the GPU of
`output[2]`, ... An output may be its own input. Deprecated: a process can be a rank for each of its
GPUs instead. torch: reduce_scatter_multigpu.
"""
function reducescatter_multigpu!(output, input, op; group::Group = WORLD, async::Bool = false,
                                 timeout = nothing)
    stays = keeps(async, group)
    outs = lend_list(lend_output, output, :output; keeps = stays, reduces = true)
    ins = lend_list(lend, input, :input; keeps = stays, reduces = true)
    with_op(op) do reduce
        issue(Connecting(Raw.tutti_reduce_scatter_multigpu),
              CallMode(async = async, calls_back = calls_back(reduce)),
              Output(AnyOutput(outs, output)), (outs, ins, reduce), group, ins.buffers,
              length(ins.buffers), outs.buffers, length(outs.buffers), reduce.code,
              call_options(timeout))
    end
end
