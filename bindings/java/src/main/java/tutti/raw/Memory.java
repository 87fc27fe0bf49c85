package tutti.raw;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** The calls that Java lacks for memory that is known by its address. Nothing here holds up the
 *  garbage collector: bytes are copied, arrays are never pinned. */
public final class Memory {
    private Memory() {}

    static {
        RawJNI.tutti_version(); // loads the library
    }

    /** Where a direct buffer's first byte is, whatever its position; 0 if it is not direct. */
    public static native long address(Buffer buffer);

    /** Native memory as a direct buffer, which does not own it. */
    public static native ByteBuffer view(long address, long bytes);

    /** Copies bytes from one place to another. */
    public static native void copy(long from, long to, long bytes);

    /** Copies native memory into a part of an array. */
    public static native void get(long from, byte[] to, int offset, int length);

    /** Copies a part of an array to native memory. */
    public static native void put(byte[] from, int offset, int length, long to);

    /** How many bytes stand before the NUL. */
    public static native long length(long text);

    /** A copy of native memory.
     *  @throws OutOfMemoryError  also if no array is as long */
    public static byte[] bytes(long address, long size) {
        if (size > Integer.MAX_VALUE) {
            throw new OutOfMemoryError(size + " bytes are more than an array has");
        }
        byte[] bytes = new byte[(int) size];
        if (bytes.length > 0) get(address, bytes, 0, bytes.length);
        return bytes;
    }

    /** The string at an address, up to its NUL; null at 0. */
    public static String string(long address) {
        if (address == 0) return null;
        return new String(bytes(address, length(address)), StandardCharsets.UTF_8);
    }

    /** Direct memory in the machine's byte order. */
    public static ByteBuffer allocate(int bytes) {
        return ByteBuffer.allocateDirect(bytes).order(java.nio.ByteOrder.nativeOrder());
    }
}
