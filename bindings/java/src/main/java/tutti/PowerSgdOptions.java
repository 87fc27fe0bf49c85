package tutti;

import static tutti.raw.RawConstants.*;

import tutti.raw.Raw;

/** Options of {@link Reducer#setPowerSgd}, the same on all ranks; what is not set, or is 0, is the
 *  default. */
public final class PowerSgdOptions {
    private boolean errorFeedback = true;
    private boolean warmStart = true;
    private long matrixApproximationRank;
    private long startIteration;
    private double minCompressionRate;
    private double orthogonalizationEpsilon;
    private long randomSeed;

    /** Every option at its default. */
    public PowerSgdOptions() {}

    /** Columns of each factor: more are more accurate, and take more bytes; 1 if it is not set. */
    public PowerSgdOptions matrixApproximationRank(long columns) {
        matrixApproximationRank = columns;
        return this;
    }

    /** So many synchronised passes are all-reduced before the first one that is compressed; 1000 if
     *  it is not set. */
    public PowerSgdOptions startIteration(long passes) {
        startIteration = passes;
        return this;
    }

    /** A matrix is compressed if it has more numbers than its factors times this; 2 if it is not
     *  set. */
    public PowerSgdOptions minCompressionRate(double rate) {
        minCompressionRate = rate;
        return this;
    }

    /** Whether what a pass leaves out is added to the next pass's gradient, which takes as much
     *  memory as the matrix; so if it is not set. */
    public PowerSgdOptions errorFeedback(boolean feedback) {
        errorFeedback = feedback;
        return this;
    }

    /** Whether a pass begins with the directions of the pass before, which are better than random
     *  ones; so if it is not set. */
    public PowerSgdOptions warmStart(boolean warm) {
        warmStart = warm;
        return this;
    }

    /** Added to norms before a division by them; 0, which is safe, if it is not set. */
    public PowerSgdOptions orthogonalizationEpsilon(double epsilon) {
        orthogonalizationEpsilon = epsilon;
        return this;
    }

    /** Of the random directions; 0 if it is not set. */
    public PowerSgdOptions randomSeed(long seed) {
        randomSeed = seed;
        return this;
    }

    static long struct(Arena arena, PowerSgdOptions options) {
        if (options == null) return 0;
        long struct = arena.take(sizeof_tutti_power_sgd_options);
        Raw.tutti_power_sgd_options_init(struct, sizeof_tutti_power_sgd_options);
        arena.putInt(struct + tutti_power_sgd_options_no_error_feedback,
                     options.errorFeedback ? 0 : 1);
        arena.putInt(struct + tutti_power_sgd_options_no_warm_start, options.warmStart ? 0 : 1);
        arena.putLong(struct + tutti_power_sgd_options_matrix_approximation_rank,
                      options.matrixApproximationRank);
        arena.putLong(struct + tutti_power_sgd_options_start_iteration, options.startIteration);
        arena.putLong(struct + tutti_power_sgd_options_min_compression_rate,
                      Double.doubleToRawLongBits(options.minCompressionRate));
        arena.putLong(struct + tutti_power_sgd_options_orthogonalization_epsilon,
                      Double.doubleToRawLongBits(options.orthogonalizationEpsilon));
        arena.putLong(struct + tutti_power_sgd_options_random_seed, options.randomSeed);
        return struct;
    }
}
