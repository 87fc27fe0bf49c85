package tutti;

import static tutti.raw.RawConstants.*;

/** Where memory is, and what the groups of a mesh work with. */
public enum DeviceType {
    /** The CPU. */
    CPU(TUTTI_CPU),
    /** NVIDIA GPUs. */
    CUDA(TUTTI_CUDA),
    /** Intel GPUs. */
    XPU(TUTTI_XPU);

    private final int code;

    DeviceType(int code) {
        this.code = code;
    }

    int code() {
        return code;
    }

    static DeviceType of(int code) {
        for (DeviceType type : values()) {
            if (type.code == code) return type;
        }
        throw new IllegalArgumentException("no device type " + code);
    }
}
