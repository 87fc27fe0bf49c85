package tutti;

import static tutti.raw.RawConstants.*;

import java.lang.ref.Reference;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import tutti.raw.Raw;

/** A typed value that every language understands, in native memory: for reading parts of a large
 *  one, comparing, printing and storing. Object collectives take and give plain Java
 *  values too, see {@link #get()} for what becomes what. A value never changes; any number of
 *  threads may read it. The values inside it share its memory, and closing any of them closes
 *  all. */
public final class Value implements AutoCloseable {
    /** The kind of a value. */
    public enum Kind {
        NIL, BOOL, INT64, UINT64, FLOAT64, STRING, BYTES, LIST, MAP, TIMESTAMP, ARRAY
    }

    private static final Kind[] KINDS = Kind.values();

    private final Root root;
    private final long node;

    /** The object that the values lie in. */
    static final class Root extends Handle {
        Root(long value) {
            super("value", value, Raw::tutti_object_release);
        }

        @Override
        public void close() {
            release();
        }
    }

    Value(Root root, long node) {
        this.root = root;
        this.node = node;
    }

    /** Takes over an object of the library. */
    static Value owned(long object) {
        return new Value(new Root(object), 0);
    }

    /** Copies a Java value: null, Boolean, integers and BigIntegers of 64 bits, Float and Double,
     *  strings, byte[] and ByteBuffer (bytes), collections and Object[] (lists), maps whose keys
     *  are strings or integers, Instant, NdArray, Tensor and arrays of numbers, Value. */
    public static Value of(Object value) {
        if (value instanceof Value && ((Value) value).node == 0) return (Value) value;
        try (ValueBuilder builder = new ValueBuilder()) {
            return builder.add(value).build();
        }
    }

    /** Reads a value from MessagePack, compressed or not.
     *  @param options  null: defaults */
    public static Value decode(byte[] bytes, ObjectOptions options) {
        return owned(Handle.make((arena, out) -> Raw.tutti_object_decode(
                arena.bytes(bytes), bytes.length, ObjectOptions.struct(arena, options), out,
                arena.error())));
    }

    private <T> T ask(Handle.Request<T> request) {
        return root.ask(request);
    }

    private long number(Handle.Question question) {
        return root.number(question);
    }

    /** The handle of an object that is this value and nothing else. */
    long whole() {
        return root.handle();
    }

    /** This value as an object of its own. */
    Value standalone() {
        return node == 0 ? this : copy();
    }

    void addTo(Arena arena, long object) {
        arena.check(Raw.tutti_object_add_object(object, root.handle(), node, arena.error()));
        Reference.reachabilityFence(root);
    }

    /** The Java value: null, Boolean, Long, BigInteger (from 2^63 on), Double, String, byte[],
     *  List, Map (in the order of its keys), Instant or NdArray. */
    public Object get() {
        return ask((arena, object) -> new ValueReader(arena, object, node).read());
    }

    /** The kind of this value. */
    public Kind kind() {
        return ask((arena, object) -> {
            long item = ValueReader.item(arena, object, node);
            return KINDS[arena.getInt(item + tutti_object_item_kind)];
        });
    }

    /** The size: of a string or bytes the bytes, of a list the values, of a map the pairs, of
     *  an array how many elements; else 0. */
    public long size() {
        return ask((arena, object) -> arena.getLong(
                ValueReader.item(arena, object, node) + tutti_object_item_size));
    }

    /** A value of a list, by its place. */
    public Value at(long index) {
        return new Value(root, number((arena, object, out) -> Raw.tutti_object_at(
                object, node, index, out, arena.error())));
    }

    /** A value of a map; null if there is no such key. */
    public Value find(String key) {
        return found(number((arena, object, out) -> Raw.tutti_object_find(
                object, node, arena.text("key", key), out, arena.error())));
    }

    /** A value of a map; null if there is no such key. */
    public Value find(long key) {
        return ask((arena, object) -> {
            long out = arena.slot();
            long item = arena.take(sizeof_tutti_object_item);
            arena.putInt(item + tutti_object_item_kind, TUTTI_OBJECT_INT64);
            arena.putLong(item + tutti_object_item_integer, key);
            arena.check(Raw.tutti_object_find_item(object, node, item, out, arena.error()));
            return found(arena.getLong(out));
        });
    }

    private Value found(long found) {
        return found < 0 ? null : new Value(root, found);
    }

    /** A bool. */
    public boolean asBoolean() {
        return number((arena, object, out) -> Raw.tutti_object_get_bool(
                object, node, out, arena.error())) != 0;
    }

