package tutti;

import static tutti.raw.RawConstants.*;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import tutti.raw.Raw;

/** One call on a group: what it passes to C, and what it borrows until it is done. The works of an
 *  asynchronous call keep that from the end of the call on. */
final class Call implements AutoCloseable {
    final Arena arena;
    final long group;
    /** 0 for the defaults. */
    final long options;
    /** Where C writes the work; 0 for a call that C returns from when it is done. */
    final long work;
    final long error;

    /** The coalescing that the call is part of, or null. */
    private final Core.Collected collected;
    /** Whether the operation goes on when the call has ended. */
    private final boolean isAsync;
    /** Where the works are that have started and that no Work holds yet. */
    private long nextWork;
    private long endOfWorks;
    /** Tensors and native memory. */
    private final Borrowed borrowed = new Borrowed();
    private List<Staged> staged = List.of();
    private List<Value> temporary = List.of();
    private ReduceOp op;
    /** Whether the operation is a receive, which can be cancelled. */
    boolean receives;
    /** Whether it works in place: its one tensor is C's input and output. */
    private boolean inPlace;

    /** How a call ends. */
    enum End {
        /** C returns when the operation is done. */
        RETURNS,
        /** C gives a work, and this thread waits until it is done. */
        WAITS,
        /** C gives a work, which goes on when the call has ended. */
        STARTS
    }

    /** An array, and a copy of its elements. */
    private static final class Staged {
        final Tensor tensor;
        final long address;
        final ByteBuffer copy;
        boolean output;

        Staged(Tensor tensor, long address, ByteBuffer copy) {
            this.tensor = tensor;
            this.address = address;
            this.copy = copy;
        }
    }

    Call(Core core, long timeoutMs, long stream, byte[] tagName, End end) {
        isAsync = end == End.STARTS;
        collected = core.collected;
        group = core.handle(); // throws before anything is taken
        if (isAsync) Borrowed.sweep();
        arena = Arena.open();
        error = arena.error();
        work = end == End.RETURNS ? 0 : arena.slot();
        boolean isPlain = timeoutMs == 0 && stream == 0 && tagName == null;
        options = isPlain ? 0 : arena.take(sizeof_tutti_call_options);
        if (options == 0) return;
        Raw.tutti_call_options_init(options, sizeof_tutti_call_options);
        arena.putLong(options + tutti_call_options_timeout_ms, timeoutMs);
        arena.putLong(options + tutti_call_options_stream, stream);
        if (tagName == null) return;
        arena.putLong(options + tutti_call_options_tag_name, arena.bytes(tagName));
    }

    /** Whether C gives a work, which knows the results. */
    boolean hasWork() {
        return work != 0;
    }

    /** The end of an operation that has no result but what is in its buffers. */
    Outcome<Void> check(int status) {
        return check(status, work, 1);
    }

    /** {@link #check(int)} of a call that has started several works.
     *  @param works  where C has written them */
    Outcome<Void> check(int status, long works, int count) {
        if (status != TUTTI_OK) throw ReduceOp.explain(op, arena.failure(status, inPlace));
        if (!isAsync) return null;
        nextWork = works;
        endOfWorks = works + 8L * count;
        return null;
    }

    /** Messages name the one tensor of a call in place. */
    Call inPlace() {
        inPlace = true;
        return this;
    }

    /** Keeps an object reachable until the operation is done. */
    <T> T keep(T object) {
        return borrowed.keep(object);
    }

    /** A reduce op's number. */
    int op(ReduceOp op) {
        if (op == null) throw TuttiException.invalid("op", "null");
        this.op = op;
        return op.code();
    }

    /** A buffer that is read; 0 for null. */
    long input(String argument, Tensor tensor) {
        return tensor == null ? 0 : struct(arena, tensor, place(argument, tensor, false));
    }

    /** A buffer that is written; 0 for null. */
    long output(String argument, Tensor tensor) {
        return tensor == null ? 0 : struct(arena, tensor, place(argument, tensor, true));
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
        long list = arena.take((long) tensors.size() * size);
        for (int i = 0; i < tensors.size(); i++) {
            String name = argument + "[" + i + "]";
            Tensor tensor = tensors.get(i);
            if (tensor == null) throw TuttiException.invalid(name, "null");
            fill(arena, list + (long) i * size, tensor, place(name, tensor, output));
        }
        return list;
    }

    int worldSize() {
        return Math.max(0, Raw.tutti_get_world_size(group));
    }

    static int notNegative(String argument, int number) {
        if (number < 0) throw TuttiException.invalid(argument, number + " is negative");
        return number;
    }

    /** An object, which C keeps for itself; what is made of a Java value goes after the call. */
    long object(Object object) {
        Value value = keep(Value.of(object).standalone());
        if (value != object) {
            if (temporary.isEmpty()) temporary = new ArrayList<>(1);
            temporary.add(value);
        }
        return value.whole();
    }

