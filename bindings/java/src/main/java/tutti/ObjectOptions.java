package tutti;

import static tutti.raw.RawConstants.*;

import tutti.raw.Raw;

/** How values become messages and messages values; what is not set is as an environment variable
 *  of the same meaning says, else the default. The limits hold before memory is taken. */
public final class ObjectOptions {
    private long maxBytes;
    private long maxDecompressedBytes;
    private long maxValues;
    private int maxDepth;
    private int compressionLevel;
    private long compressionThreshold;
    private int compress = TUTTI_OBJECT_COMPRESS_DEFAULT;

    /** Every option at its default. */
    public ObjectOptions() {}

    /** The most bytes of a message; 4 GiB by default. */
    public ObjectOptions maxBytes(long bytes) {
        maxBytes = bytes;
        return this;
    }

    /** The most bytes of a message once it is decompressed; 1 GiB by default. */
    public ObjectOptions maxDecompressedBytes(long bytes) {
        maxDecompressedBytes = bytes;
        return this;
    }

    /** The most values in one object; 2^26 by default. */
    public ObjectOptions maxValues(long values) {
        maxValues = values;
        return this;
    }

    /** How deep lists and maps may lie inside each other; 512 by default. */
    public ObjectOptions maxDepth(int depth) {
        maxDepth = depth;
        return this;
    }

    /** zstd's level, -7 to 19. */
    public ObjectOptions compressionLevel(int level) {
        compressionLevel = level;
        return this;
    }

    /** From how many bytes on compressing is tried; 4096 by default. */
    public ObjectOptions compressionThreshold(long bytes) {
        compressionThreshold = bytes;
        return this;
    }

    /** Whether to compress what shrinks, or nothing; between ranks the former is the default, in
     *  {@link Value#encode} the latter. */
    public ObjectOptions compress(boolean ifItPays) {
        compress = ifItPays ? TUTTI_OBJECT_COMPRESS_IF_IT_PAYS : TUTTI_OBJECT_COMPRESS_NEVER;
        return this;
    }

    static long struct(Arena arena, ObjectOptions options) {
        if (options == null) return 0;
        long struct = arena.take(sizeof_tutti_object_options);
        Raw.tutti_object_options_init(struct, sizeof_tutti_object_options);
        arena.putLong(struct + tutti_object_options_max_bytes, options.maxBytes);
        arena.putLong(struct + tutti_object_options_max_decompressed_bytes,
                      options.maxDecompressedBytes);
        arena.putLong(struct + tutti_object_options_max_values, options.maxValues);
        arena.putInt(struct + tutti_object_options_max_depth, options.maxDepth);
        arena.putInt(struct + tutti_object_options_compression_level, options.compressionLevel);
        arena.putLong(struct + tutti_object_options_compression_threshold,
                      options.compressionThreshold);
        arena.putInt(struct + tutti_object_options_compress, options.compress);
        return struct;
    }

    static long maxBytes(ObjectOptions options) {
        return options == null ? 0 : options.maxBytes;
    }
}
