package tutti;

import java.lang.ref.Cleaner;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongConsumer;

/** What holds something of the library: released by close, or by the garbage collector if nobody
 *  closed it. A call on what is closed throws; the library itself knows stale handles too, so a
 *  close in the middle of another thread's call does no harm. */
abstract class Handle implements AutoCloseable {
    static final Cleaner CLEANER = Cleaner.create();

    private final String noun;
    private final Owned owned;
    private final Cleaner.Cleanable cleanable;

    /** What is to be released; knows nothing of the object it belongs to. */
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

    /** The handle for a call; who uses it keeps this object reachable until the call is over. */
    final long handle() {
        if (owned.get()) {
            throw new UsageException(Status.INVALID_HANDLE, -1, 0, "the " + noun + " is closed");
        }
        return owned.value;
    }

    /** Whether close has been called. */
    public final boolean isClosed() {
        return owned.get();
    }

    @Override
    public abstract void close();

    final void release() {
        cleanable.clean();
    }
}
