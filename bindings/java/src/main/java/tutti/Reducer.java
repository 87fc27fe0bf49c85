package tutti;

import static tutti.raw.RawConstants.*;

import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.List;
import tutti.raw.Callbacks;
import tutti.raw.Raw;

/** Adds the gradients of a model up over the ranks, in buckets, while the program computes others
 *  (torch: DistributedDataParallel). It has a group of its own, so the program may use its group
 *  meanwhile. If a pass fails, the reducer has failed on all ranks: later calls give the same
 *  reason. {@link #markReady} may be called by several threads at once. */
public final class Reducer extends Handle {
    private volatile Core core;
    private final ReducerMemory memory;
    private Tensor[] gradients = new Tensor[0];
    private long generation;
    private boolean synchronised;
    private volatile Hook hook;

    private Reducer(Core core, ReducerMemory memory) {
        super("reducer", memory.reducer, reducer -> memory.letGo());
        this.core = core;
        this.memory = memory;
    }

    /** Makes a reducer for the parameters of a model. Every rank of the group calls it with
     *  parameters of the same names, counts and dtypes, in the same order; if they differ, all get
     *  {@link Status#MISMATCH} with both sides. The parameters receive the values of rank 0, unless
     *  options say otherwise. Their gradients are zero. If they are on a device, so are gradients:
     *  see {@link ReducerOptions#stream(long)}.
     *  @param options  null: defaults */
    public static Reducer create(Group group, List<Parameter> parameters, ReducerOptions options) {
        List<Tensor> values = new ArrayList<>();
        List<String> names = new ArrayList<>();
        for (Parameter parameter : parameters) {
            values.add(parameter.values());
            names.add(parameter.name());
        }
        try (Call call = new Call(group.core, 0, 0, null, Call.End.RETURNS)) {
            long out = call.arena.slot();
            int count = values.size();
            call.check(Raw.tutti_reducer_create(
                    call.group, call.outputs("parameters", values),
                    call.arena.strings("names", names),
                    ReducerOptions.order(call.arena, options, count), count,
                    ReducerOptions.struct(call.arena, options), out, call.error));
            Reducer made = new Reducer(group.core,
                                       new ReducerMemory(call.arena.getLong(out)));
            call.finish();
            return made;
        } finally {
            Reference.reachabilityFence(group);
        }
    }

    /** Indices for C. */
    static long indices(Arena arena, int[] indices) {
        return arena.longs(java.util.Arrays.stream(indices).asLongStream().toArray());
    }

    /** Where the reducer has the gradient of a parameter: compute it there, through
     *  {@link Tensor#buffer()}, or on a device at {@link Tensor#address()}. It belongs to the
     *  reducer from markReady to the end of the pass, and is good until {@link #generation()}
     *  changes. It keeps what is there, so a program that accumulates sets it to zero when it
     *  begins anew. */
    public synchronized Tensor gradient(int parameter) {
        long now = generation();
        if (now != generation) gradients = new Tensor[0];
        generation = now;
        if (parameter >= 0 && parameter < gradients.length && gradients[parameter] != null) {
            return gradients[parameter];
        }
        Tensor gradient = ask((arena, reducer) -> {
            long buffer = arena.take(sizeof_tutti_buffer);
            arena.check(Raw.tutti_reducer_gradient(reducer, parameter, buffer, arena.error()));
            return memory.tensor(buffer);
        });
        if (parameter >= gradients.length) {
            gradients = java.util.Arrays.copyOf(gradients, parameter + 1);
        }
        gradients[parameter] = gradient;
        return gradient;
    }

    /** How often gradients have moved, which only {@link #begin} and {@link #shrink} do. */
    public long generation() {
        return ask((arena, reducer) -> Raw.tutti_reducer_generation(reducer));
    }

    /** One of the buckets, as they are now.
     *  @param index  from 0; there is always a bucket 0, which says how many there are */
    public Bucket bucket(int index) {
        return bucket((arena, reducer, out) -> Raw.tutti_reducer_get_bucket(reducer, index, out,
                                                                            arena.error()));
    }

    private Bucket bucket(Question question) {
        return ask((arena, reducer) -> {
            long bucket = arena.take(sizeof_tutti_bucket);
            Raw.tutti_bucket_init(bucket, sizeof_tutti_bucket);
            arena.check(question.ask(arena, reducer, bucket));
            return arena.getInt(bucket + tutti_bucket_index) < 0 ? null
                : new Bucket(memory, bucket);
        });
    }

    /** Says that a forward pass begins, so that {@link #loggingData} can tell how long it takes. */
    public void beginForward() {
        act((arena, reducer) -> Raw.tutti_reducer_begin_forward(reducer, arena.error()));
    }

