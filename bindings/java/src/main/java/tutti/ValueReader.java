package tutti;

import static tutti.raw.RawConstants.*;

import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import tutti.raw.Memory;
import tutti.raw.Raw;

/** Reads Java values from an object, many with one call. */
final class ValueReader {
    private static final int ITEMS = 128;

    private final Arena arena;
    private final long object;
    private final long items;
    private final long outCount;
    private final int size;
    private long node;
    private int have;
    private int at;
    private int depth;

    /** @param arena  stays open until all is read
     *  @param node   where to begin */
    ValueReader(Arena arena, long object, long node) {
        this(arena, object, node, ITEMS);
    }

    private ValueReader(Arena arena, long object, long node, int size) {
        this.arena = arena;
        this.object = object;
        this.node = node;
        this.size = size;
        items = arena.takeAsItIs((long) size * sizeof_tutti_object_item);
        outCount = arena.slot();
    }

    /** The one item of a node. */
    static long item(Arena arena, long object, long node) {
        return new ValueReader(arena, object, node, 1).next();
    }

    private long next() {
        if (at == have) {
            arena.check(Raw.tutti_object_read(object, node, items, size, outCount, arena.error()));
            have = (int) arena.getLong(outCount);
            node += have;
            at = 0;
        }
        if (at == have) throw TuttiException.invalid("node", "there is no such node");
        return items + (long) at++ * sizeof_tutti_object_item;
    }

    Object read() {
        long item = next();
        int kind = arena.getInt(item + tutti_object_item_kind);
        long integer = arena.getLong(item + tutti_object_item_integer);
        switch (kind) {
            case TUTTI_OBJECT_NIL:
                return null;
            case TUTTI_OBJECT_BOOL:
                return integer != 0;
            case TUTTI_OBJECT_INT64:
                return integer;
            case TUTTI_OBJECT_UINT64:
                return unsigned(integer);
            case TUTTI_OBJECT_FLOAT64:
                return arena.getDouble(item + tutti_object_item_real);
            case TUTTI_OBJECT_STRING:
                return new String(bytes(item), StandardCharsets.UTF_8);
            case TUTTI_OBJECT_BYTES:
                return bytes(item);
            case TUTTI_OBJECT_LIST:
                return list(arena.getLong(item + tutti_object_item_size));
            case TUTTI_OBJECT_MAP:
                return map(arena.getLong(item + tutti_object_item_size));
            case TUTTI_OBJECT_TIMESTAMP:
                return Instant.ofEpochSecond(
                        integer, arena.getInt(item + tutti_object_item_nanoseconds));
            case TUTTI_OBJECT_ARRAY:
                return array(arena, item);
            default:
                throw new UsageException(Status.UNSUPPORTED, -1, 0,
                                         "value: its kind " + kind + " is not known");
        }
    }

    /** An integer of 64 bits without a sign. */
    static Object unsigned(long bits) {
        return bits >= 0 ? (Object) bits : new BigInteger(Long.toUnsignedString(bits));
    }

    private byte[] bytes(long item) {
        return Memory.bytes(arena.getLong(item + tutti_object_item_data),
                            arena.getLong(item + tutti_object_item_size));
    }

    private void enter() {
        if (++depth > ValueWriter.DEEPEST) {
            throw TuttiException.invalid("value", "its lists and maps are more than "
                                         + ValueWriter.DEEPEST + " deep");
        }
    }

    private List<Object> list(long count) {
        enter();
        List<Object> values = new ArrayList<>(Math.toIntExact(count));
        for (long i = 0; i < count; i++) values.add(read());
        depth--;
        return values;
    }

    private Map<Object, Object> map(long pairs) {
        enter();
        Map<Object, Object> values = new LinkedHashMap<>();
        for (long i = 0; i < pairs; i++) {
            Object key = read();
            values.put(key, read());
        }
        depth--;
        return values;
    }

    /** A copy of an array. */
    static NdArray array(Arena arena, long item) {
        DType dtype = DType.of(arena.getInt(item + tutti_object_item_dtype));
        int bytes = Math.toIntExact(arena.getLong(item + tutti_object_item_size) * dtype.size());
        ByteBuffer elements = Memory.allocate(bytes);
        long data = arena.getLong(item + tutti_object_item_data);
        if (bytes > 0) Memory.copy(data, Memory.address(elements), bytes);
        byte[] extents = Memory.bytes(arena.getLong(item + tutti_object_item_shape),
                                      8L * arena.getInt(item + tutti_object_item_dimensions));
        long[] shape = new long[extents.length / 8];
        PrimitiveArrays.copyBack(shape, 0, ByteBuffer.wrap(extents)
                .order(java.nio.ByteOrder.nativeOrder()), extents.length);
        return new NdArray(Tensor.of(elements).as(dtype), shape);
    }
}
