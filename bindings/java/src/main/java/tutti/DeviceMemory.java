package tutti;

import java.lang.ref.Cleaner;
import java.util.concurrent.atomic.AtomicBoolean;
import tutti.raw.Raw;

/** Memory of a device that the library has allocated: see {@link Group#alloc(Device, long)}. */
public final class DeviceMemory implements AutoCloseable {
    private final long address;
    private final long bytes;
    private final Device device;
    private final AtomicBoolean closed = new AtomicBoolean();
    private final Cleaner.Cleanable cleanable;

    /** Takes over memory of the library. */
    DeviceMemory(long address, long bytes, Device device) {
        this.address = address;
        this.bytes = bytes;
        this.device = device;
        cleanable = Handle.CLEANER.register(this, () -> Raw.tutti_memory_release(address));
    }

    /** All of it, as elements of a dtype: its size must be a whole number of them. */
    public Tensor tensor(DType dtype) {
        checkOpen("tensor");
        return Tensor.onDevice(this, address, bytes, device).as(dtype);
    }

    /** Where it begins, as the device has it. */
    public long address() {
        checkOpen("memory");
        return address;
    }

    /** Refuses to be used after close. */
    void checkOpen(String argument) {
        if (!closed.get()) return;
        throw new UsageException(Status.INVALID_HANDLE, -1, 0,
                                 argument + ": the memory of the device is closed");
    }

    /** Gives it back, once no operation uses it any more; calls refuse its tensors from here on. */
    @Override
    public void close() {
        closed.set(true);
        cleanable.clean();
    }
}
