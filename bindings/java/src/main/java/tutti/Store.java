package tutti;

import static tutti.raw.RawConstants.*;

import java.lang.ref.Reference;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import tutti.raw.Raw;

/** A key-value store, where processes meet: {@link HashStore}, {@link FileStore},
 *  {@link TCPStore}, {@link PrefixStore}. Keys are strings of at most 8192 bytes, values bytes. Any
 *  thread may make any call; one that waits does not delay others. */
public class Store extends Handle {
    Store(long value) {
        super("store", value, Raw::tutti_store_release);
    }

    /** Makes a store by a function that writes its handle. */
    interface Maker {
        int make(Frame frame, long out);
    }

    static long make(Maker maker) {
        try (Frame frame = Frame.open()) {
            long out = frame.slot();
            frame.check(maker.make(frame, out));
            return frame.getLong(out);
        }
    }

    private interface Request<T> {
        T ask(Frame frame, long store);
    }

    private <T> T ask(Request<T> request) {
        try (Frame frame = Frame.open()) {
            return request.ask(frame, handle());
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    interface Numeric {
        int ask(Frame frame, long store, long out);
    }

    /** A request whose answer is one number, of 32 or 64 bits in 0. */
    final long number(Numeric request) {
        return ask((frame, store) -> {
            long out = frame.slot();
            frame.check(request.ask(frame, store, out));
            return frame.getLong(out);
        });
    }

    /** A request whose answer is bytes. */
    final byte[] bytes(Numeric request) {
        return Bytes.take(number(request));
    }

    private static byte[] value(byte[] value) {
        if (value == null) throw TuttiException.invalid("value", "null");
        return value;
    }

    private static byte[] utf8(String value) {
        if (value == null) throw TuttiException.invalid("value", "null");
        return Frame.anyUtf8("value", value);
    }

    /** Stores a value under a key; an old value is replaced. */
    public void set(String key, byte[] value) {
        ask((frame, store) -> {
            frame.check(Raw.tutti_store_set(store, frame.text("key", key),
                                            frame.bytes(value(value)), value.length,
                                            frame.error()));
            return null;
        });
    }

    /** Stores a string, as UTF-8. */
    public void set(String key, String value) {
        set(key, utf8(value));
    }

    /** The value of a key; waits until there is one, up to the store's timeout. */
    public byte[] get(String key) {
        return bytes((frame, store, out) -> Raw.tutti_store_get(store, frame.text("key", key), out,
                                                                frame.error()));
    }

    /** {@link #get}, as a string. */
    public String getString(String key) {
        return new String(get(key), StandardCharsets.UTF_8);
    }

    /** Adds to a counter, which is 0 before the first time, and returns its new value. */
    public long add(String key, long amount) {
        return number((frame, store, out) -> Raw.tutti_store_add(
                store, frame.text("key", key), amount, out, frame.error()));
    }

    /** Appends bytes to the value of a key; a key that is not there counts as empty. */
    public void append(String key, byte[] value) {
        ask((frame, store) -> {
            frame.check(Raw.tutti_store_append(store, frame.text("key", key),
                                               frame.bytes(value(value)), value.length,
                                               frame.error()));
            return null;
        });
    }

    /** Whether all of several keys are there. */
    public boolean check(Collection<String> keys) {
        return number((frame, store, out) -> Raw.tutti_store_check(
                store, frame.strings("keys", keys), keys.size(), out, frame.error())) != 0;
    }

    /** Waits until all of several keys are there, up to the store's timeout. */
    public void await(Collection<String> keys) {
        await(keys, null);
    }

    /** Waits until all of several keys are there (torch's wait).
     *  @param timeout  null: the store's */
    public void await(Collection<String> keys, Duration timeout) {
        ask((frame, store) -> {
            frame.check(Raw.tutti_store_wait(store, frame.strings("keys", keys), keys.size(),
                                             Frame.timeout(timeout), frame.error()));
            return null;
        });
    }

    /** Sets a key to desired if its value is expected, or if it is not there and expected is empty;
     *  returns the value the key has afterwards. */
    public byte[] compareSet(String key, byte[] expected, byte[] desired) {
        return bytes((frame, store, out) -> Raw.tutti_store_compare_set(
                store, frame.text("key", key), frame.bytes(value(expected)), expected.length,
                frame.bytes(value(desired)), desired.length, out, frame.error()));
    }

    /** {@link #compareSet(String, byte[], byte[])} of strings. */
    public String compareSet(String key, String expected, String desired) {
        return new String(compareSet(key, utf8(expected), utf8(desired)), StandardCharsets.UTF_8);
    }

    /** Removes a key; returns whether it was there. */
    public boolean deleteKey(String key) {
        return number((frame, store, out) -> Raw.tutti_store_delete_key(
                store, frame.text("key", key), out, frame.error())) != 0;
    }

    /** Several values at once; waits until all keys are there. */
    public List<byte[]> multiGet(Collection<String> keys) {
        return ask((frame, store) -> {
            long out = frame.take(8L * keys.size());
            frame.check(Raw.tutti_store_multi_get(store, frame.strings("keys", keys), keys.size(),
                                                  out, frame.error()));
            List<byte[]> values = new ArrayList<>(keys.size());
            for (int i = 0; i < keys.size(); i++) {
                values.add(Bytes.take(frame.getLong(out + 8L * i)));
            }
            return values;
        });
    }

    /** Stores several values at once. */
    public void multiSet(Map<String, byte[]> entries) {
        Map<String, byte[]> copy = new LinkedHashMap<>(entries);
        ask((frame, store) -> {
            long values = frame.take(8L * copy.size());
            long sizes = frame.take(8L * copy.size());
            int i = 0;
            for (byte[] value : copy.values()) {
                frame.putLong(values + 8L * i, frame.bytes(value(value)));
                frame.putLong(sizes + 8L * i++, value.length);
            }
            frame.check(Raw.tutti_store_multi_set(store, frame.strings("keys", copy.keySet()),
                                                  values, sizes, copy.size(), frame.error()));
            return null;
        });
    }

    /** Puts a value at the end of a queue. */
    public void queuePush(String key, byte[] value) {
        ask((frame, store) -> {
            frame.check(Raw.tutti_store_queue_push(store, frame.text("key", key),
                                                   frame.bytes(value(value)), value.length,
                                                   frame.error()));
            return null;
        });
    }

    /** Takes the first value out of a queue; waits until there is one. */
    public byte[] queuePop(String key) {
        return queuePop(key, true);
    }

    /** Takes the first value out of a queue.
     *  @param block  whether to wait until there is one
     *  @throws QueueEmptyException  if there is none, and block is false */
    public byte[] queuePop(String key, boolean block) {
        return bytes((frame, store, out) -> Raw.tutti_store_queue_pop(
                store, frame.text("key", key), block ? 1 : 0, out, frame.error()));
    }

    /** How many values a queue holds; 0 if there is no such queue. */
    public long queueLength(String key) {
        return number((frame, store, out) -> Raw.tutti_store_queue_len(
                store, frame.text("key", key), out, frame.error()));
    }

    /** The keys that are there, in no order. */
    public List<String> listKeys() {
        byte[] keys = bytes((frame, store, out) -> Raw.tutti_store_list_keys(
                store, out, frame.slot(), frame.error()));
        List<String> list = new ArrayList<>();
        for (int begin = 0, end = 0; end < keys.length; end++) {
            if (keys[end] != 0) continue;
            list.add(new String(keys, begin, end - begin, StandardCharsets.UTF_8));
            begin = end + 1;
        }
        return list;
    }

    /** Waits until worldSize callers have come to the barrier of this key, which serves once.
     *  @param timeout  null: the store's */
    public void barrier(String key, int worldSize, Duration timeout) {
        ask((frame, store) -> {
            frame.check(Raw.tutti_store_barrier(store, frame.text("key", key), worldSize,
                                                Frame.timeout(timeout), frame.error()));
            return null;
        });
    }

    /** Whether append, multiGet and multiSet work; they do on every store of tutti. */
    public boolean hasExtendedApi() {
        return number((frame, store, out) -> Raw.tutti_store_has_extended_api(
                store, out, frame.error())) != 0;
    }

    /** How many keys there are; in a TCP store that waited for its workers one more. */
    public long numKeys() {
        return number((frame, store, out) -> Raw.tutti_store_num_keys(store, out, frame.error()));
    }

    /** The timeout of calls; {@link Tutti#NO_TIMEOUT}: none. */
    public Duration timeout() {
        long milliseconds = number((frame, store, out) -> Raw.tutti_store_get_timeout(
                store, out, frame.error()));
        return milliseconds < 0 ? Tutti.NO_TIMEOUT : Duration.ofMillis(milliseconds);
    }

    /** Sets the timeout of calls.
     *  @param timeout  above 0, or {@link Tutti#NO_TIMEOUT} */
    public void setTimeout(Duration timeout) {
        ask((frame, store) -> {
            frame.check(Raw.tutti_store_set_timeout(store, Frame.timeout(timeout),
                                                    frame.error()));
            return null;
        });
    }

    /** Another handle of the same store, with a timeout of its own and, for a TCP store,
     *  connections of its own. (torch's clone) */
    public Store cloneStore() {
        return new Store(number((frame, store, out) -> Raw.tutti_store_clone(store, out,
                                                                             frame.error())));
    }

    /** Gives the store back; groups and prefix stores made from it keep what they need. */
    @Override
    public void close() {
        release();
    }
}
