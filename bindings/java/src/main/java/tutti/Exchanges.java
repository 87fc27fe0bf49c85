package tutti;

import java.util.List;
import tutti.raw.Raw;

/** Collectives that bring pieces together or spread them out. */
abstract class Exchanges extends Collectives {
    Exchanges(Core core, long timeoutMs, ObjectOptions objectOptions) {
        super(core, timeoutMs, objectOptions);
    }

    /** Every rank receives every rank's input, which may differ in count.
     *  @param outputs  one for each rank: what that rank gave
     *  @param input    as many elements as this rank's output; null: taken from there */
    public void allGather(List<Tensor> outputs, Tensor input) {
        now(call -> allGather(call, outputs, input));
    }

    /** {@link #allGather} that returns at once. */
    public Work<Void> allGatherAsync(List<Tensor> outputs, Tensor input) {
        return start(call -> allGather(call, outputs, input));
    }

    private static Outcome<Void> allGather(Call call, List<Tensor> outputs, Tensor input) {
        return call.check(Raw.tutti_all_gather(
                call.group, call.input("input", input), call.outputs("outputs", outputs),
                Call.count(outputs), call.options, call.work, call.error));
    }

    /** Every rank receives every rank's input, one after the other in one tensor.
     *  @param output  as many times input's count as there are ranks
     *  @param input   null: taken from this rank's place in output */
    public void allGatherIntoTensor(Tensor output, Tensor input) {
        now(call -> allGatherIntoTensor(call, output, input));
    }

    /** {@link #allGatherIntoTensor} that returns at once. */
    public Work<Void> allGatherIntoTensorAsync(Tensor output, Tensor input) {
        return start(call -> allGatherIntoTensor(call, output, input));
    }

    private static Outcome<Void> allGatherIntoTensor(Call call, Tensor output, Tensor input) {
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

    /** {@link #gather} that returns at once. */
    public Work<Void> gatherAsync(Tensor input, List<Tensor> outputs, int groupDst) {
        return start(call -> gather(call, input, outputs, groupDst));
    }

    private static Outcome<Void> gather(Call call, Tensor input, List<Tensor> outputs,
                                        int groupDst) {
        return call.check(Raw.tutti_gather(
                call.group, call.input("input", input), call.outputs("outputs", outputs),
                Call.count(outputs), groupDst, call.options, call.work, call.error));
    }

    /** Every rank receives its piece of what one rank has.
     *  @param output    on groupSrc null: its piece stays where it is
     *  @param inputs    on groupSrc one for each rank; elsewhere null
     *  @param groupSrc  group rank of the source */
    public void scatter(Tensor output, List<Tensor> inputs, int groupSrc) {
        now(call -> scatter(call, output, inputs, groupSrc));
    }

    /** {@link #scatter} that returns at once. */
    public Work<Void> scatterAsync(Tensor output, List<Tensor> inputs, int groupSrc) {
        return start(call -> scatter(call, output, inputs, groupSrc));
    }

    private static Outcome<Void> scatter(Call call, Tensor output, List<Tensor> inputs,
                                         int groupSrc) {
        return call.check(Raw.tutti_scatter(
                call.group, call.inputs("inputs", inputs), Call.count(inputs),
                call.output("output", output), groupSrc, call.options, call.work, call.error));
    }

    /** Every rank gives every rank a tensor; they may differ in count.
     *  @param outputs  outputs[r] receives what rank r gave to this one
     *  @param inputs   inputs[r] goes to rank r; null: outputs are also the inputs */
    public void allToAll(List<Tensor> outputs, List<Tensor> inputs) {
        now(call -> allToAll(call, outputs, inputs));
    }

    /** {@link #allToAll} that returns at once. */
    public Work<Void> allToAllAsync(List<Tensor> outputs, List<Tensor> inputs) {
        return start(call -> allToAll(call, outputs, inputs));
    }

    private static Outcome<Void> allToAll(Call call, List<Tensor> outputs, List<Tensor> inputs) {
        return call.check(Raw.tutti_all_to_all(
                call.group, call.inputs("inputs", inputs), Call.count(inputs),
                call.outputs("outputs", outputs), Call.count(outputs), call.options, call.work,
                call.error));
    }

    /** Every rank gives every rank an equal piece of one tensor and receives the pieces in another,
     *  in rank order.
     *  @param input  null: taken from output */
    public void allToAllSingle(Tensor output, Tensor input) {
        allToAllSingle(output, input, null, null);
    }

    /** {@link #allToAllSingle(Tensor, Tensor)} that returns at once. */
    public Work<Void> allToAllSingleAsync(Tensor output, Tensor input) {
        return allToAllSingleAsync(output, input, null, null);
    }

    /** Every rank gives every rank a piece of one tensor and receives the pieces in another, in
     *  rank order. Either all ranks give split sizes, or none does.
     *  @param outputSplitSizes  elements of each rank's piece of output; null: equal pieces
     *  @param inputSplitSizes   elements of the piece for each rank; null: equal pieces */
    public void allToAllSingle(Tensor output, Tensor input, long[] outputSplitSizes,
                               long[] inputSplitSizes) {
        now(call -> allToAllSingle(call, output, input, outputSplitSizes, inputSplitSizes));
    }

    /** {@link #allToAllSingle(Tensor, Tensor, long[], long[])} that returns at once. */
    public Work<Void> allToAllSingleAsync(Tensor output, Tensor input, long[] outputSplitSizes,
                                          long[] inputSplitSizes) {
        return start(call -> allToAllSingle(call, output, input, outputSplitSizes,
                                            inputSplitSizes));
    }

    private static Outcome<Void> allToAllSingle(Call call, Tensor output, Tensor input,
                                                long[] outputSplits, long[] inputSplits) {
        return call.check(Raw.tutti_all_to_all_single(
                call.group, call.input("input", input), call.frame.longs(inputSplits),
                inputSplits == null ? 0 : inputSplits.length, call.output("output", output),
                call.frame.longs(outputSplits), outputSplits == null ? 0 : outputSplits.length,
                call.options, call.work, call.error));
    }
}
