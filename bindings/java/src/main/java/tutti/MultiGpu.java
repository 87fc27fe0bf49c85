package tutti;

import java.util.List;
import tutti.raw.Raw;

/** Collectives of ranks that have several GPUs each: all as many, and the same ones in each call on
 *  a group. A list has a tensor on each of them, all of one count and dtype. The first call on a
 *  group makes the connections: it waits for all ranks, also in its form that returns a work. The
 *  calls wait for the default streams, and the group has no other. */
abstract class MultiGpu extends Gathers {
    MultiGpu(Core core, long timeoutMs, long stream, byte[] tagName,
             ObjectOptions objectOptions) {
        super(core, timeoutMs, stream, tagName, objectOptions);
    }

    /** Copies one tensor to all tensors of all ranks.
     *  @param buffers    one on each GPU of this rank
     *  @param groupSrc   group rank of the source
     *  @param srcTensor  which of its tensors is the source
     *  @deprecated torch has taken it out; be a rank for each GPU ({@link Group#create}), and use
     *      {@link #broadcast} */
    @Deprecated
    public void broadcastMultigpu(List<Tensor> buffers, int groupSrc, int srcTensor) {
        now(call -> broadcastMultigpu(call, buffers, groupSrc, srcTensor));
    }

    static Outcome<Void> broadcastMultigpu(Call call, List<Tensor> buffers, int groupSrc,
                                           int srcTensor) {
        return call.check(Raw.tutti_broadcast_multigpu(
                call.group, call.outputs("buffers", buffers), Call.count(buffers), groupSrc,
                srcTensor, call.options, call.work, call.error));
    }

    /** Reduces all tensors of all ranks, element by element; every tensor receives the result.
     *  @param buffers  one on each GPU of this rank
     *  @param op       AVG divides by the number of all tensors
     *  @deprecated torch has taken it out; be a rank for each GPU ({@link Group#create}), and use
     *      {@link #allReduce(Tensor, ReduceOp) allReduce} */
    @Deprecated
    public void allReduceMultigpu(List<Tensor> buffers, ReduceOp op) {
        now(call -> allReduceMultigpu(call, buffers, op));
    }

    static Outcome<Void> allReduceMultigpu(Call call, List<Tensor> buffers, ReduceOp op) {
        return call.check(Raw.tutti_all_reduce_multigpu(
                call.group, call.outputs("buffers", buffers), Call.count(buffers), call.op(op),
                call.options, call.work, call.error));
    }

    /** Reduces all tensors of all ranks, element by element; one alone receives the result.
     *  @param buffers    one on each GPU of this rank
     *  @param groupDst   group rank of the destination
     *  @param dstTensor  which of its tensors is the destination
     *  @deprecated torch has taken it out; be a rank for each GPU ({@link Group#create}), and use
     *      {@link #reduce} */
    @Deprecated
    public void reduceMultigpu(List<Tensor> buffers, ReduceOp op, int groupDst, int dstTensor) {
        now(call -> reduceMultigpu(call, buffers, op, groupDst, dstTensor));
    }

    static Outcome<Void> reduceMultigpu(Call call, List<Tensor> buffers, ReduceOp op, int groupDst,
                                        int dstTensor) {
        return call.check(Raw.tutti_reduce_multigpu(
                call.group, call.outputs("buffers", buffers), Call.count(buffers), call.op(op),
                groupDst, dstTensor, call.options, call.work, call.error));
    }

    /** Each GPU of every rank receives the inputs of all ranks.
     *  @param inputs   one on each GPU of this rank
     *  @param outputs  first those on the GPU of inputs[0], one for each input of rank 0, then of
     *                  rank 1, …; then as many on the GPU of inputs[1], …. An input may be its own
     *                  output
     *  @deprecated torch has taken it out; be a rank for each GPU ({@link Group#create}), and use
     *      {@link #allGather} */
    @Deprecated
    public void allGatherMultigpu(List<Tensor> inputs, List<Tensor> outputs) {
        now(call -> allGatherMultigpu(call, inputs, outputs));
    }

    static Outcome<Void> allGatherMultigpu(Call call, List<Tensor> inputs, List<Tensor> outputs) {
        return call.check(Raw.tutti_all_gather_multigpu(
                call.group, call.inputs("inputs", inputs), Call.count(inputs),
                call.outputs("outputs", outputs), Call.count(outputs), call.options, call.work,
                call.error));
    }

    /** Reduces lists of tensors, element by element, and leaves one part to each GPU of every rank.
     *  @param inputs   first those on the GPU of outputs[0], one for each output of rank 0, then of
     *                  rank 1, …; then as many on the GPU of outputs[1], …
     *  @param outputs  one on each GPU of this rank; one may be its own input
     *  @deprecated torch has taken it out; be a rank for each GPU ({@link Group#create}), and use
     *      {@link #reduceScatter} */
    @Deprecated
    public void reduceScatterMultigpu(List<Tensor> inputs, List<Tensor> outputs, ReduceOp op) {
        now(call -> reduceScatterMultigpu(call, inputs, outputs, op));
    }

    static Outcome<Void> reduceScatterMultigpu(Call call, List<Tensor> inputs, List<Tensor> outputs,
                                               ReduceOp op) {
        return call.check(Raw.tutti_reduce_scatter_multigpu(
                call.group, call.inputs("inputs", inputs), Call.count(inputs),
                call.outputs("outputs", outputs), Call.count(outputs), call.op(op), call.options,
                call.work, call.error));
    }
}