    /** Begins a backward pass.
     *  @param synchronise  false: the pass sends nothing, and counts in the next one that does
     *                      (torch: no_sync) */
    public synchronized void begin(boolean synchronise) {
        attempt((arena, reducer) -> Raw.tutti_reducer_begin(reducer, synchronise ? 1 : 0,
                                                            arena.error()));
        if (synchronised) memory.takeBack(); // the pass before is over
        synchronised = synchronise;
    }

    /** Says that the gradient of a parameter is complete in its place. */
    public void markReady(int parameter) {
        attempt((arena, reducer) -> Raw.tutti_reducer_mark_ready(reducer, parameter, 0,
                                                                 arena.error()));
    }

    /** Says that the gradient of a parameter is complete, in memory of the program's own, which
     *  receives the result. It belongs to the reducer until a synchronised pass has ended, on a
     *  device until its stream has come past that. A program that accumulates gives all that it has
     *  accumulated.
     *  @param gradient  a direct tensor of the parameter's count, dtype and device */
    public void markReady(int parameter, Tensor gradient) {
        gradient.checkOpen("gradient");
        gradient.checkWritable("gradient");
        if (!gradient.isDirect()) {
            throw TuttiException.invalid("gradient", "the reducer cannot keep an array in place: "
                + "give it a direct buffer, such as Tensor.allocate makes");
        }
        memory.lend(gradient);
        attempt((arena, reducer) -> Raw.tutti_reducer_mark_ready(
                reducer, parameter, Call.struct(arena, gradient, gradient.begin), arena.error()));
    }

    /** Says early that parameters get no gradient in this pass. */
    public void markUnused(int... parameters) {
        act((arena, reducer) -> Raw.tutti_reducer_mark_unused(
                reducer, indices(arena, parameters), parameters.length, arena.error()));
    }

    /** Ends a backward pass, and returns when all buckets are reduced, or enqueued if there is a
     *  {@link ReducerOptions#stream(long)}: every rank then has the same gradients, if the pass was
     *  synchronised. Parameters that were not marked get no gradient from this rank; where options
     *  do not allow that, all ranks get {@link Status#MISMATCH} with their names. */
    public void finish() {
        attempt((arena, reducer) -> Raw.tutti_reducer_finish(reducer, 0, arena.error()));
    }

    /** {@link #finish} that returns at once. */
    public Work<Void> finishAsync() {
        return new Work<>(number((arena, reducer, out) -> Raw.tutti_reducer_finish(
                reducer, out, arena.error())), new Borrowed(), null, null, false);
    }

    /** A whole backward pass: {@link #begin}, the function, which marks each gradient that it has
     *  computed, and {@link #finish}. If the function throws, the pass has not ended, and the
     *  reducer is of no more use but for {@link #shrink}, or to be closed. */
    public void backward(boolean synchronise, Runnable compute) {
        begin(synchronise);
        compute.run();
        finish();
    }

    /** The next bucket of this pass whose gradients are reduced, when it is, or for what the
     *  {@link ReducerOptions#stream(long)} has next: an optimizer may update its parameters while
     *  later ones travel. Call it after {@link #finishAsync}, or on another thread than those that
     *  mark.
     *  @return null after the last one, and in a pass that is not synchronised
     *  @throws PendingException  the reducer's timeout has passed; the pass goes on */
    public Bucket nextBucket() {
        return bucket((arena, reducer, out) -> Raw.tutti_reducer_next_bucket(reducer, out,
                                                                             arena.error()));
    }

    /** Whether any rank had a gradient for a parameter in the last synchronised pass. */
    public boolean isUsed(int parameter) {
        return ask((arena, reducer) -> Raw.tutti_reducer_is_used(reducer, parameter)) == 1;
    }

