package tutti;

import static tutti.raw.RawConstants.*;

import java.lang.ref.Reference;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.util.Arrays;
import java.util.Collection;
import java.util.Map;
import tutti.raw.Memory;
import tutti.raw.Raw;

/** Adds Java values to an object, many with one call. */
final class ValueWriter {
    /** Deeper values are taken for such that contain themselves. */
    static final int DEEPEST = 1024;

    private static final int ITEMS = 128;
    private static final int ROOM = 1 << 14;

    private final Arena arena;
    private final long object;
    private final long items;
    private final long room;
    private int count;
    private int used;
    private int depth;
    /** The item that is being filled. */
    private long item;

    /** @param arena  stays open until finish */
    ValueWriter(Arena arena, long object) {
        this.arena = arena;
        this.object = object;
        items = arena.takeAsItIs(ITEMS * (long) sizeof_tutti_object_item);
        room = arena.takeAsItIs(ROOM);
    }

    /** Hands on what has gathered. */
    void finish() {
        if (count > 0) {
            arena.check(Raw.tutti_object_add_items(object, items, count, 0, arena.error()));
        }
        count = 0;
        used = 0;
    }

    private void begin(int kind) {
        if (count == ITEMS) finish();
        item = items + (long) count * sizeof_tutti_object_item;
        for (int i = 0; i < sizeof_tutti_object_item; i += 8) arena.putLong(item + i, 0);
        arena.putInt(item + tutti_object_item_kind, kind);
        count++;
    }

    void write(Object value) {
        if (value == null) {
            begin(TUTTI_OBJECT_NIL);
        } else if (value instanceof Boolean) {
            begin(TUTTI_OBJECT_BOOL);
            arena.putLong(item + tutti_object_item_integer, (Boolean) value ? 1 : 0);
        } else if (value instanceof Number) {
            number((Number) value);
        } else if (value instanceof CharSequence || value instanceof Character) {
            bytes(TUTTI_OBJECT_STRING, Arena.anyUtf8("value", value.toString()));
        } else if (value instanceof Collection) {
            list((Collection<?>) value);
        } else if (value instanceof Map) {
            map((Map<?, ?>) value);
        } else if (value instanceof Object[]) {
            list(Arrays.asList((Object[]) value));
        } else {
            writeRarer(value);
        }
    }

    private void writeRarer(Object value) {
        if (value instanceof byte[]) {
            bytes(TUTTI_OBJECT_BYTES, (byte[]) value);
        } else if (value instanceof ByteBuffer) {
            ByteBuffer buffer = ((ByteBuffer) value).duplicate();
            byte[] bytes = new byte[buffer.remaining()];
            buffer.get(bytes);
            bytes(TUTTI_OBJECT_BYTES, bytes);
        } else if (value instanceof Instant) {
            begin(TUTTI_OBJECT_TIMESTAMP);
            Instant time = (Instant) value;
            arena.putLong(item + tutti_object_item_integer, time.getEpochSecond());
            arena.putInt(item + tutti_object_item_nanoseconds, time.getNano());
        } else if (value instanceof NdArray) {
            array(((NdArray) value).elements(), ((NdArray) value).shape());
        } else if (value instanceof Tensor) {
            array((Tensor) value, ((Tensor) value).count);
        } else if (value instanceof Value) {
            finish();
            ((Value) value).addTo(arena, object);
        } else {
            Tensor tensor = Tensor.ofAnyArray(value);
            if (tensor == null) {
                throw TuttiException.invalid("value", "an object cannot hold a "
                                             + value.getClass().getName());
            }
            array(tensor, tensor.count);
        }
    }

    private void number(Number value) {
        if (value instanceof Double || value instanceof Float) {
            begin(TUTTI_OBJECT_FLOAT64);
            arena.putLong(item + tutti_object_item_real,
                          Double.doubleToRawLongBits(value.doubleValue()));
        } else if (isSmall(value)) {
            begin(TUTTI_OBJECT_INT64);
            arena.putLong(item + tutti_object_item_integer, value.longValue());
        } else if (value instanceof BigInteger && ((BigInteger) value).signum() > 0
                   && ((BigInteger) value).bitLength() == 64) {
            begin(TUTTI_OBJECT_UINT64);
            arena.putLong(item + tutti_object_item_integer, value.longValue());
        } else {
            String fault = value instanceof BigInteger ? "an integer has at most 64 bits: " + value
                : "an object cannot hold a " + value.getClass().getName();
            throw TuttiException.invalid("value", fault);
        }
    }

    private static boolean isSmall(Number value) {
        return value instanceof Integer || value instanceof Long || value instanceof Short
            || value instanceof Byte
            || value instanceof BigInteger && ((BigInteger) value).bitLength() < 64;
    }

    private void enter(int kind, int size) {
        if (++depth > DEEPEST) {
            throw TuttiException.invalid("value", "its lists and maps are more than " + DEEPEST
                                         + " deep, or contain themselves");
        }
        begin(kind);
        arena.putLong(item + tutti_object_item_size, size);
    }

    private void list(Collection<?> values) {
        enter(TUTTI_OBJECT_LIST, values.size());
        for (Object value : values) write(value);
        depth--;
    }

    private void map(Map<?, ?> values) {
        enter(TUTTI_OBJECT_MAP, values.size());
        for (Map.Entry<?, ?> entry : values.entrySet()) {
            Object key = entry.getKey();
            if (!(key instanceof CharSequence) && !(key instanceof Number)) {
                throw TuttiException.invalid("value", "a map's key is a string or an integer, not "
                    + (key == null ? "null" : "a " + key.getClass().getName()));
            }
            write(key);
            write(entry.getValue());
        }
        depth--;
    }

    /** Room for bytes that the item being written points to; what is written so far is handed on if
     *  there is none left, so this comes before begin. */
    private long room(long bytes) {
        long rounded = (bytes + 15) & ~15L;
        if (rounded > ROOM - used || count == ITEMS) finish();
        long place = room + used;
        used += (int) rounded;
        return place;
    }

    private void bytes(int kind, byte[] bytes) {
        if (bytes.length > ROOM) {
            try (Arena inner = Arena.open()) {
                point(kind, bytes, inner.takeAsItIs(bytes.length));
                finish();
            }
        } else {
            point(kind, bytes, room(bytes.length));
        }
    }

    private void point(int kind, byte[] bytes, long place) {
        Memory.put(bytes, 0, bytes.length, place);
        begin(kind);
        arena.putLong(item + tutti_object_item_data, place);
        arena.putLong(item + tutti_object_item_size, bytes.length);
    }

    private void array(Tensor elements, long... shape) {
        finish();
        try (Arena inner = Arena.open()) {
            long data = Call.stage(inner, elements);
            long extents = inner.longs(shape);
            begin(TUTTI_OBJECT_ARRAY);
            arena.putInt(item + tutti_object_item_dtype, elements.dtype.code());
            arena.putLong(item + tutti_object_item_data, data);
            arena.putLong(item + tutti_object_item_size, elements.count);
            arena.putLong(item + tutti_object_item_shape, extents);
            arena.putInt(item + tutti_object_item_dimensions, shape.length);
            finish();
        } finally {
            Reference.reachabilityFence(elements);
        }
    }
}
