package tutti;

import java.nio.charset.StandardCharsets;
import tutti.raw.Memory;
import tutti.raw.Raw;

/** Bytes that the library returns. */
final class Bytes {
    private Bytes() {}

    /** Copies a text and gives the bytes back. */
    static String text(long bytes) {
        return new String(take(bytes), StandardCharsets.UTF_8);
    }

    /** Copies them into an array and gives them back. */
    static byte[] take(long bytes) {
        try {
            return Memory.bytes(Raw.tutti_bytes_data(bytes), Raw.tutti_bytes_size(bytes));
        } finally {
            Raw.tutti_bytes_release(bytes);
        }
    }
}
