package tutti;

import static tutti.raw.RawConstants.*;

import java.time.Duration;
import java.util.Objects;
import tutti.raw.Raw;

/** Options of a group that ranks meet to make, and of a mesh; what is not set is the default. */
public final class GroupOptions {
    private long timeoutMs;
    private Device device = Device.CPU;
    private boolean reproducible;
    private String description;

    /** Every option at its default. */
    public GroupOptions() {}

    /** How long making the group may take, and the default of its operations; 30 minutes if it is
     *  not set. */
    public GroupOptions timeout(Duration timeout) {
        timeoutMs = Arena.timeout(timeout);
        return this;
    }

    /** The one device that this rank works on, see {@link Group#boundDevice}; without it the group
     *  is bound to none, a mesh to that of its group. */
    public GroupOptions device(Device device) {
        this.device = Objects.requireNonNull(device, "device");
        return this;
    }

    /** Sums of floating-point and complex numbers are exact and rounded once: the same bits from
     *  any number of ranks. The same on all ranks. */
    public GroupOptions reproducible(boolean reproducible) {
        this.reproducible = reproducible;
        return this;
    }

    /** The group's name in messages; a name of the library's if it is not set. Meshes take none. */
    public GroupOptions description(String description) {
        this.description = description;
        return this;
    }

    static long description(Arena arena, GroupOptions options) {
        return options == null ? 0 : arena.string("description", options.description);
    }

    static long struct(Arena arena, GroupOptions options) {
        if (options == null) return 0;
        long struct = arena.take(sizeof_tutti_group_options);
        Raw.tutti_group_options_init(struct, sizeof_tutti_group_options);
        arena.putLong(struct + tutti_group_options_timeout_ms, options.timeoutMs);
        arena.putInt(struct + tutti_group_options_reproducible, options.reproducible ? 1 : 0);
        arena.putInt(struct + tutti_group_options_device_type, options.device.type().code());
        arena.putInt(struct + tutti_group_options_device_index, options.device.index());
        return struct;
    }
}
