package tutti;

import java.lang.ref.Reference;
import java.util.concurrent.locks.StampedLock;

/** How a group's calls are made: each operation is written once, as what it passes to C, and is
 *  done now or started as a work. */
abstract class Calls implements AutoCloseable {
    final Core core;
    final long timeoutMs;
    final ObjectOptions objectOptions;

    /** One operation: calls C, and says what comes out; null if it has no result. */
    interface Operation<T> {
        Outcome<T> begin(Call call);
    }

    Calls(Core core, long timeoutMs, ObjectOptions objectOptions) {
        this.core = core;
        this.timeoutMs = timeoutMs;
        this.objectOptions = objectOptions;
    }

    @Override
    public abstract void close();

    /** A collective that returns when it is done, or gathered. */
    final <T> T now(Operation<T> operation) {
        StampedLock coalescing = core.coalescing;
        long stamp = coalescing.readLock();
        try {
            return run(operation, true);
        } finally {
            coalescing.unlockRead(stamp);
        }
    }

    /** A message that returns when it is done; messages are never gathered. */
    final <T> T message(Operation<T> operation) {
        return run(operation, false);
    }

    private <T> T run(Operation<T> operation, boolean collective) {
        try (Call call = new Call(core, timeoutMs, false, collective)) {
            Outcome<T> outcome = operation.begin(call);
            call.finish();
            if (outcome == null) return null;
            outcome.take(null);
            return outcome.get(null);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** An operation that goes on while the program does. */
    final <T> Work<T> start(Operation<T> operation) {
        try (Call call = new Call(core, timeoutMs, true, false)) {
            return call.work(operation.begin(call));
        } finally {
            Reference.reachabilityFence(this);
        }
    }
}