    /** Copies buffers of one rank to all, for instance running statistics. All ranks call it between
     *  two passes. They are on the CPU, or on the device of the parameters. */
    public void syncBuffers(List<Tensor> buffers, int groupSrc) {
        try (Call call = new Call(core, 0, 0, null, Call.End.RETURNS)) {
            call.check(Raw.tutti_reducer_sync_buffers(
                    handle(), call.outputs("buffers", buffers), buffers.size(), groupSrc,
                    call.error));
            call.finish();
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** Lets the reducer go on in another group, mostly one that {@link Group#shrink} has made after
     *  the death of a rank. Parameters, options, the hook and the compression stay; everything else
     *  is as after {@link #create}: gradients have moved and are zero. No pass before counts any
     *  more, one that was interrupted or that was not synchronised, so the program repeats its step
     *  from the first forward pass. Ranks that had ended the pass may be one step ahead of the
     *  others: the program makes the parameters equal. Every rank of the group calls it, with the
     *  same model; one that has no reducer yet calls create without the initial broadcast. It may
     *  be repeated after an exception. No other thread may use the reducer meanwhile; gradients of
     *  the program's own are the program's again. */
    public synchronized void shrink(Group group) {
        try (Call call = new Call(group.core, 0, 0, null, Call.End.RETURNS)) {
            call.check(Raw.tutti_reducer_shrink(handle(), call.group, call.error));
            call.finish();
        } finally {
            Reference.reachabilityFence(group);
            Reference.reachabilityFence(this);
        }
        core = group.core;
        memory.takeBack();
        synchronised = false;
    }

    /** Has a function reduce each bucket instead of the allReduce and the division. It is called on
     *  a thread of the reducer, one bucket after the other, in the same order on all ranks, and must
     *  not call this reducer. All ranks set it before the same pass. It replaces the compression and
     *  the hook before it.
     *  @param reduce  null: the reducer reduces buckets itself again */
    public synchronized void setHook(BucketHook reduce) {
        Hook made = reduce == null ? null : new Hook(reduce, memory);
        long user = made == null ? 0 : Callbacks.register(made);
        try {
            act((arena, reducer) -> Raw.tutti_reducer_set_hook(
                    reducer, made == null ? 0 : Callbacks.hookFunction(), user,
                    made == null ? 0 : Callbacks.releaseFunction(), arena.error()));
        } catch (RuntimeException failure) {
            Callbacks.remove(user);
            throw failure;
        }
        hook = made;
    }

    /** Calls the library; what the hook threw is the cause of the failure it led to. */
    private void attempt(Action action) {
        try {
            act(action);
        } catch (BackendException failure) {
            Hook called = hook;
            if (called != null && called.thrown != null) failure.initCause(called.thrown);
            throw failure;
        }
    }

    /** A hook that C calls, registered until C says that it no longer will. Does not refer to the
     *  reducer, which can so be collected. */
    private static final class Hook implements Callbacks.Hook {
        private final BucketHook hook;
        private final ReducerMemory memory;
        private volatile Throwable thrown;

        Hook(BucketHook hook, ReducerMemory memory) {
            this.hook = hook;
            this.memory = memory;
        }

        @Override
        public int reduce(long group, long bucket, long error) {
            try (Group own = Group.shared(make((arena, out) -> Raw.tutti_group_retain(
                    group, out, arena.error())))) {
                hook.reduce(own, new Bucket(memory, bucket));
                return TUTTI_OK;
            } catch (Throwable failure) {
                thrown = failure;
                int status = Callbacks.tell(error, failure);
                return failure instanceof TuttiException own ? own.status().code() : status;
            }
        }
    }

    /** Chooses how gradients travel; all ranks call it between the same passes, and it returns when
     *  they have. It replaces the hook before it. */
    public void setCompression(GradientCompression compression) {
        act((arena, reducer) -> Raw.tutti_reducer_set_compression(reducer, compression.code(),
                                                                  arena.error()));
        hook = null;
    }

    /** Makes gradients travel as products of two matrices with few columns (torch: powerSGD_hook).
     *  FLOAT32 and FLOAT64; others, vectors and small matrices travel as they are. What a pass
     *  leaves out is not lost, so the sums over many passes are right. All ranks call it between
     *  the same passes, and it returns when they have; where a rank's arguments are refused, the
     *  others get {@link Status#MISMATCH}, and the reducer stays as it was. It replaces the
     *  compression and the hook before it.
     *  @param rows     for each parameter, the rows of its matrix, whose elements lie one row after
     *                  the other: the first dimension, a divisor of its count. 0: it is no matrix
     *  @param options  null: defaults */
    public void setPowerSgd(long[] rows, PowerSgdOptions options) {
        int count = rows == null ? 1 : rows.length; // C refuses null of any count but 0
        act((arena, reducer) -> Raw.tutti_reducer_set_power_sgd(
                reducer, arena.longs(rows), count, PowerSgdOptions.struct(arena, options),
                arena.error()));
        hook = null;
    }

    /** The reducer's state and statistics: a map with the keys of torch's _get_ddp_logging_data,
     *  whose times are in nanoseconds. */
    public Object loggingData() {
        try (Value value = Value.owned(number((arena, reducer, out) ->
                Raw.tutti_reducer_logging_data(reducer, out, arena.error())))) {
            return value.get();
        }
    }

    /** Ends its use; no pass may be under way. The library frees the gradients when no buffer shows
     *  them any more, so a buffer that the program has kept stays readable. */
    @Override
    public synchronized void close() {
        if (isClosed()) return;
        gradients = new Tensor[0];
        release();
        if (memory.isUsed()) System.gc(); // buffers are small to it, and what they show is not
    }
}
