package tutti;

import static tutti.raw.RawConstants.*;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import tutti.raw.Raw;

/** A key-value store, where processes meet: {@link HashStore}, {@link FileStore}, {@link LibraryStore},
 *  {@link TCPStore}, {@link PrefixStore}. Keys are strings of at most 8192 bytes, values bytes. Any
 *  thread may make any call; one that waits does not delay others.
 *
 *  <p>Interrupting a thread ends its wait at a store with {@link Status#ABORTED}; the thread stays
 *  interrupted. Waits of other threads go on. */
public class Store extends Handle {
    /** How often interrupt was called. Store objects of one handle of the library share it. */
    final AtomicInteger interrupts;

    Store(long value) {
        this(value, new AtomicInteger());
    }

    Store(long value, AtomicInteger interrupts) {
        super("store", value, Store::end);
        this.interrupts = interrupts;
    }

    /** Called when the object is marked as closed: what waits does not begin again. */
    private static void end(long store) {
        Raw.tutti_store_interrupt(store, 0);
        Raw.tutti_store_release(store);
    }

    /** A call that may wait. */
    private interface Wait<T> {
        T run(Arena arena, long store, long options);
    }

    private <T> T waiting(Duration timeout, Wait<T> wait) {
        return waiting(timeout, true, wait);
    }

    /** Runs a call that may wait. The library interrupts all waits of a handle together, so those
     *  that were not meant begin again.
     *  @param again  whether this one can */
    private <T> T waiting(Duration timeout, boolean again, Wait<T> wait) {
        long value = handle();
        long ms = Arena.timeout(timeout);
        long begun = System.nanoTime();
        int before = interrupts.get();
        Interruptible current = new Interruptible(() -> Raw.tutti_store_interrupt(value, 0));
        try {
            while (true) {
                long rest = ms;
                try {
                    return ask((arena, store) -> wait.run(arena, store, callOptions(arena, rest)));
                } catch (BackendException ended) {
                    if (!again || ended.status() != Status.ABORTED || current.interrupted()
                        || interrupts.get() != before) throw ended;
                }
                ms = rest(timeout == null ? timeout() : timeout, begun);
            }
        } finally {
            current.over();
        }
    }

