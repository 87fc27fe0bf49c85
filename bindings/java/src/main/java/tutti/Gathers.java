package tutti;

import java.util.List;
import tutti.raw.Raw;

/** Collectives that bring pieces together or spread them out. */
abstract class Gathers extends Collectives {
    Gathers(Core core, long timeoutMs, long stream, byte[] tagName,
            ObjectOptions objectOptions) {
        super(core, timeoutMs, stream, tagName, objectOptions);
    }

    /** Every rank receives every rank's input, which may differ in count.
     *  @param input    as many elements as this rank's output; null: taken from there
     *  @param outputs  one for each rank: what that rank gave */
    public void allGather(Tensor input, List<Tensor> outputs) {
        now(call -> allGather(call, input, outputs));
    }

    static Outcome<Void> allGather(Call call, Tensor input, List<Tensor> outputs) {
        return call.check(Raw.tutti_all_gather(
                call.group, call.input("input", input), call.outputs("outputs", outputs),
                Call.count(outputs), call.options, call.work, call.error));
    }

    /** Every rank receives every rank's input, one after the other in one tensor.
     *  @param input   null: taken from this rank's place in output
     *  @param output  as many times input's count as there are ranks */
    public void allGatherIntoTensor(Tensor input, Tensor output) {
        now(call -> allGatherIntoTensor(call, input, output));
    }

    static Outcome<Void> allGatherIntoTensor(Call call, Tensor input, Tensor output) {
        return call.check(Raw.tutti_all_gather_into_tensor(
                call.group, call.input("input", input), call.output("output", output),
                call.options, call.work, call.error));
    }

    /** One rank receives every rank's input.
     *  @param input     on groupDst null: taken from its place in outputs
     *  @param outputs   on groupDst one for each rank; elsewhere null
     *  @param groupDst  group rank of the destination */
    public void gather(Tensor input, List<Tensor> outputs, int groupDst) {
        now(call -> gather(call, input, outputs, groupDst));
    }

    static Outcome<Void> gather(Call call, Tensor input, List<Tensor> outputs,
                                        int groupDst) {
        return call.check(Raw.tutti_gather(
                call.group, call.input("input", input), call.outputs("outputs", outputs),
                Call.count(outputs), groupDst, call.options, call.work, call.error));
    }

    /** Every rank receives its piece of what one rank has.
     *  @param inputs    on groupSrc one for each rank; elsewhere null
     *  @param output    on groupSrc null: its piece stays where it is
     *  @param groupSrc  group rank of the source */
    public void scatter(List<Tensor> inputs, Tensor output, int groupSrc) {
        now(call -> scatter(call, inputs, output, groupSrc));
    }

    static Outcome<Void> scatter(Call call, List<Tensor> inputs, Tensor output,
                                         int groupSrc) {
        return call.check(Raw.tutti_scatter(
                call.group, call.inputs("inputs", inputs), Call.count(inputs),
                call.output("output", output), groupSrc, call.options, call.work, call.error));
    }

    /** Every rank gives every rank a tensor; they may differ in count.
     *  @param inputs   inputs[r] goes to rank r; null: outputs are also the inputs
     *  @param outputs  outputs[r] receives what rank r gave to this one */
    public void allToAll(List<Tensor> inputs, List<Tensor> outputs) {
        now(call -> allToAll(call, inputs, outputs));
    }

    static Outcome<Void> allToAll(Call call, List<Tensor> inputs, List<Tensor> outputs) {
        return call.check(Raw.tutti_all_to_all(
                call.group, call.inputs("inputs", inputs), Call.count(inputs),
                call.outputs("outputs", outputs), Call.count(outputs), call.options, call.work,
                call.error));
    }

    /** Every rank gives every rank an equal piece of one tensor and receives the pieces in another,
     *  in rank order.
     *  @param input  null: taken from output */
    public void allToAllSingle(Tensor input, Tensor output) {
        now(call -> allToAllSingle(call, input, output, null, null));
    }

    /** Every rank gives every rank a piece of one tensor and receives the pieces in another, in
     *  rank order. Either all ranks give split sizes, or none does.
     *  @param inputSplitSizes   elements of the piece for each rank; null: equal pieces
     *  @param outputSplitSizes  elements of each rank's piece of output; null: equal pieces */
    public void allToAllSingle(Tensor input, Tensor output, long[] inputSplitSizes,
                               long[] outputSplitSizes) {
        now(call -> allToAllSingle(call, input, output, inputSplitSizes, outputSplitSizes));
    }

    static Outcome<Void> allToAllSingle(Call call, Tensor input, Tensor output,
                                                long[] inputSplits, long[] outputSplits) {
        return call.check(Raw.tutti_all_to_all_single(
                call.group, call.input("input", input), call.arena.longs(inputSplits),
                inputSplits == null ? 0 : inputSplits.length, call.output("output", output),
                call.arena.longs(outputSplits), outputSplits == null ? 0 : outputSplits.length,
                call.options, call.work, call.error));
    }
}
