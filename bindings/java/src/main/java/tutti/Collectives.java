package tutti;

import static tutti.raw.RawConstants.*;

import java.util.List;
import java.util.function.Consumer;
import tutti.raw.Raw;

/** Collectives: every rank of the group calls them, in the same order. */
abstract class Collectives extends Calls {
    Collectives(Core core, long timeoutMs, long stream, byte[] tagName,
                ObjectOptions objectOptions) {
        super(core, timeoutMs, stream, tagName, objectOptions);
    }

    /** Copies the tensor of one rank to all ranks.
     *  @param tensor    read on groupSrc, written on the others; same count and dtype everywhere
     *  @param groupSrc  group rank of the source */
    public void broadcast(Tensor tensor, int groupSrc) {
        now(call -> broadcast(call, tensor, groupSrc));
    }

    static Outcome<Void> broadcast(Call call, Tensor tensor, int groupSrc) {
        return call.check(Raw.tutti_broadcast(call.group, call.output("tensor", tensor), groupSrc,
                                              call.options, call.work, call.error));
    }

    /** Reduces all ranks' tensors, element by element, in place; the result is bitwise identical on
     *  all ranks. */
    public void allReduce(Tensor tensor, ReduceOp op) {
        now(call -> allReduce(call.inPlace(), null, tensor, op));
    }

    /** Reduces all ranks' inputs, element by element.
     *  @param input   null: taken from output
     *  @param output  receives the result: as many elements, of the same dtype */
    public void allReduce(Tensor input, Tensor output, ReduceOp op) {
        now(call -> allReduce(call, input, output, op));
    }

    static Outcome<Void> allReduce(Call call, Tensor input, Tensor output, ReduceOp op) {
        return call.check(Raw.tutti_all_reduce(
                call.group, call.input("input", input), call.output("output", output), call.op(op),
                call.options, call.work, call.error));
    }

    /** Adds all tensors that the ranks contribute, each as many as it has, in a group that is
     *  reproducible: the same bits however the addends are spread over the ranks.
     *  @param inputs  0 to 2048, each of output's dtype and count
     *  @param op      SUM or AVG (divided by the number of all inputs) */
    public void allReduceAddends(List<Tensor> inputs, Tensor output, ReduceOp op) {
        now(call -> allReduceAddends(call, inputs, output, op));
    }

    static Outcome<Void> allReduceAddends(Call call, List<Tensor> inputs, Tensor output,
                                                  ReduceOp op) {
        return call.check(Raw.tutti_all_reduce_addends(
                call.group, call.inputs("inputs", inputs), Call.count(inputs),
                call.output("output", output), call.op(op), call.options, call.work, call.error));
    }

    /** Reduces all ranks' inputs; groupDst alone receives the result.
     *  @param input     null: taken from output
     *  @param output    written on groupDst only; other ranks that give input may give null
     *  @param groupDst  group rank of the destination */
    public void reduce(Tensor input, Tensor output, ReduceOp op, int groupDst) {
        now(call -> reduce(call, input, output, op, groupDst));
    }

    static Outcome<Void> reduce(Call call, Tensor input, Tensor output, ReduceOp op,
                                        int groupDst) {
        return call.check(Raw.tutti_reduce(
                call.group, call.input("input", input), call.output("output", output), call.op(op),
                groupDst, call.options, call.work, call.error));
    }

    /** Reduces all ranks' inputs and leaves to each rank its piece; pieces may differ in count.
     *  @param inputs  one for each rank: what this rank gives to that one's piece
     *  @param output  receives this rank's piece */
    public void reduceScatter(List<Tensor> inputs, Tensor output, ReduceOp op) {
        now(call -> reduceScatter(call, inputs, output, op));
    }

    static Outcome<Void> reduceScatter(Call call, List<Tensor> inputs, Tensor output,
                                               ReduceOp op) {
        return call.check(Raw.tutti_reduce_scatter(
                call.group, call.inputs("inputs", inputs), Call.count(inputs),
                call.output("output", output), call.op(op), call.options, call.work, call.error));
    }

    /** Reduces all ranks' inputs and leaves to each rank its part of the result.
     *  @param input   as many times output's count as there are ranks */
    public void reduceScatterTensor(Tensor input, Tensor output, ReduceOp op) {
        now(call -> reduceScatterTensor(call, input, output, op));
    }

