package tutti;

import java.util.Objects;

/** A device that memory is on.
 *  @param type   its kind
 *  @param index  its number, as the device's own library counts */
public record Device(DeviceType type, int index) {
    /** A device of a kind, by its number. */
    public Device {
        Objects.requireNonNull(type, "type");
    }

    /** The CPU, for what is on no other device. */
    public static final Device CPU = new Device(DeviceType.CPU, 0);

    /** A GPU of NVIDIA. */
    public static Device cuda(int index) {
        return new Device(DeviceType.CUDA, index);
    }

    /** For people, for instance "cuda:1". */
    @Override
    public String toString() {
        return type.name().toLowerCase(java.util.Locale.ROOT) + ":" + index;
    }
}
