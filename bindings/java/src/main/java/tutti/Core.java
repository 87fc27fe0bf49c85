package tutti;

import static tutti.raw.RawConstants.*;

import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import tutti.raw.Raw;

/** The handle of a group, and what all {@link Group} objects of this handle share. */
final class Core extends Handle {
    /** The group of all ranks; never released, so that it is the same before and after. */
    static final Core WORLD = new Core(GROUP_WORLD, true);

    private final boolean made;
    /** The calls of a coalescing; else null. */
    final Collected collected;

    /** The calls of a coalescing, with what they borrow until its end is done. */
    static final class Collected {
        final boolean async;
        final List<Call> calls = Collections.synchronizedList(new ArrayList<>());

        Collected(boolean async) {
            this.async = async;
        }
    }

    /** @param made  whether closing ends the group, or gives back this handle alone */
    Core(long value, boolean made) {
        this(value, made, null);
    }

    Core(long value, boolean made, Collected collected) {
        super("group", value, Raw::tutti_group_release);
        this.made = made;
        this.collected = collected;
    }

    /** @param timeoutMs  0: the default */
    void destroy(long timeoutMs) {
        act((arena, group) -> {
            long options = arena.take(sizeof_tutti_destroy_options);
            Raw.tutti_destroy_options_init(options, sizeof_tutti_destroy_options);
            arena.putLong(options + tutti_destroy_options_timeout_ms, timeoutMs);
            return Raw.tutti_destroy_process_group(group, options, arena.error());
        });
    }

    @Override
    public synchronized void close() {
        if (isClosed()) return;
        try (Arena arena = Arena.open()) {
            int status = made ? Raw.tutti_destroy_process_group(handle(), 0, arena.error())
                : TUTTI_OK;
            if (this != WORLD) release();
            // A group that was destroyed before is what close is for.
            if (status != TUTTI_ERR_INVALID_HANDLE) arena.check(status);
        } finally {
            Reference.reachabilityFence(this);
        }
    }
}
