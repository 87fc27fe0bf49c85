package tutti;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import java.util.Objects;
import tutti.raw.Memory;

/** Typed memory of the program, for collectives and messages: elements of one dtype, one after the
 *  other. A tensor is a view of an array or a buffer, whose memory it shares.
 *
 *  <p>A direct buffer is passed as it is. An array (and a buffer that an array is behind) is copied
 *  to native memory and, once the call has succeeded, its results are copied back, so the garbage
 *  collector never waits for a call; an asynchronous call refuses it, because it cannot be kept in
 *  place. A direct buffer in an asynchronous call stays reachable until the operation is done,
 *  whatever the program drops meanwhile; until then its contents belong to the operation. */
public final class Tensor {
    final DType dtype;
    final long count;
    /** An array, or what is held so that memory stays: a direct buffer, shared memory, or what
     *  stands for memory of a device; null where the program holds it. */
    final Object memory;
    /** Where the elements begin: bytes from the array's first, or an address. */
    final long begin;
    final boolean direct;
    final boolean readOnly;
    /** Where the memory is; null: the CPU. */
    final Device device;
    /** For a byte buffer: how the program writes longer elements than bytes into it. */
    private final ByteOrder order;

    private Tensor(DType dtype, long count, Object memory, long begin, boolean direct,
                   boolean readOnly, ByteOrder order) {
        this(dtype, count, memory, begin, direct, readOnly, order, null);
    }

    private Tensor(DType dtype, long count, Object memory, long begin, boolean direct,
                   boolean readOnly, ByteOrder order, Device device) {
        this.device = device;
        this.dtype = dtype;
        this.count = count;
        this.memory = memory;
        this.begin = begin;
        this.direct = direct;
        this.readOnly = readOnly;
        this.order = order;
    }

    /** New direct memory, filled with 0.
     *  @param count  elements; as many as fit in 2^31 - 1 bytes */
    public static Tensor allocate(DType dtype, int count) {
        Objects.requireNonNull(dtype, "dtype");
        if (count < 0) throw TuttiException.invalid("count", count + " is negative");
        long bytes = (long) count * dtype.size();
        if (bytes > Integer.MAX_VALUE) {
            throw TuttiException.invalid("count", bytes + " bytes are more than a buffer has");
        }
        return of(Memory.allocate((int) bytes)).as(dtype);
    }

    /** The elements of an array, as INT8. */
    public static Tensor of(byte[] array) {
        return ofArray(DType.INT8, array, array.length);
    }

    /** The elements of an array, as INT16. */
    public static Tensor of(short[] array) {
        return ofArray(DType.INT16, array, array.length);
    }

    /** The elements of an array, as INT32. */
    public static Tensor of(int[] array) {
        return ofArray(DType.INT32, array, array.length);
    }

    /** The elements of an array, as INT64. */
    public static Tensor of(long[] array) {
        return ofArray(DType.INT64, array, array.length);
    }

    /** The elements of an array, as FLOAT32. */
    public static Tensor of(float[] array) {
        return ofArray(DType.FLOAT32, array, array.length);
    }

    /** The elements of an array, as FLOAT64. */
    public static Tensor of(double[] array) {
        return ofArray(DType.FLOAT64, array, array.length);
    }

    /** The elements of an array, as BOOL. */
    public static Tensor of(boolean[] array) {
        return ofArray(DType.BOOL, array, array.length);
    }

    /** The elements of a buffer from its position to its limit, as INT8. For {@link #as} another
     *  dtype the buffer's byte order must be the machine's, which a new buffer's mostly is not. */
    public static Tensor of(ByteBuffer buffer) {
        Object array = buffer.hasArray() ? buffer.array() : null;
        return ofBuffer(DType.INT8, buffer, array, buffer.order());
    }

    /** The elements of a buffer from its position to its limit, as INT16. */
    public static Tensor of(ShortBuffer buffer) {
        Object array = buffer.hasArray() ? buffer.array() : null;
        return ofBuffer(DType.INT16, buffer, array, buffer.order());
    }

