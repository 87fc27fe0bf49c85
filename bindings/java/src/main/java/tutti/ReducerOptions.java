package tutti;

import static tutti.raw.RawConstants.*;

import java.time.Duration;
import tutti.raw.Raw;

/** Options of {@link Reducer#create}, the same on all ranks but for the timeout and the stream;
 *  what is not set is the default. */
public final class ReducerOptions {
    private boolean findUnusedParameters;
    private boolean staticGraph;
    private boolean keepBuckets;
    private boolean initialBroadcast = true;
    private boolean sum;
    private int keepMicroBatches;
    private long bucketCapBytes;
    private long firstBucketCapBytes;
    private long timeoutMs;
    private double predivide;
    private long stream;
    private int[] order;

    /** Every option at its default. */
    public ReducerOptions() {}

    /** Some parameters may get no gradient in a pass. */
    public ReducerOptions findUnusedParameters(boolean find) {
        findUnusedParameters = find;
        return this;
    }

    /** Every pass marks the same parameters equally often, which the first one finds out. */
    public ReducerOptions staticGraph(boolean isStatic) {
        staticGraph = isStatic;
        return this;
    }

    /** Buckets never follow the order in which gradients come. */
    public ReducerOptions keepBuckets(boolean keep) {
        keepBuckets = keep;
        return this;
    }

    /** Whether parameters receive the values of rank 0; so if it is not set. */
    public ReducerOptions initialBroadcast(boolean broadcast) {
        initialBroadcast = broadcast;
        return this;
    }

    /** Results are sums over the ranks, not means. */
    public ReducerOptions sum(boolean sum) {
        this.sum = sum;
        return this;
    }

    /** For a reproducible group: the gradients of so many passes that are not synchronised are kept
     *  apart, so that results do not depend on how ranks share micro-batches. */
    public ReducerOptions keepMicroBatches(int passes) {
        keepMicroBatches = Call.notNegative("passes", passes);
        return this;
    }

    /** From which size on a bucket is full; 25 MiB if it is not set. */
    public ReducerOptions bucketCapBytes(long bytes) {
        bucketCapBytes = bytes;
        return this;
    }

    /** The same of the first bucket; 1 MiB if it is not set. */
    public ReducerOptions firstBucketCapBytes(long bytes) {
        firstBucketCapBytes = bytes;
        return this;
    }

    /** How long each bucket's communication may take; the group's timeout if it is not set. */
    public ReducerOptions timeout(Duration timeout) {
        timeoutMs = Arena.timeout(timeout);
        return this;
    }

    /** Gradients are divided by it before they are added up, and by the rest afterwards. */
    public ReducerOptions predivide(double divisor) {
        predivide = divisor;
        return this;
    }

    /** The stream on which the program computes gradients, of the device that the parameters are
     *  on: what it enqueues there after {@link Reducer#finish} finds the results.
     *  @param stream  for instance a cudaStream_t or CUstream; 0: the device's default stream, and
     *                 finish waits for the results */
    public ReducerOptions stream(long stream) {
        this.stream = stream;
        return this;
    }

    /** The order in which gradients are expected: each index of a parameter once; from the last one
     *  to the first if it is not set. */
    public ReducerOptions order(int... indices) {
        order = indices.clone();
        return this;
    }

    static long order(Arena arena, ReducerOptions options, int parameters) {
        if (options == null || options.order == null) return 0;
        int count = options.order.length;
        if (count != parameters) {
            throw TuttiException.invalid("order", count + " indices for " + parameters
                                         + " parameters");
        }
        return Reducer.indices(arena, options.order);
    }

    static long struct(Arena arena, ReducerOptions options) {
        if (options == null) return 0;
        long struct = arena.take(sizeof_tutti_reducer_options);
        Raw.tutti_reducer_options_init(struct, sizeof_tutti_reducer_options);
        flag(arena, struct + tutti_reducer_options_find_unused_parameters,
             options.findUnusedParameters);
        flag(arena, struct + tutti_reducer_options_static_graph, options.staticGraph);
        flag(arena, struct + tutti_reducer_options_keep_buckets, options.keepBuckets);
        flag(arena, struct + tutti_reducer_options_no_initial_broadcast, !options.initialBroadcast);
        flag(arena, struct + tutti_reducer_options_sum, options.sum);
        arena.putInt(struct + tutti_reducer_options_keep_micro_batches, options.keepMicroBatches);
        arena.putLong(struct + tutti_reducer_options_bucket_cap_bytes, options.bucketCapBytes);
        arena.putLong(struct + tutti_reducer_options_first_bucket_cap_bytes,
                      options.firstBucketCapBytes);
        arena.putLong(struct + tutti_reducer_options_timeout_ms, options.timeoutMs);
        arena.putLong(struct + tutti_reducer_options_predivide,
                      Double.doubleToRawLongBits(options.predivide));
        arena.putLong(struct + tutti_reducer_options_stream, options.stream);
        return struct;
    }

    private static void flag(Arena arena, long place, boolean value) {
        arena.putInt(place, value ? 1 : 0);
    }
}
