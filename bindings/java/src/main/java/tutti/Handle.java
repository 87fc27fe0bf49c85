package tutti;

import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongConsumer;

/** An object that holds a handle of the library. Close releases it, or the garbage collector if the
 *  program does not close it. Calls on a closed object throw. The library itself recognises stale
 *  handles, so closing an object while another thread calls does no harm. */
abstract class Handle implements AutoCloseable {
    static final Cleaner CLEANER = Cleaner.create();

    private final String noun;
    private final Owned owned;
    private final Cleaner.Cleanable cleanable;

    /** The handle to release; does not refer to the object, which can so be collected. */
    private static final class Owned extends AtomicBoolean implements Runnable {
        private static final long serialVersionUID = 1L;
        private final long value;
        private final transient LongConsumer release;

        Owned(long value, LongConsumer release) {
            this.value = value;
            this.release = release;
        }

        @Override
        public void run() {
            set(true);
            release.accept(value);
        }
    }

    Handle(String noun, long value, LongConsumer release) {
        this.noun = noun;
        owned = new Owned(value, release);
        cleanable = CLEANER.register(this, owned);
    }

    /** Calls the library with a place for a result; returns the status. */
    interface Maker {
        int make(Arena arena, long out);
    }

    /** The value that the library writes there: a handle, or a number of 32 or 64 bits. */
    static long make(Maker maker) {
        try (Arena arena = Arena.open()) {
            long out = arena.slot();
            arena.check(maker.make(arena, out));
            return arena.getLong(out);
        }
    }

    /** Calls the library with this handle. */
    interface Request<T> {
        T ask(Arena arena, long handle);
    }

    final <T> T ask(Request<T> request) {
        try (Arena arena = Arena.open()) {
            return request.ask(arena, handle());
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** Calls the library with this handle; returns the status. */
    interface Action {
        int act(Arena arena, long handle);
    }

    final void act(Action action) {
        ask((arena, handle) -> {
            arena.check(action.act(arena, handle));
            return null;
        });
    }

    /** Calls the library with this handle and a place for a result; returns the status. */
    interface Question {
        int ask(Arena arena, long handle, long out);
    }

    /** The value that the library writes there, see make. */
    final long number(Question question) {
        return ask((arena, handle) -> {
            long out = arena.slot();
            arena.check(question.ask(arena, handle, out));
            return arena.getLong(out);
        });
    }

    /** The handle for a call; the caller keeps this object reachable until the call is over. */
    final long handle() {
        if (owned.get()) {
            throw new UsageException(Status.INVALID_HANDLE, -1, 0, "the " + noun + " is closed");
        }
        return owned.value;
    }

    /** Whether close has been called. */
    public boolean isClosed() {
        return owned.get();
    }

    @Override
    public abstract void close();

    final void release() {
        cleanable.clean();
    }
}
