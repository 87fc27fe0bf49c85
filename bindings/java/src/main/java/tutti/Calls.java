package tutti;

import java.lang.ref.Reference;

/** How a group's calls are made: each operation is written once, as what it passes to C, and is
 *  done now or started as a work. */
abstract class Calls implements AutoCloseable {
    final Core core;
    final long timeoutMs;
    /** Of a device; 0: none. */
    final long stream;
    final ObjectOptions objectOptions;

    /** One operation: calls C, and says what comes out; null if it has no result. */
    interface Operation<T> {
        Outcome<T> begin(Call call);
    }

    Calls(Core core, long timeoutMs, long stream, ObjectOptions objectOptions) {
        this.core = core;
        this.timeoutMs = timeoutMs;
        this.stream = stream;
        this.objectOptions = objectOptions;
    }

    @Override
    public abstract void close();

    /** An operation that returns when it is done, or is part of a coalescing. */
    final <T> T now(Operation<T> operation) {
        try (Call call = new Call(core, timeoutMs, stream, false)) {
            Outcome<T> outcome = operation.begin(call);
            call.finish();
            return outcome == null ? null : outcome.get(null);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** An operation that goes on while the program does. */
    final <T> Work<T> start(Operation<T> operation) {
        try (Call call = new Call(core, timeoutMs, stream, true)) {
            return call.work(operation.begin(call));
        } finally {
            Reference.reachabilityFence(this);
        }
    }
}
