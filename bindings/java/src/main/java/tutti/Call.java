package tutti;

import static tutti.raw.RawConstants.*;

import java.util.ArrayList;
import java.util.List;
import tutti.raw.Raw;

/** One call on a group: what it passes to C, and what it borrows until it is done. */
final class Call implements AutoCloseable {
    final Frame frame;
    final long group;
    /** 0 for the defaults. */
    final long options;
    /** 0 for a synchronous call. */
    final long work;
    final long error;

    /** Where the call is gathered, or null. */
    private final Core.Gathering gathering;
    private final Borrowed borrowed = new Borrowed();
    private boolean handedOn;

    /** An array, and where its copy is. */
    private static final class Staged {
        final Tensor tensor;
        final long address;
        Frame.Block block;
        boolean output;

        Staged(Tensor tensor, long address) {
            this.tensor = tensor;
            this.address = address;
        }
    }

    /** What must stay until the operation is done: tensors, ops, native memory. */
    static final class Borrowed {
        final List<Object> kept = new ArrayList<>(4);
        private final List<Staged> staged = new ArrayList<>(2);
        private final List<Value> temporary = new ArrayList<>(1);
        private ReduceOp op;

        void release() {
            for (Value value : temporary) value.close();
            temporary.clear();
            if (op != null) op.drop();
            op = null;
        }

        TuttiException explain(TuttiException failure) {
            return op == null ? failure : op.explain(failure);
        }

        void copyBack(Frame frame) {
            for (Staged array : staged) {
                if (!array.output) continue;
                array.tensor.copyFrom(array.block != null ? array.block.memory.duplicate().order(
                        java.nio.ByteOrder.nativeOrder())
                    : frame.view(array.address, (int) array.tensor.bytes()));
            }
        }
    }

    /** @param gathers  whether the call is one that coalescing gathers */
    Call(Core core, long timeoutMs, boolean async, boolean gathers) {
        gathering = gathers ? core.gathering() : null;
        group = core.handle(); // throws before anything is taken
        frame = Frame.open();
        error = frame.error();
        work = async ? frame.slot() : 0;
        options = timeoutMs == 0 ? 0 : frame.take(sizeof_tutti_call_options);
        if (options != 0) {
            Raw.tutti_call_options_init(options, sizeof_tutti_call_options);
            frame.putLong(options + tutti_call_options_timeout_ms, timeoutMs);
        }
    }

    boolean isAsync() {
        return work != 0;
    }

    /** The end of an operation that has no result but what is in its buffers. */
    Outcome<Void> check(int status) {
        if (status != TUTTI_OK) throw borrowed.explain(frame.failure(status));
        return null;
    }

    /** Keeps an object reachable until the operation is done. */
    <T> T keep(T object) {
        borrowed.kept.add(object);
        return object;
    }

    /** A reduce op's number. */
    int op(ReduceOp op) {
        if (op == null) throw TuttiException.invalid("op", "null");
        int code = op.code();
        op.retain();
        borrowed.op = op;
        keep(op);
        return code;
    }

    /** A buffer that is read; 0 for null. */
    long input(String argument, Tensor tensor) {
        return tensor == null ? 0 : struct(frame, tensor, place(argument, tensor, false));
    }

    /** A buffer that is written; 0 for null. */
    long output(String argument, Tensor tensor) {
        return tensor == null ? 0 : struct(frame, tensor, place(argument, tensor, true));
    }

    /** A list of buffers that are read; 0 for null. */
    long inputs(String argument, List<Tensor> tensors) {
        return list(argument, tensors, false);
    }

    /** A list of buffers that are written; 0 for null. */
    long outputs(String argument, List<Tensor> tensors) {
        return list(argument, tensors, true);
    }

    private long list(String argument, List<Tensor> tensors, boolean output) {
        if (tensors == null) return 0;
        int size = sizeof_tutti_buffer;
        long list = frame.take((long) tensors.size() * size);
        for (int i = 0; i < tensors.size(); i++) {
            String name = argument + "[" + i + "]";
            Tensor tensor = tensors.get(i);
            if (tensor == null) throw TuttiException.invalid(name, "null");
            fill(frame, list + (long) i * size, tensor, place(name, tensor, output));
        }
        return list;
    }

