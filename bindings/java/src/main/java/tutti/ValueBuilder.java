package tutti;

import java.lang.ref.Reference;
import java.time.Instant;
import tutti.raw.Raw;

/** Builds a {@link Value} front to back, without a Java value to copy. In a map keys and values
 *  alternate. After a call that failed, every later one fails with the same reason. */
public final class ValueBuilder implements AutoCloseable {
    private Value.Root root;

    /** Begins a value. */
    public ValueBuilder() {
        root = new Value.Root(Handle.make((arena, out) -> Raw.tutti_object_create(
                out, arena.error())));
    }

    private ValueBuilder apply(Handle.Action addition) {
        if (root == null) throw TuttiException.invalid("builder", "the value is built already");
        root.act(addition);
        return this;
    }

    /** Adds a Java value with all that is in it, see {@link Value#of}. */
    public ValueBuilder add(Object value) {
        return apply((arena, object) -> {
            ValueWriter writer = new ValueWriter(arena, object);
            writer.write(value);
            writer.finish();
            return 0;
        });
    }

    /** Adds nil. */
    public ValueBuilder addNil() {
        return apply((arena, object) -> Raw.tutti_object_add_nil(object, arena.error()));
    }

    /** Adds a bool. */
    public ValueBuilder addBool(boolean value) {
        return apply((arena, object) -> Raw.tutti_object_add_bool(
                object, value ? 1 : 0, arena.error()));
    }

    /** Adds an integer, or an integer key. */
    public ValueBuilder addLong(long value) {
        return apply((arena, object) -> Raw.tutti_object_add_int64(object, value, arena.error()));
    }

    /** Adds an integer that is given by its 64 bits, without a sign. */
    public ValueBuilder addUnsignedLong(long value) {
        return apply((arena, object) -> Raw.tutti_object_add_uint64(object, value, arena.error()));
    }

    /** Adds a floating-point number. */
    public ValueBuilder addDouble(double value) {
        return apply((arena, object) -> Raw.tutti_object_add_float64(object, value, arena.error()));
    }

    /** Adds a string, or a string key. */
    public ValueBuilder addString(String text) {
        return apply((arena, object) -> {
            byte[] utf8 = Arena.anyUtf8("text", text);
            return Raw.tutti_object_add_string(object, arena.bytes(utf8), utf8.length,
                                               arena.error());
        });
    }

    /** Adds a string key where a key is due. */
    public ValueBuilder addKey(String key) {
        return apply((arena, object) -> Raw.tutti_object_add_key(
                object, arena.text("key", key), arena.error()));
    }

    /** Adds bytes. */
    public ValueBuilder addBytes(byte[] bytes) {
        return apply((arena, object) -> Raw.tutti_object_add_bytes(
                object, arena.bytes(bytes), bytes.length, 0, arena.error()));
    }

    /** Adds a point in time. */
    public ValueBuilder addInstant(Instant time) {
        return apply((arena, object) -> Raw.tutti_object_add_timestamp(
                object, time.getEpochSecond(), time.getNano(), arena.error()));
    }

    /** Adds an n-dimensional array. */
    public ValueBuilder addArray(NdArray array) {
        return apply((arena, object) -> {
            Tensor elements = array.elements();
            long[] shape = array.shape();
            int status = Raw.tutti_object_add_array(
                    object, Call.stage(arena, elements), elements.dtype.code(), arena.longs(shape),
                    shape.length, 0, arena.error());
            Reference.reachabilityFence(elements);
            return status;
        });
    }

    /** Adds each of many numbers to the list that is open; all floating point becomes float64. */
    public ValueBuilder addElements(Tensor elements) {
        return apply((arena, object) -> {
            int status = Raw.tutti_object_add_elements(
                    object, Call.stage(arena, elements), elements.count, elements.dtype.code(),
                    arena.error());
            Reference.reachabilityFence(elements);
            return status;
        });
    }

    /** Begins a list: what is added until end is in it. */
    public ValueBuilder beginList() {
        return apply((arena, object) -> Raw.tutti_object_begin_list(object, arena.error()));
    }

    /** Begins a map: keys and values are added in turn until end. */
    public ValueBuilder beginMap() {
        return apply((arena, object) -> Raw.tutti_object_begin_map(object, arena.error()));
    }

    /** Ends the list or map that was begun last. */
    public ValueBuilder end() {
        return apply((arena, object) -> Raw.tutti_object_end(object, arena.error()));
    }

    /** The value, which must be complete; the builder is spent. */
    public Value build() {
        apply((arena, object) -> {
            ValueReader.item(arena, object, 0);
            return 0;
        });
        Value value = new Value(root, 0);
        root = null;
        return value;
    }

    /** Gives up what was not built. */
    @Override
    public void close() {
        if (root != null) root.close();
    }
}
