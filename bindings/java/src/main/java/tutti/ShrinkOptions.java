package tutti;

import static tutti.raw.RawConstants.*;

import java.time.Duration;
import tutti.raw.Raw;

/** Options of {@link Group#shrink}; what is not set is the default. */
public final class ShrinkOptions {
    private int flags = TUTTI_SHRINK_DEFAULT;
    private int minSize;
    private long timeoutMs;

    /** Every option at its default. */
    public ShrinkOptions() {}

    /** Whether running operations of the group end first, on all ranks; else they go on until the
     *  new group is made. */
    public ShrinkOptions abort(boolean abort) {
        flags = abort ? TUTTI_SHRINK_ABORT : TUTTI_SHRINK_DEFAULT;
        return this;
    }

    /** The fewest ranks that the new group may have: if fewer are left, none is made. The highest of
     *  all ranks counts; 1 if it is not set. */
    public ShrinkOptions minSize(int minSize) {
        this.minSize = Call.notNegative("minSize", minSize);
        return this;
    }

    /** How long making the group may take; the timeout of the group if it is not set. */
    public ShrinkOptions timeout(Duration timeout) {
        timeoutMs = Arena.timeout(timeout);
        return this;
    }

    static int flags(ShrinkOptions options) {
        return options == null ? TUTTI_SHRINK_DEFAULT : options.flags;
    }

    static long struct(Arena arena, ShrinkOptions options) {
        if (options == null) return 0;
        long struct = arena.take(sizeof_tutti_shrink_options);
        Raw.tutti_shrink_options_init(struct, sizeof_tutti_shrink_options);
        arena.putInt(struct + tutti_shrink_options_min_size, options.minSize);
        arena.putLong(struct + tutti_shrink_options_timeout_ms, options.timeoutMs);
        return struct;
    }
}
