package tutti;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongFunction;
import tutti.raw.Memory;

/** Places that an operation fills with handles in the end, and what becomes of them.
 *  @param <R>  what the operation gives
 *  @param <T>  what holds a handle once the operation is done */
abstract class Received<R, T> implements Outcome<R> {
    final long address;
    final int count;
    private final ByteBuffer slots;
    private final List<T> taken = new ArrayList<>();
    private final LongFunction<T> owner;
    private Messages.Source source;

    /** @param owner  takes over a handle */
    Received(Call call, int count, LongFunction<T> owner) {
        this.count = count;
        this.owner = owner;
        slots = Memory.allocate(8 * Math.max(1, count));
        address = Memory.address(slots);
        call.keep(slots);
    }

    /** For a receive, which also says who sent. */
    long outSource(Call call) {
        source = new Messages.Source(call);
        return source.out;
    }

    @Override
    public void take(Work<R> work) {
        for (int i = 0; i < count; i++) {
            long handle = slots.getLong(8 * i);
            slots.putLong(8 * i, 0); // whatever becomes of it, nobody takes it again
            if (handle != 0) taken.add(owner.apply(handle));
        }
        if (source != null) source.takeFrom(work);
    }

    final List<T> taken() {
        return taken;
    }

    final int sourceRank() {
        return source.rank();
    }

    /** Objects that come in, as Java values. */
    static final class Objects extends Received<List<Object>, Value> {
        Objects(Call call, int count) {
            super(call, count, Value::owned);
        }

        @Override
        public List<Object> get(Work<List<Object>> work) {
            return values(taken());
        }
    }

    /** One object that comes in. */
    static final class OneObject extends Received<Object, Value> {
        OneObject(Call call) {
            super(call, 1, Value::owned);
        }

        @Override
        public Object get(Work<Object> work) {
            return values(taken()).get(0);
        }
    }

    /** Objects that come in, and who sent them. */
    static final class SentObjects extends Received<ObjectMessage, Value> {
        SentObjects(Call call, int count) {
            super(call, count, Value::owned);
        }

        @Override
        public ObjectMessage get(Work<ObjectMessage> work) {
            return new ObjectMessage(values(taken()), sourceRank());
        }
    }

    /** Byte strings that come in. */
    static final class AllBytes extends Received<List<byte[]>, byte[]> {
        AllBytes(Call call, int count) {
            super(call, count, Bytes::take);
        }

        @Override
        public List<byte[]> get(Work<List<byte[]>> work) {
            return taken();
        }
    }

    /** One byte string that comes in. */
    static final class OneBytes extends Received<byte[], byte[]> {
        OneBytes(Call call) {
            super(call, 1, Bytes::take);
        }

        @Override
        public byte[] get(Work<byte[]> work) {
            return taken().get(0);
        }
    }

    /** A byte string that comes in, and who sent it. */
    static final class SentBytes extends Received<BytesMessage, byte[]> {
        SentBytes(Call call) {
            super(call, 1, Bytes::take);
        }

        @Override
        public BytesMessage get(Work<BytesMessage> work) {
            return new BytesMessage(taken().get(0), sourceRank());
        }
    }

    private static List<Object> values(List<Value> taken) {
        List<Object> values = new ArrayList<>(taken.size());
        for (Value value : taken) {
            values.add(value.get());
            value.close();
        }
        return values;
    }
}
