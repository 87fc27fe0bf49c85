package tutti;

import static tutti.raw.RawConstants.*;

import java.time.Duration;
import java.util.Objects;
import tutti.raw.Raw;

/** Options of {@link Group#newGroup} and {@link Group#split}; what is not set is the default. */
public final class NewGroupOptions {
    private long timeoutMs;
    private Device device = Device.CPU;
    private boolean local;
    private int reproducible = TUTTI_AS_PARENT;

    /** Every option at its default. */
    public NewGroupOptions() {}

    /** How long making the group may take, and the default of its operations; that of the group it
     *  is made from if it is not set. */
    public NewGroupOptions timeout(Duration timeout) {
        timeoutMs = Arena.timeout(timeout);
        return this;
    }

    /** Only the members of the new group call, and only they wait for each other. */
    public NewGroupOptions useLocalSynchronization(boolean local) {
        this.local = local;
        return this;
    }

    /** The one device that this rank works on, see {@link Group#boundDevice}; that of the group it
     *  is made from if it is not set. */
    public NewGroupOptions device(Device device) {
        this.device = Objects.requireNonNull(device, "device");
        return this;
    }

    /** Whether sums are exact, see {@link GroupOptions#reproducible}; as in the group it is made
     *  from if it is not set. */
    public NewGroupOptions reproducible(boolean reproducible) {
        this.reproducible = reproducible ? TUTTI_REPRODUCIBLE : TUTTI_NOT_REPRODUCIBLE;
        return this;
    }

    static long struct(Arena arena, NewGroupOptions options) {
        if (options == null) return 0;
        long struct = arena.take(sizeof_tutti_new_group_options);
        Raw.tutti_new_group_options_init(struct, sizeof_tutti_new_group_options);
        arena.putLong(struct + tutti_new_group_options_timeout_ms, options.timeoutMs);
        arena.putInt(struct + tutti_new_group_options_use_local_synchronization,
                     options.local ? 1 : 0);
        arena.putInt(struct + tutti_new_group_options_reproducible, options.reproducible);
        arena.putInt(struct + tutti_new_group_options_device_type, options.device.type().code());
        arena.putInt(struct + tutti_new_group_options_device_index, options.device.index());
        return struct;
    }
}