    /** Values that come in as results cannot be gathered: there is nothing to return yet. */
    void refuseGathering(String function) {
        if (gathering != null) {
            throw TuttiException.invalid(function, "its result is there at the end of coalescing "
                                         + "only, so it cannot be gathered");
        }
    }

    int worldSize() {
        return Math.max(0, Raw.tutti_get_world_size(group));
    }

    static int notNegative(String argument, int number) {
        if (number < 0) throw TuttiException.invalid(argument, number + " is negative");
        return number;
    }

    /** An object; what is made of a Java value for the call is given back after it. */
    long object(Object object) {
        Value value = Value.of(object).standalone();
        if (value != object) borrowed.temporary.add(value);
        return keep(value).whole();
    }

    /** A list of objects; 0 for null. */
    long objects(List<?> objects) {
        if (objects == null) return 0;
        long[] handles = new long[objects.size()];
        for (int i = 0; i < handles.length; i++) handles[i] = object(objects.get(i));
        return frame.longs(handles);
    }

    /** A copy of bytes that lasts as long as the operation; 0 for null. */
    long bytes(byte[] bytes) {
        if (bytes == null) return 0;
        if (!isAsync()) return frame.bytes(bytes);
        Frame.Block block = keep(new Frame.Block(Math.max(1, bytes.length)));
        block.memory.put(0, bytes);
        return block.address;
    }

    static long count(List<?> list) {
        return list == null ? 0 : list.size();
    }

    /** Where a tensor's elements are, or the copy of its array's. */
    long place(String argument, Tensor tensor, boolean output) {
        tensor.checkOpen(argument);
        if (output) tensor.checkWritable(argument);
        if (tensor.direct) {
            keep(tensor);
            return tensor.begin;
        }
        if (isAsync() || gathering != null && gathering.async) {
            throw TuttiException.invalid(argument, "an asynchronous call cannot keep an array in "
                + "place: give it a direct buffer, such as Tensor.allocate makes");
        }
        Staged array = staged(tensor, gathering != null);
        array.output |= output;
        return array.address;
    }

    /** The copy of an array; one for all that are the same elements. */
    private Staged staged(Tensor tensor, boolean gathered) {
        for (Staged other : borrowed.staged) {
            if (other.tensor.memory == tensor.memory && other.tensor.begin == tensor.begin
                && other.tensor.bytes() == tensor.bytes()) return other;
        }
        Staged array;
        if (gathered) {
            Frame.Block block = new Frame.Block(Math.max(8, (int) tensor.bytes()));
            tensor.copyTo(block.memory.duplicate().order(java.nio.ByteOrder.nativeOrder()));
            array = new Staged(tensor, block.address);
            array.block = block;
        } else {
            array = new Staged(tensor, stage(frame, tensor));
        }
        borrowed.staged.add(array);
        return array;
    }

    /** Where a tensor's elements can be read during this call. */
    static long stage(Frame frame, Tensor tensor) {
        tensor.checkOpen("tensor");
        if (tensor.direct) return tensor.begin;
        long address = frame.takeAsItIs(tensor.bytes());
        tensor.copyTo(frame.view(address, (int) tensor.bytes()));
        return address;
    }

    static long struct(Frame frame, Tensor tensor, long data) {
        long struct = frame.take(sizeof_tutti_buffer);
        fill(frame, struct, tensor, data);
        return struct;
    }

    static void fill(Frame frame, long struct, Tensor tensor, long data) {
        frame.putLong(struct + tutti_buffer_data, data);
        frame.putLong(struct + tutti_buffer_count, tensor.count);
        frame.putInt(struct + tutti_buffer_dtype, tensor.dtype.code());
    }

    /** Ends a synchronous call that has succeeded: results go to their arrays, or, if the call was
     *  gathered, will when the gathering ends. */
    void finish() {
        if (gathering == null) {
            borrowed.copyBack(frame);
        } else {
            gathering.add(borrowed);
            handedOn = true;
        }
    }

    /** The work that was started; it takes over what the call borrows. */
    <T> Work<T> work(Outcome<T> outcome) {
        handedOn = true;
        return new Work<>(frame.getLong(work), borrowed, outcome);
    }

    @Override
    public void close() {
        if (!handedOn) borrowed.release();
        frame.close();
    }
}
