package tutti;

import java.nio.ByteBuffer;

/** Copies between Java arrays and native memory, of any of the primitive types. */
final class PrimitiveArrays {
    private PrimitiveArrays() {}

    /** Bytes of one element of an array; 0 for what is no array of a primitive type. */
    static int elementSize(Object array) {
        if (array instanceof byte[] || array instanceof boolean[]) return 1;
        if (array instanceof short[]) return 2;
        if (array instanceof int[] || array instanceof float[]) return 4;
        return array instanceof long[] || array instanceof double[] ? 8 : 0;
    }

    private static int elements(Object array, long bytes) {
        int size = elementSize(array);
        if (bytes % size != 0) {
            throw TuttiException.invalid("tensor", "begins or ends inside an element of its array");
        }
        return (int) (bytes / size);
    }

    /** Copies a part of an array to native memory. */
    static void copy(Object array, long begin, ByteBuffer to, int bytes) {
        int first = elements(array, begin);
        int count = elements(array, bytes);
        if (array instanceof byte[]) to.put(0, (byte[]) array, first, count);
        if (array instanceof short[]) to.asShortBuffer().put((short[]) array, first, count);
        if (array instanceof int[]) to.asIntBuffer().put((int[]) array, first, count);
        if (array instanceof long[]) to.asLongBuffer().put((long[]) array, first, count);
        if (array instanceof float[]) to.asFloatBuffer().put((float[]) array, first, count);
        if (array instanceof double[]) to.asDoubleBuffer().put((double[]) array, first, count);
        if (array instanceof boolean[]) {
            boolean[] values = (boolean[]) array;
            for (int i = 0; i < count; i++) to.put(i, (byte) (values[first + i] ? 1 : 0));
        }
    }

    /** Copies native memory to a part of an array. */
    static void copyBack(Object array, long begin, ByteBuffer from, int bytes) {
        int first = elements(array, begin);
        int count = elements(array, bytes);
        if (array instanceof byte[]) from.get(0, (byte[]) array, first, count);
        if (array instanceof short[]) from.asShortBuffer().get((short[]) array, first, count);
        if (array instanceof int[]) from.asIntBuffer().get((int[]) array, first, count);
        if (array instanceof long[]) from.asLongBuffer().get((long[]) array, first, count);
        if (array instanceof float[]) from.asFloatBuffer().get((float[]) array, first, count);
        if (array instanceof double[]) from.asDoubleBuffer().get((double[]) array, first, count);
        if (array instanceof boolean[]) {
            boolean[] values = (boolean[]) array;
            for (int i = 0; i < count; i++) values[first + i] = from.get(i) != 0;
        }
    }
}
