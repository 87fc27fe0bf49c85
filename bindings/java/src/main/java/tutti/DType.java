package tutti;

import static tutti.raw.RawConstants.*;

/** Element types, and the Java type whose arrays and buffers hold them. */
public enum DType {
    INT8(TUTTI_INT8, 1, byte.class),
    UINT8(TUTTI_UINT8, 1, byte.class),
    INT16(TUTTI_INT16, 2, short.class),
    UINT16(TUTTI_UINT16, 2, short.class),
    INT32(TUTTI_INT32, 4, int.class),
    UINT32(TUTTI_UINT32, 4, int.class),
    INT64(TUTTI_INT64, 8, long.class),
    UINT64(TUTTI_UINT64, 8, long.class),
    /** IEEE 754's half precision, as its 16 bits. */
    FLOAT16(TUTTI_FLOAT16, 2, short.class),
    /** The upper half of a float32, as its 16 bits. */
    BFLOAT16(TUTTI_BFLOAT16, 2, short.class),
    FLOAT32(TUTTI_FLOAT32, 4, float.class),
    FLOAT64(TUTTI_FLOAT64, 8, double.class),
    /** Two floats: real, imaginary. */
    COMPLEX64(TUTTI_COMPLEX64, 8, float.class),
    /** Two doubles: real, imaginary. */
    COMPLEX128(TUTTI_COMPLEX128, 16, double.class),
    /** One byte, 0 or 1. */
    BOOL(TUTTI_BOOL, 1, byte.class);

    private static final DType[] ALL = values();

    private final int code;
    private final int size;
    private final Class<?> javaType;

    DType(int code, int size, Class<?> javaType) {
        this.code = code;
        this.size = size;
        this.javaType = javaType;
    }

    /** Bytes of one element. */
    public int size() {
        return size;
    }

    /** The type of the arrays and buffers that hold such elements; bool also has boolean[]. */
    public Class<?> javaType() {
        return javaType;
    }

    /** How many numbers of the Java type make one element: 2 for complex ones. */
    int width() {
        return this == COMPLEX64 || this == COMPLEX128 ? 2 : 1;
    }

    int code() {
        return code;
    }

    static DType of(int code) {
        for (DType dtype : ALL) {
            if (dtype.code == code) return dtype;
        }
        throw new UsageException(Status.UNSUPPORTED, -1, 0, "dtype " + code + " is not known");
    }
}