    /** The elements of a buffer from its position to its limit, as INT32. */
    public static Tensor of(IntBuffer buffer) {
        Object array = buffer.hasArray() ? buffer.array() : null;
        return ofBuffer(DType.INT32, buffer, array, buffer.order());
    }

    /** The elements of a buffer from its position to its limit, as INT64. */
    public static Tensor of(LongBuffer buffer) {
        Object array = buffer.hasArray() ? buffer.array() : null;
        return ofBuffer(DType.INT64, buffer, array, buffer.order());
    }

    /** The elements of a buffer from its position to its limit, as FLOAT32. */
    public static Tensor of(FloatBuffer buffer) {
        Object array = buffer.hasArray() ? buffer.array() : null;
        return ofBuffer(DType.FLOAT32, buffer, array, buffer.order());
    }

    /** The elements of a buffer from its position to its limit, as FLOAT64. */
    public static Tensor of(DoubleBuffer buffer) {
        Object array = buffer.hasArray() ? buffer.array() : null;
        return ofBuffer(DType.FLOAT64, buffer, array, buffer.order());
    }

    /** Elements in the memory of a device, which are passed where they are. The program keeps the
     *  memory until the operation is done, or until its stream has come past it.
     *  @param address  of the first one, as the device has it: a CUdeviceptr, or what
     *                  {@code MemorySegment.address()} gives
     *  @param count    elements; 0 or more */
    public static Tensor onDevice(long address, long count, DType dtype, Device device) {
        Objects.requireNonNull(device, "device");
        if (count < 0 || count > Long.MAX_VALUE / dtype.size()) {
            throw TuttiException.invalid("count", count + " is no number of elements");
        }
        return new Tensor(dtype, count, null, address, true, false, ByteOrder.nativeOrder(),
                          device);
    }

    /** Memory of a device, as INT8.
     *  @param memory  what is held so that it stays */
    static Tensor onDevice(Object memory, long address, long bytes, Device device) {
        return new Tensor(DType.INT8, bytes, memory, address, true, false,
                          ByteOrder.nativeOrder(), device);
    }

    /** All of shared memory, as INT8. */
    static Tensor shared(SharedMemory memory) {
        ByteBuffer whole = memory.whole();
        return new Tensor(DType.INT8, whole.capacity(), memory, Memory.address(whole), true, false,
                          ByteOrder.nativeOrder());
    }

    /** The elements of an array of any primitive type but char; null for anything else. */
    static Tensor ofAnyArray(Object array) {
        if (array instanceof byte[]) return of((byte[]) array);
        if (array instanceof short[]) return of((short[]) array);
        if (array instanceof int[]) return of((int[]) array);
        if (array instanceof long[]) return of((long[]) array);
        if (array instanceof float[]) return of((float[]) array);
        if (array instanceof double[]) return of((double[]) array);
        return array instanceof boolean[] ? of((boolean[]) array) : null;
    }

    private static Tensor ofArray(DType dtype, Object array, int length) {
        return new Tensor(dtype, length, array, 0, false, false, ByteOrder.nativeOrder());
    }

    private static Tensor ofBuffer(DType dtype, Buffer buffer, Object array, ByteOrder order) {
        if (array != null) {
            long begin = (long) (buffer.arrayOffset() + buffer.position()) * dtype.size();
            return new Tensor(dtype, buffer.remaining(), array, begin, false, false, order);
        }
        if (!buffer.isDirect()) {
            throw TuttiException.invalid("buffer", "it is a view of an array that it does not give "
                                         + "away: give the array, or a direct buffer");
        }
        if (dtype.size() > 1) checkOrder(order);
        long address = Memory.address(buffer) + (long) buffer.position() * dtype.size();
        return new Tensor(dtype, buffer.remaining(), buffer, address, true, buffer.isReadOnly(),
                          order);
    }

    private static void checkOrder(ByteOrder order) {
        if (order == ByteOrder.nativeOrder()) return;
        throw TuttiException.invalid("buffer", "its byte order is not the machine's: call "
            + "order(ByteOrder.nativeOrder()) before anything is put into it");
    }

