package tutti;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.LongConsumer;
import java.util.function.LongFunction;
import tutti.raw.Raw;

/** Objects or byte strings that an operation receives: a synchronous call writes their handles to
 *  a place in its arena, a work keeps them until they are taken.
 *  @param <T>  one of them
 *  @param <R>  what the operation gives */
final class Received<T, R> implements Outcome<R> {
    /** Where a synchronous call writes the handles; 0 for a work. */
    final long out;
    /** How many, for a synchronous call. */
    final int outCount;
    /** Where a synchronous receive writes the sender's rank. */
    final long outSource;
    private final Arena arena;
    private final int count;
    private final Kind<T> kind;
    private final BiFunction<List<T>, Integer, R> result;

    private Received(Call call, int count, Kind<T> kind, BiFunction<List<T>, Integer, R> result) {
        arena = call.hasWork() ? null : call.arena;
        out = arena == null ? 0 : arena.take(8L * count);
        outCount = arena == null ? 0 : count;
        outSource = arena == null ? 0 : arena.slot();
        this.count = count;
        this.kind = kind;
        this.result = result;
    }

    /** Objects, as Java values.
     *  @param result  makes the result of them and of the sender's rank */
    static <R> Received<Object, R> objects(Call call, int count,
                                           BiFunction<List<Object>, Integer, R> result) {
        return new Received<>(call, count, OBJECTS, result);
    }

    /** Byte strings, copied. */
    static <R> Received<byte[], R> bytes(Call call, int count,
                                         BiFunction<List<byte[]>, Integer, R> result) {
        return new Received<>(call, count, BYTES, result);
    }

    /** Byte strings that a call has written to a place in its arena. */
    static List<byte[]> bytes(Arena arena, long out, int count) {
        return BYTES.read(arena, out, count);
    }

    @Override
    public R get(Work<R> work) {
        if (work == null) {
            return result.apply(kind.read(arena, out, count), arena.getInt(outSource));
        }
        try (Arena inner = Arena.open()) {
            long place = inner.take(8L * count);
            inner.check(kind.taker.take(work.handle(), place, count, inner.error()));
            return result.apply(kind.read(inner, place, count), work.source());
        }
    }

    /** Takes handles out of a work. */
    private interface Taker {
        int take(long work, long out, long count, long error);
    }

    /** The received value. */
    private static final class Kind<T> {
        private final Taker taker;
        private final LongFunction<T> reader;
        private final LongConsumer release;

        Kind(Taker taker, LongFunction<T> reader, LongConsumer release) {
            this.taker = taker;
            this.reader = reader;
            this.release = release;
        }

        /** Reads and gives back all, also if some cannot be read. */
        List<T> read(Arena arena, long place, int count) {
            List<T> values = new ArrayList<>(count);
            int read = 0;
            try {
                while (read < count) values.add(reader.apply(arena.getLong(place + 8L * read++)));
            } finally {
                for (; read < count; read++) release.accept(arena.getLong(place + 8L * read));
            }
            return values;
        }
    }

    private static final Kind<Object> OBJECTS = new Kind<>(
            Raw::tutti_work_take_objects, Received::value, Raw::tutti_object_release);
    private static final Kind<byte[]> BYTES = new Kind<>(
            Raw::tutti_work_take_bytes, Bytes::take, Raw::tutti_bytes_release);

    private static Object value(long object) {
        try (Value value = Value.owned(object)) {
            return value.get();
        }
    }
}
