package tutti;

import java.lang.reflect.Array;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/** An n-dimensional array in an object: elements of one dtype, row after row (the last index moves
 *  fastest), and the extents of its dimensions. */
public final class NdArray {
    private final Tensor elements;
    private final long[] shape;

    /** An array whose memory is the tensor's.
     *  @param shape  extents, multiplied as many as there are elements; none: one element */
    public NdArray(Tensor elements, long... shape) {
        long count = 1;
        for (long extent : shape) {
            if (extent < 0) throw TuttiException.invalid("shape", extent + " is negative");
            if (Math.multiplyHigh(count, extent) != 0 || count * extent < 0) {
                throw TuttiException.invalid("shape", Arrays.toString(shape) + " is too large");
            }
            count *= extent;
        }
        if (count != elements.count) {
            throw TuttiException.invalid("shape", Arrays.toString(shape) + " is of " + count
                                         + " elements, and there are " + elements.count);
        }
        this.elements = elements;
        this.shape = shape.clone();
    }

    /** The type of the elements. */
    public DType dtype() {
        return elements.dtype;
    }

    /** The extents of the dimensions. */
    public long[] shape() {
        return shape.clone();
    }

    /** The elements, row after row. */
    public Tensor elements() {
        return elements;
    }

    /** A copy of the elements, row after row, in an array of {@link DType#javaType()}: an int[] for
     *  INT32 and UINT32, a double[] for FLOAT64 and COMPLEX128, and so on. */
    public Object toArray() {
        DType dtype = elements.dtype;
        int length = Math.toIntExact(elements.count * dtype.width());
        Object array = Array.newInstance(dtype.javaType(), length);
        PrimitiveArrays.copyBack(array, 0, bytes(), (int) elements.bytes());
        return array;
    }

    private ByteBuffer bytes() {
        ByteBuffer bytes = ByteBuffer.allocate((int) elements.bytes())
                .order(ByteOrder.nativeOrder());
        if (elements.direct) {
            tutti.raw.Memory.get(elements.begin, bytes.array(), 0, bytes.capacity());
            java.lang.ref.Reference.reachabilityFence(elements);
        } else {
            elements.copyTo(bytes);
        }
        return bytes;
    }

    /** Whether the other is an array of the same dtype, shape and bits. */
    @Override
    public boolean equals(Object other) {
        if (!(other instanceof NdArray)) return false;
        NdArray array = (NdArray) other;
        return dtype() == array.dtype() && Arrays.equals(shape, array.shape)
            && Arrays.equals(bytes().array(), array.bytes().array());
    }

    @Override
    public int hashCode() {
        return 31 * Arrays.hashCode(shape) + Arrays.hashCode(bytes().array());
    }

    @Override
    public String toString() {
        return dtype() + Arrays.toString(shape);
    }
}
