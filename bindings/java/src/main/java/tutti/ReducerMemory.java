package tutti;

import static tutti.raw.RawConstants.*;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import tutti.raw.Memory;
import tutti.raw.Raw;

/** A reducer of the library with its gradients. It is released when the program has closed it and
 *  no tensor shows the gradients any more. Does not refer to what refers to it, which can so be
 *  collected. */
final class ReducerMemory {
    final long reducer;
    /** Gradients of the program's own that the library may touch. */
    private final List<Tensor> lent = new ArrayList<>();
    private int users = 1;

    ReducerMemory(long reducer) {
        this.reducer = reducer;
    }

    /** Keeps the gradients as long as something that stands for them is reachable. */
    private synchronized <T> T used(T user) {
        users++;
        Handle.CLEANER.register(user, this::letGo);
        return user;
    }

    synchronized void letGo() {
        if (--users == 0) Raw.tutti_reducer_release(reducer);
    }

    synchronized boolean isUsed() {
        return users > 0;
    }

    synchronized void lend(Tensor gradient) {
        lent.add(gradient);
    }

    synchronized void takeBack() {
        lent.clear();
    }

    /** The elements of a tutti_buffer at an address, in the reducer's memory. */
    Tensor tensor(long address) {
        ByteBuffer buffer = Memory.view(address, sizeof_tutti_buffer)
                .order(ByteOrder.nativeOrder());
        DType dtype = DType.of(buffer.getInt(tutti_buffer_dtype));
        long bytes = buffer.getLong(tutti_buffer_count) * dtype.size();
        long data = buffer.getLong(tutti_buffer_data);
        DeviceType type = DeviceType.of(buffer.getInt(tutti_buffer_device_type));
        if (type != DeviceType.CPU) {
            Device device = new Device(type, buffer.getInt(tutti_buffer_device_index));
            return Tensor.onDevice(used(new Object()), data, bytes, device).as(dtype);
        }
        if (bytes > Integer.MAX_VALUE) {
            throw TuttiException.invalid("gradient", bytes + " bytes are more than a buffer has");
        }
        if (bytes == 0) return Tensor.allocate(dtype, 0);
        return Tensor.of(used(Memory.view(data, bytes).order(ByteOrder.nativeOrder()))).as(dtype);
    }
}