    /** The same memory as elements of another dtype: shorts as BFLOAT16, floats as COMPLEX64, the
     *  bytes of a ByteBuffer as anything. */
    public Tensor as(DType dtype) {
        long bytes = count * this.dtype.size();
        if (bytes % dtype.size() != 0) {
            throw TuttiException.invalid("dtype", bytes + " bytes are no whole number of " + dtype);
        }
        if (dtype.size() > 1) checkOrder(order);
        return new Tensor(dtype, bytes / dtype.size(), memory, begin, direct, readOnly, order,
                          device);
    }

    /** Some of the elements, in the same memory. */
    public Tensor slice(long first, long count) {
        if (first < 0 || count < 0 || count > this.count - first) {
            throw TuttiException.invalid("slice", "elements " + first + " and " + count
                                         + " from there are not all among " + this.count);
        }
        return new Tensor(dtype, count, memory, begin + first * dtype.size(), direct, readOnly,
                          order, device);
    }

    /** The type of the elements. */
    public DType dtype() {
        return dtype;
    }

    /** How many elements there are. */
    public long count() {
        return count;
    }

    /** Whether an asynchronous call can take it: its memory is outside the Java heap. */
    public boolean isDirect() {
        return direct;
    }

    /** The elements as a direct buffer in the machine's byte order, for instance for
     *  {@code asDoubleBuffer()}; shares the memory.
     *  @throws UsageException if the tensor is a view of an array, or on a device */
    public ByteBuffer buffer() {
        checkOpen("tensor");
        checkOnCpu("tensor");
        Object owner = memory instanceof SharedMemory ? ((SharedMemory) memory).whole() : memory;
        if (!(owner instanceof ByteBuffer)) {
            throw TuttiException.invalid("tensor", "it is a view of something else than bytes");
        }
        ByteBuffer bytes = (ByteBuffer) owner;
        int offset = (int) (begin - Memory.address(bytes));
        return bytes.duplicate().clear().slice(offset, (int) bytes())
                .order(ByteOrder.nativeOrder());
    }

    /** Where the first element is, as the device that it is on has it: a CUdeviceptr.
     *  @throws UsageException if it is on the CPU: {@link #buffer()} shows it */
    public long address() {
        checkOpen("tensor");
        if (device != null) return begin;
        throw TuttiException.invalid("tensor", "it is on the CPU, where buffer() shows it");
    }

    /** Where the elements are; {@code cpu:0} for all that Java itself can read. */
    public Device device() {
        return device == null ? Device.CPU : device;
    }

    /** Type and count, for instance "FLOAT64[3]"; and the device, if it is on one. */
    @Override
    public String toString() {
        return dtype + "[" + count + "]" + (device == null ? "" : " on " + device);
    }

    /** Refuses elements that the CPU cannot read. */
    void checkOnCpu(String argument) {
        if (device == null) return;
        throw new UsageException(Status.UNSUPPORTED, -1, 0, argument + ": it is on " + device
                                 + ", where only collectives, messages and reducers reach it");
    }

    /** Refuses memory that is closed. */
    void checkOpen(String argument) {
        if (memory instanceof DeviceMemory) ((DeviceMemory) memory).checkOpen(argument);
        if (memory instanceof SharedMemory) ((SharedMemory) memory).checkOpen(argument);
    }

    /** Refuses to be written to if the buffer is read-only. */
    void checkWritable(String argument) {
        if (readOnly) throw TuttiException.invalid(argument, "the buffer is read-only");
    }

    long bytes() {
        return count * dtype.size();
    }

    /** Copies an array's elements to native memory. */
    void copyTo(ByteBuffer to) {
        PrimitiveArrays.copy(memory, begin, to, (int) bytes());
    }

    /** Copies results from native memory to an array. */
    void copyFrom(ByteBuffer from) {
        PrimitiveArrays.copyBack(memory, begin, from, (int) bytes());
    }
}