    /** A list of objects; 0 for null. */
    long objects(List<?> objects) {
        if (objects == null) return 0;
        long[] handles = new long[objects.size()];
        for (int i = 0; i < handles.length; i++) handles[i] = object(objects.get(i));
        return arena.longs(handles);
    }

    /** A copy of bytes that lasts as long as the operation; 0 for null. */
    long bytes(byte[] bytes) {
        if (bytes == null) return 0;
        if (!isAsync) return arena.bytes(bytes);
        Arena.Block block = keep(new Arena.Block(Math.max(1, bytes.length)));
        block.memory.put(0, bytes);
        return block.address;
    }

    static long count(List<?> list) {
        return list == null ? 0 : list.size();
    }

    /** Where a tensor's elements are, or the copy of its array's. */
    long place(String argument, Tensor tensor, boolean output) {
        if (inPlace) argument = "tensor";
        tensor.checkOpen(argument);
        if (output) tensor.checkWritable(argument);
        if (tensor.direct) {
            keep(tensor);
            return tensor.begin;
        }
        if (isAsync || collected != null && collected.async) {
            throw TuttiException.invalid(argument, "an asynchronous call cannot keep an array in "
                + "place: give it a direct buffer, such as Tensor.allocate makes");
        }
        Staged array = staged(tensor);
        array.output |= output;
        return array.address;
    }

    /** The copy of an array; one for all that are the same elements. That of a collected call
     *  outlives the arena. */
    private Staged staged(Tensor tensor) {
        for (Staged other : staged) {
            if (other.tensor.memory == tensor.memory && other.tensor.begin == tensor.begin
                && other.tensor.bytes() == tensor.bytes()) return other;
        }
        int bytes = (int) tensor.bytes();
        Arena.Block block = collected == null ? null : new Arena.Block(Math.max(8, bytes));
        long address = block == null ? arena.takeAsItIs(bytes) : block.address;
        ByteBuffer copy = block == null ? arena.view(address, bytes) : block.memory;
        tensor.copyTo(copy);
        if (staged.isEmpty()) staged = new ArrayList<>(2);
        staged.add(new Staged(tensor, address, copy));
        return staged.get(staged.size() - 1);
    }

    /** Where a tensor's elements can be read during this call. */
    static long stage(Arena arena, Tensor tensor) {
        tensor.checkOpen("tensor");
        tensor.checkOnCpu("tensor");
        if (tensor.direct) return tensor.begin;
        long address = arena.takeAsItIs(tensor.bytes());
        tensor.copyTo(arena.view(address, (int) tensor.bytes()));
        return address;
    }

    static long struct(Arena arena, Tensor tensor, long data) {
        long struct = arena.take(sizeof_tutti_buffer);
        fill(arena, struct, tensor, data);
        return struct;
    }

    static void fill(Arena arena, long struct, Tensor tensor, long data) {
        arena.putLong(struct + tutti_buffer_data, data);
        arena.putLong(struct + tutti_buffer_count, tensor.count);
        arena.putInt(struct + tutti_buffer_dtype, tensor.dtype.code());
        if (tensor.device == null) return;
        arena.putInt(struct + tutti_buffer_device_type, tensor.device.type().code());
        arena.putInt(struct + tutti_buffer_device_index, tensor.device.index());
    }

    /** Ends a synchronous call that has succeeded: results go to their arrays, or will at the end
     *  of the coalescing. */
    void finish() {
        if (collected == null) {
            copyBack();
        } else {
            collected.calls.add(this);
        }
    }

    void copyBack() {
        for (Staged array : staged) {
            if (array.output) array.tensor.copyFrom(array.copy);
        }
    }

    /** The work that has started. */
    <T> Work<T> work(Outcome<T> outcome) {
        return work(outcome, receives);
    }

    /** The next one of the works that have started.
     *  @param receives  whether it is of a receive */
    <T> Work<T> work(Outcome<T> outcome, boolean receives) {
        long handle = arena.getLong(nextWork);
        Work<T> made = new Work<>(handle, borrowed.of(handle), op, outcome, receives);
        nextWork += 8;
        return made;
    }

    /** Waits for the work that has started; also until it is done where Java runs out of memory,
     *  for it uses the arena. */
    <T> T await(Outcome<T> outcome) {
        Work<T> waited = null;
        try {
            waited = new Work<>(arena.getLong(work), borrowed, op, outcome, receives);
            return waited.await();
        } catch (Error thrown) {
            Raw.tutti_work_wait(arena.getLong(work), 0, 0);
            throw thrown;
        } finally {
            if (waited != null) waited.close();
        }
    }

    @Override
    public void close() {
        for (; nextWork < endOfWorks; nextWork += 8) borrowed.releaseOne(arena.getLong(nextWork));
        for (Value value : temporary) value.close();
        arena.close();
        Reference.reachabilityFence(borrowed);
    }
}
