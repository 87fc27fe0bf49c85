package tutti;

import java.lang.ref.Reference;
import tutti.raw.Raw;

/** How a group's calls are made: each operation is written once, as what it passes to C, and is
 *  done now or started as a work. */
abstract class Calls implements AutoCloseable {
    /** For how long a receive may wait before it can be interrupted. */
    private static final long SOON_MS = 5;

    final Core core;
    final long timeoutMs;
    /** The stream of a device; 0: none. */
    final long stream;
    /** The name of its operations, in UTF-8; null: none. */
    final byte[] tagName;
    final ObjectOptions objectOptions;

    /** One operation: calls C, and says what comes out; null if it has no result. */
    interface Operation<T> {
        Outcome<T> begin(Call call);
    }

    Calls(Core core, long timeoutMs, long stream, byte[] tagName,
          ObjectOptions objectOptions) {
        this.core = core;
        this.timeoutMs = timeoutMs;
        this.stream = stream;
        this.tagName = tagName;
        this.objectOptions = objectOptions;
    }

    @Override
    public abstract void close();

    /** An operation that returns when it is done, or is part of a coalescing. */
    final <T> T now(Operation<T> operation) {
        return now(operation, timeoutMs);
    }

    private <T> T now(Operation<T> operation, long timeoutMs) {
        try (Call call = new Call(core, timeoutMs, stream, tagName, Call.End.RETURNS)) {
            Outcome<T> outcome = operation.begin(call);
            call.finish();
            return outcome == null ? null : outcome.get(null);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** A receive that returns when it is done, or is cancelled when this thread is interrupted. C
     *  does all of it where the message comes soon, which takes least time; else it begins again as
     *  a work, which can be cancelled. With a stream no receive waits, and one from this rank
     *  itself is refused. */
    final <T> T receive(int groupSrc, Operation<T> operation) {
        boolean isShort = timeoutMs > 0 && timeoutMs <= SOON_MS;
        boolean itself = groupSrc == Raw.tutti_get_rank(core.handle());
        if (isShort || itself || stream != 0) return now(operation);
        if (!Thread.currentThread().isInterrupted()) {
            try {
                return now(operation, SOON_MS);
            } catch (TimeoutExpiredException late) {
                // It has taken no message.
            }
        }
        try (Call call = new Call(core, timeoutMs, stream, tagName, Call.End.WAITS)) {
            T result = call.await(operation.begin(call));
            call.finish();
            return result;
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** An operation that goes on while the program does. */
    final <T> Work<T> start(Operation<T> operation) {
        try (Call call = new Call(core, timeoutMs, stream, tagName, Call.End.STARTS)) {
            return call.work(operation.begin(call));
        } finally {
            Reference.reachabilityFence(this);
        }
    }
}