    static Outcome<Void> reduceScatterTensor(Call call, Tensor input, Tensor output,
                                                     ReduceOp op) {
        return call.check(Raw.tutti_reduce_scatter_tensor(
                call.group, call.input("input", input), call.output("output", output), call.op(op),
                call.options, call.work, call.error));
    }

    /** Returns when every rank of the group has called it. */
    public void barrier() {
        now(Collectives::barrier);
    }

    static Outcome<Void> barrier(Call call) {
        return call.check(Raw.tutti_barrier(call.group, call.options, call.work, call.error));
    }

    /** A barrier that names the missing ranks when the timeout passes, in the failure of rank 0.
     *  @param waitAllRanks  false: the first missing rank is named; true: all of them */
    public void monitoredBarrier(boolean waitAllRanks) {
        now(call -> call.check(Raw.tutti_monitored_barrier(
                call.group, waitAllRanks ? 1 : 0, call.options, call.error)));
    }

    /** Stops a rank of the group in a debugger, while the others wait for it. The rank prints how to
     *  attach one. The timeout is for all ranks to call it; for the debugger there is none.
     *  @param rank  that rank, the same on all of them */
    public void breakpoint(int rank) {
        now(call -> call.check(Raw.tutti_breakpoint(call.group, rank, call.options, call.error)));
    }

    /** Runs several collectives as one operation; neighbouring calls that are alike share their
     *  messages while they are short. Calls on other objects of the group work as ever, on any
     *  thread.
     *  @param calls  receives an object of the group that collects the calls made on it:
     *                synchronous collectives without a timeout of their own, not of several GPUs,
     *                the same on every rank. They run when calls returns, also if it throws, since
     *                the other ranks expect them */
    public void coalesce(Consumer<Group> calls) {
        coalesce(null, calls);
    }

    /** {@link #coalesce(Consumer)} of calls whose tensors are on a device; null: on the CPU. */
    public void coalesce(Device device, Consumer<Group> calls) {
        try (Core together = beginCoalescing(device, false)) {
            run(calls, together, () -> endCoalescing(together));
            endCoalescing(together);
        }
    }

    /** Runs the calls; if they throw, so does this, after their end. */
    private static void run(Consumer<Group> calls, Core together, Runnable end) {
        try {
            calls.accept(new Group(together));
        } catch (Throwable thrown) {
            try {
                end.run();
            } catch (TuttiException failure) {
                thrown.addSuppressed(failure);
            }
            throw thrown;
        }
    }

    /** {@link #coalesce(Consumer)} that returns at once when the calls are collected.
     *  @param calls  as there; its tensors must be direct */
    public Work<Void> coalesceAsync(Consumer<Group> calls) {
        return coalesceAsync(null, calls);
    }

    /** {@link #coalesceAsync(Consumer)} of calls whose tensors are on a device; null: on the
     *  CPU. */
    public Work<Void> coalesceAsync(Device device, Consumer<Group> calls) {
        try (Core together = beginCoalescing(device, true)) {
            run(calls, together, () -> endCoalescingAsync(together).close());
            return endCoalescingAsync(together);
        }
    }

    private Core beginCoalescing(Device device, boolean async) {
        try (Call call = new Call(core, 0, 0, null, Call.End.RETURNS)) {
            long out = call.arena.slot();
            call.check(Raw.tutti_coalescing_begin(call.group, coalescingOptions(call.arena, device),
                                                  out, call.error));
            return new Core(call.arena.getLong(out), false, new Core.Collected(async));
        }
    }

    private static long coalescingOptions(Arena arena, Device device) {
        if (device == null) return 0;
        long options = arena.take(sizeof_tutti_coalescing_options);
        Raw.tutti_coalescing_options_init(options, sizeof_tutti_coalescing_options);
        arena.putInt(options + tutti_coalescing_options_device_type, device.type().code());
        arena.putInt(options + tutti_coalescing_options_device_index, device.index());
        return options;
    }

    private void endCoalescing(Core together) {
        try (Call call = new Call(core, timeoutMs, stream, tagName, Call.End.RETURNS)) {
            call.check(Raw.tutti_coalescing_end(together.handle(), call.options, 0, call.error));
            together.collected.calls.forEach(Call::copyBack);
        }
    }

    private Work<Void> endCoalescingAsync(Core together) {
        return start(call -> {
            call.keep(together.collected);
            return call.check(Raw.tutti_coalescing_end(together.handle(), call.options, call.work,
                                                       call.error));
        });
    }
}