    /** An integer of at most 2^63 - 1. */
    public long asLong() {
        return number((arena, object, out) -> Raw.tutti_object_get_int64(
                object, node, out, arena.error()));
    }

    /** An integer of at least 0, as its 64 bits without a sign. */
    public long asUnsignedLong() {
        return number((arena, object, out) -> Raw.tutti_object_get_uint64(
                object, node, out, arena.error()));
    }

    /** A number that a double holds exactly. */
    public double asDouble() {
        return Double.longBitsToDouble(number((arena, object, out) -> Raw.tutti_object_get_float64(
                object, node, out, arena.error())));
    }

    /** A string. */
    public String asString() {
        return ask((arena, object) -> {
            long text = arena.slot();
            long size = arena.slot();
            arena.check(Raw.tutti_object_get_string(object, node, text, size, arena.error()));
            return new String(tutti.raw.Memory.bytes(arena.getLong(text), arena.getLong(size)),
                              StandardCharsets.UTF_8);
        });
    }

    /** Bytes, copied. */
    public byte[] asBytes() {
        return ask((arena, object) -> {
            long data = arena.slot();
            long size = arena.slot();
            arena.check(Raw.tutti_object_get_bytes(object, node, data, size, arena.error()));
            return tutti.raw.Memory.bytes(arena.getLong(data), arena.getLong(size));
        });
    }

    /** A point in time. */
    public Instant asInstant() {
        return ask((arena, object) -> {
            long seconds = arena.slot();
            long nanoseconds = arena.slot();
            arena.check(Raw.tutti_object_get_timestamp(object, node, seconds, nanoseconds,
                                                       arena.error()));
            return Instant.ofEpochSecond(arena.getLong(seconds), arena.getInt(nanoseconds));
        });
    }

    /** An array, copied. */
    public NdArray asArray() {
        return ask((arena, object) -> {
            long data = arena.slot();
            long dtype = arena.slot();
            long shape = arena.slot();
            long dimensions = arena.slot();
            arena.check(Raw.tutti_object_get_array(object, node, data, dtype, shape, dimensions,
                                                   arena.error()));
            return ValueReader.array(arena, ValueReader.item(arena, object, node));
        });
    }

    /** Reads many numbers of a list into a tensor: floating-point ones are rounded to its dtype,
     *  everything else must be exact.
     *  @param first  index of the first one; as many as the tensor has elements */
    public void elements(long first, Tensor out) {
        out.checkWritable("out");
        ask((arena, object) -> {
            long data = Call.stage(arena, out);
            arena.check(Raw.tutti_object_get_elements(object, node, data, out.count,
                                                      out.dtype.code(), first, arena.error()));
            if (!out.direct) out.copyFrom(arena.view(data, (int) out.bytes()));
            Reference.reachabilityFence(out);
            return null;
        });
    }

    /** A copy with memory of its own. */
    public Value copy() {
        return owned(number((arena, object, out) -> Raw.tutti_object_copy(
                object, node, out, arena.error())));
    }

    /** JSON for people.
     *  @param indent  0: one line; else spaces for each level, at most 8
     *  @param limit   0: all of it; else about how many bytes, then "..." */
    public String toJson(int indent, long limit) {
        return Bytes.text(number((arena, object, out) -> Raw.tutti_object_to_json(
                object, node, indent, limit, out, arena.error())));
    }

    /** MessagePack.
     *  @param options  null: defaults */
    public byte[] encode(ObjectOptions options) {
        Value whole = standalone();
        return Bytes.take(whole.number((arena, object, out) -> Raw.tutti_object_encode(
                object, ObjectOptions.struct(arena, options), out, arena.error())));
    }

    /** Whether the other is the same value: integers by value, floating-point numbers by their
     *  bits, maps whatever the order of their keys. */
    @Override
    public boolean equals(Object other) {
        if (!(other instanceof Value)) return false;
        Value value = (Value) other;
        return ask((arena, object) -> value.number((inner, its, out) -> Raw.tutti_object_equal(
                object, node, its, value.node, out, inner.error()))) != 0;
    }

    @Override
    public int hashCode() {
        return 31 * kind().hashCode() + Long.hashCode(size());
    }

    /** JSON, cut at about 1000 bytes. */
    @Override
    public String toString() {
        return root.isClosed() ? "closed value" : toJson(0, 1000);
    }

    /** Gives the memory back, as the garbage collector does otherwise. */
    @Override
    public void close() {
        root.close();
    }
}