    private static long rest(Duration timeout, long begun) {
        long ms = Arena.timeout(timeout);
        long passed = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun);
        return ms == NO_TIMEOUT ? ms : Math.max(1, ms - passed);
    }

    private byte[] waitForBytes(Duration timeout, WaitForBytes wait) {
        return waiting(timeout, (arena, store, options) -> {
            long out = arena.slot();
            arena.check(wait.run(arena, store, options, out));
            return Bytes.take(arena.getLong(out));
        });
    }

    private interface WaitForBytes {
        int run(Arena arena, long store, long options, long out);
    }

    private static long callOptions(Arena arena, long timeoutMs) {
        long options = arena.take(sizeof_tutti_store_call_options);
        Raw.tutti_store_call_options_init(options, sizeof_tutti_store_call_options);
        arena.putLong(options + tutti_store_call_options_timeout_ms, timeoutMs);
        return options;
    }

    /** Options of a store that is made. */
    static long options(Arena arena, Duration timeout) {
        long options = arena.take(sizeof_tutti_store_options);
        Raw.tutti_store_options_init(options, sizeof_tutti_store_options);
        arena.putLong(options + tutti_store_options_timeout_ms, Arena.timeout(timeout));
        return options;
    }

    /** Ends the waits of other threads at this store object: they fail with
     *  {@link Status#ABORTED}. Later calls work as before. */
    public void interrupt() {
        interrupts.incrementAndGet();
        act((arena, store) -> Raw.tutti_store_interrupt(store, arena.error()));
    }

    /** Waits until the server has taken every value that was set, appended or pushed with this
     *  object. Only a {@link TCPStore} has something to flush.
     *  @param timeout  null: the store's
     *  @throws StoreException  if the server refused a value, or may have lost it */
    public void flush(Duration timeout) {
        waiting(timeout, (arena, store, options) -> {
            arena.check(Raw.tutti_store_flush(store, options, arena.error()));
            return null;
        });
    }

    /** A request whose answer is bytes. */
    final byte[] bytes(Question request) {
        return Bytes.take(number(request));
    }

    private static byte[] value(byte[] value) {
        if (value == null) throw TuttiException.invalid("value", "null");
        return value;
    }

    private static byte[] utf8(String value) {
        if (value == null) throw TuttiException.invalid("value", "null");
        return Arena.anyUtf8("value", value);
    }

    /** Stores a value under a key; an old value is replaced. */
    public void set(String key, byte[] value) {
        act((arena, store) -> Raw.tutti_store_set(store, arena.text("key", key),
                                            arena.bytes(value(value)), value.length,
                                            arena.error()));
    }

    /** Stores a string, as UTF-8. */
    public void set(String key, String value) {
        set(key, utf8(value));
    }

    /** The value of a key; waits until there is one, up to the store's timeout. */
    public byte[] get(String key) {
        return get(key, null);
    }

    /** The value of a key; waits until there is one.
     *  @param timeout  null: the store's */
    public byte[] get(String key, Duration timeout) {
        return waitForBytes(timeout, (arena, store, options, out) -> Raw.tutti_store_get(
                store, arena.text("key", key), options, out, arena.error()));
    }

    /** {@link #get}, as a string. */
    public String getString(String key) {
        return new String(get(key), StandardCharsets.UTF_8);
    }

    /** Adds to a counter, which is 0 before the first time, and returns its new value. */
    public long add(String key, long amount) {
        return number((arena, store, out) -> Raw.tutti_store_add(
                store, arena.text("key", key), amount, out, arena.error()));
    }

    /** Appends bytes to the value of a key; a key that is not there counts as empty. */
    public void append(String key, byte[] value) {
        act((arena, store) -> Raw.tutti_store_append(store, arena.text("key", key),
                                               arena.bytes(value(value)), value.length,
                                               arena.error()));
    }

    /** Whether all of several keys are there. */
    public boolean check(Collection<String> keys) {
        return number((arena, store, out) -> Raw.tutti_store_check(
                store, arena.strings("keys", keys), keys.size(), out, arena.error())) != 0;
    }

    /** Waits until all of several keys are there, up to the store's timeout. */
    public void await(Collection<String> keys) {
        await(keys, null);
    }

    /** Waits until all of several keys are there (torch's wait).
     *  @param timeout  null: the store's */
    public void await(Collection<String> keys, Duration timeout) {
        waiting(timeout, (arena, store, options) -> {
            arena.check(Raw.tutti_store_wait(store, arena.strings("keys", keys), keys.size(),
                                             options, arena.error()));
            return null;
        });
    }

    /** Sets a key to desired if its value is expected, or if it is not there and expected is empty;
     *  returns the value the key has afterwards. */
    public byte[] compareSet(String key, byte[] expected, byte[] desired) {
        return bytes((arena, store, out) -> Raw.tutti_store_compare_set(
                store, arena.text("key", key), arena.bytes(value(expected)), expected.length,
                arena.bytes(value(desired)), desired.length, out, arena.error()));
    }

    /** {@link #compareSet(String, byte[], byte[])} of strings. */
    public String compareSet(String key, String expected, String desired) {
        return new String(compareSet(key, utf8(expected), utf8(desired)), StandardCharsets.UTF_8);
    }

    /** Removes a key; returns whether it was there. */
    public boolean deleteKey(String key) {
        return number((arena, store, out) -> Raw.tutti_store_delete_key(
                store, arena.text("key", key), out, arena.error())) != 0;
    }

    /** Several values at once; waits until all keys are there, up to the store's timeout. */
    public List<byte[]> multiGet(Collection<String> keys) {
        return multiGet(keys, null);
    }

    /** Several values at once; waits until all keys are there.
     *  @param timeout  null: the store's */
    public List<byte[]> multiGet(Collection<String> keys, Duration timeout) {
        return waiting(timeout, (arena, store, options) -> {
            long out = arena.take(8L * keys.size());
            arena.check(Raw.tutti_store_multi_get(store, arena.strings("keys", keys), keys.size(),
                                                  options, out, arena.error()));
            return Received.bytes(arena, out, keys.size());
        });
    }

    /** Stores several values at once. */
    public void multiSet(Map<String, byte[]> entries) {
        Map<String, byte[]> copy = new LinkedHashMap<>(entries);
        ask((arena, store) -> {
            long values = arena.take(8L * copy.size());
            long sizes = arena.take(8L * copy.size());
            int i = 0;
            for (byte[] value : copy.values()) {
                arena.putLong(values + 8L * i, arena.bytes(value(value)));
                arena.putLong(sizes + 8L * i++, value.length);
            }
            arena.check(Raw.tutti_store_multi_set(store, arena.strings("keys", copy.keySet()),
                                                  values, sizes, copy.size(), arena.error()));
            return null;
        });
    }

    /** Puts a value at the end of a queue. */
    public void queuePush(String key, byte[] value) {
        act((arena, store) -> Raw.tutti_store_queue_push(store, arena.text("key", key),
                                                   arena.bytes(value(value)), value.length,
                                                   arena.error()));
    }

    /** Takes the first value out of a queue; waits until there is one. */
    public byte[] queuePop(String key) {
        return queuePop(key, true);
    }

    /** Takes the first value out of a queue.
     *  @param block  whether to wait until there is one
     *  @throws QueueEmptyException  if there is none, and block is false */
    public byte[] queuePop(String key, boolean block) {
        return queuePop(key, block, null);
    }

    /** Takes the first value out of a queue; waits until there is one.
     *  @param timeout  null: the store's */
    public byte[] queuePop(String key, Duration timeout) {
        return queuePop(key, true, timeout);
    }

    private byte[] queuePop(String key, boolean block, Duration timeout) {
        return waitForBytes(timeout, (arena, store, options, out) -> Raw.tutti_store_queue_pop(
                store, arena.text("key", key), block ? 1 : 0, options, out, arena.error()));
    }

    /** How many values a queue holds; 0 if there is no such queue. */
    public long queueLength(String key) {
        return number((arena, store, out) -> Raw.tutti_store_queue_len(
                store, arena.text("key", key), out, arena.error()));
    }

    /** The keys that are there, in no order. */
    public List<String> listKeys() {
        byte[] keys = bytes((arena, store, out) -> Raw.tutti_store_list_keys(
                store, out, arena.slot(), arena.error()));
        List<String> list = new ArrayList<>();
        for (int begin = 0, end = 0; end < keys.length; end++) {
            if (keys[end] != 0) continue;
            list.add(new String(keys, begin, end - begin, StandardCharsets.UTF_8));
            begin = end + 1;
        }
        return list;
    }

    /** Waits until worldSize callers have come to the barrier of this key, which serves once. A
     *  caller that times out or is interrupted may have been counted. Interrupting another thread
     *  that waits at this store object ends a barrier as well.
     *  @param timeout  null: the store's */
    public void barrier(String key, int worldSize, Duration timeout) {
        waiting(timeout, false, (arena, store, options) -> {
            arena.check(Raw.tutti_store_barrier(store, arena.text("key", key), worldSize, options,
                                                arena.error()));
            return null;
        });
    }

    /** Whether append, multiGet and multiSet work; they do on every store of tutti. */
    public boolean hasExtendedApi() {
        return number((arena, store, out) -> Raw.tutti_store_has_extended_api(
                store, out, arena.error())) != 0;
    }

    /** How many keys there are; in a TCP store that waited for its workers one more. */
    public long numKeys() {
        return number((arena, store, out) -> Raw.tutti_store_num_keys(store, out, arena.error()));
    }

    /** The timeout of calls; {@link Tutti#NO_TIMEOUT}: none. */
    public Duration timeout() {
        return Arena.duration(number((arena, store, out) -> Raw.tutti_store_get_timeout(
                store, out, arena.error())));
    }

    /** Sets the timeout of calls.
     *  @param timeout  above 0, or {@link Tutti#NO_TIMEOUT} */
    public void setTimeout(Duration timeout) {
        act((arena, store) -> Raw.tutti_store_set_timeout(store, Arena.timeout(timeout),
                                                    arena.error()));
    }

    /** Another handle of the same store, with a timeout of its own and, for a TCP store,
     *  connections of its own. (torch's clone) */
    public Store cloneStore() {
        return cloneStore(null);
    }

    /** {@link #cloneStore()} with a timeout of connecting, and of the new handle's calls.
     *  @param timeout  null: this store's */
    public Store cloneStore(Duration timeout) {
        return new Store(waiting(null, (arena, store, unused) -> {
            long out = arena.slot();
            arena.check(Raw.tutti_store_clone(store, options(arena, timeout), out, arena.error()));
            return arena.getLong(out);
        }));
    }

    /** Gives the store back, which ends waits at this object; groups and prefix stores made from it
     *  keep what they need. */
    @Override
    public void close() {
        release();
    }
}
