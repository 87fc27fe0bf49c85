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
        root = new Value.Root(Handle.make((frame, out) -> Raw.tutti_object_create(
                out, frame.error())));
    }

    private ValueBuilder apply(Handle.Action addition) {
        if (root == null) throw TuttiException.invalid("builder", "the value is built already");
        root.act(addition);
        return this;
    }

    /** Adds a Java value with all that is in it, see {@link Value#of}. */
    public ValueBuilder add(Object value) {
        return apply((frame, object) -> {
            ValueWriter writer = new ValueWriter(frame, object);
            writer.write(value);
            writer.finish();
            return 0;
        });
    }

    /** Adds nil. */
    public ValueBuilder addNil() {
        return apply((frame, object) -> Raw.tutti_object_add_nil(object, frame.error()));
    }

    /** Adds a bool. */
    public ValueBuilder addBool(boolean value) {
        return apply((frame, object) -> Raw.tutti_object_add_bool(
                object, value ? 1 : 0, frame.error()));
    }

    /** Adds an integer, or an integer key. */
    public ValueBuilder addLong(long value) {
        return apply((frame, object) -> Raw.tutti_object_add_int64(object, value, frame.error()));
    }

    /** Adds an integer that is given by its 64 bits, without a sign. */
    public ValueBuilder addUnsignedLong(long value) {
        return apply((frame, object) -> Raw.tutti_object_add_uint64(object, value, frame.error()));
    }

    /** Adds a floating-point number. */
    public ValueBuilder addDouble(double value) {
        return apply((frame, object) -> Raw.tutti_object_add_float64(object, value, frame.error()));
    }

    /** Adds a string, or a string key. */
    public ValueBuilder addString(String text) {
        return apply((frame, object) -> {
            byte[] utf8 = Frame.anyUtf8("text", text);
            return Raw.tutti_object_add_string(object, frame.bytes(utf8), utf8.length,
                                               frame.error());
        });
    }

    /** Adds a string key where a key is due. */
    public ValueBuilder addKey(String key) {
        return apply((frame, object) -> Raw.tutti_object_add_key(
                object, frame.text("key", key), frame.error()));
    }

    /** Adds bytes. */
    public ValueBuilder addBytes(byte[] bytes) {
        return apply((frame, object) -> Raw.tutti_object_add_bytes(
                object, frame.bytes(bytes), bytes.length, 0, frame.error()));
    }

    /** Adds a point in time. */
    public ValueBuilder addInstant(Instant time) {
        return apply((frame, object) -> Raw.tutti_object_add_timestamp(
                object, time.getEpochSecond(), time.getNano(), frame.error()));
    }

    /** Adds an n-dimensional array. */
    public ValueBuilder addArray(NdArray array) {
        return apply((frame, object) -> {
            Tensor elements = array.elements();
            long[] shape = array.shape();
            int status = Raw.tutti_object_add_array(
                    object, Call.stage(frame, elements), elements.dtype.code(), frame.longs(shape),
                    shape.length, 0, frame.error());
            Reference.reachabilityFence(elements);
            return status;
        });
    }

    /** Adds each of many numbers to the list that is open; all floating point becomes float64. */
    public ValueBuilder addElements(Tensor elements) {
        return apply((frame, object) -> {
            int status = Raw.tutti_object_add_elements(
                    object, Call.stage(frame, elements), elements.count, elements.dtype.code(),
                    frame.error());
            Reference.reachabilityFence(elements);
            return status;
        });
    }

    /** Begins a list: what is added until end is in it. */
    public ValueBuilder beginList() {
        return apply((frame, object) -> Raw.tutti_object_begin_list(object, frame.error()));
    }

    /** Begins a map: keys and values are added in turn until end. */
    public ValueBuilder beginMap() {
        return apply((frame, object) -> Raw.tutti_object_begin_map(object, frame.error()));
    }

    /** Ends the list or map that was begun last. */
    public ValueBuilder end() {
        return apply((frame, object) -> Raw.tutti_object_end(object, frame.error()));
    }

    /** The value, which must be complete; the builder is spent. */
    public Value build() {
        apply((frame, object) -> {
            ValueReader.item(frame, object, 0);
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
