package tutti;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import tutti.raw.Memory;
import tutti.raw.Raw;

/** Memory of this rank that the other ranks of its host read where it is, so that collectives and
 *  messages copy less: see {@link Group#alloc}. Any memory will do for every call; with this, on
 *  all ranks that give data, calls of its group are faster where ranks are on one host.
 *
 *  <p>After close no call takes it. Its pages are given back once nothing refers to them any more,
 *  no buffer, no tensor and no operation that runs: a buffer that somebody kept stays readable. */
public final class SharedMemory implements AutoCloseable {
    /** When so many bytes are closed and not given back, the garbage collector is asked to look. */
    private static final long MANY = 1 << 26;
    /** Bytes that are there, and those of them that are closed. */
    private static final AtomicLong THERE = new AtomicLong();
    private static final AtomicLong CLOSED = new AtomicLong();

    /** All views of the memory refer to it, so it is collected after them. */
    private final ByteBuffer whole;
    private final Pages pages;

    /** What is to be given back; knows nothing of the object it belongs to. */
    private static final class Pages extends AtomicBoolean implements Runnable {
        private static final long serialVersionUID = 1L;
        private final long address;
        private final int bytes;

        Pages(long address, int bytes) {
            this.address = address;
            this.bytes = bytes;
            THERE.addAndGet(bytes);
        }

        /** Returns whether this was the first time. */
        boolean close() {
            if (getAndSet(true)) return false;
            CLOSED.addAndGet(bytes);
            return true;
        }

        @Override
        public void run() {
            close();
            Raw.tutti_free(address, 0);
            CLOSED.addAndGet(-bytes);
            THERE.addAndGet(-bytes);
        }
    }

    /** Takes over memory of the library. */
    SharedMemory(long address, int bytes) {
        whole = Memory.view(address, bytes);
        pages = new Pages(address, bytes);
        Handle.CLEANER.register(whole, pages);
    }

    /** How many bytes have not been given back: what tests look at for leaks. */
    static long bytesThere() {
        return THERE.get();
    }

    /** Refuses to be used after close. */
    void checkOpen(String argument) {
        if (!isClosed()) return;
        throw new UsageException(Status.INVALID_HANDLE, -1, 0,
                                 argument + ": the shared memory is closed");
    }

    ByteBuffer whole() {
        return whole;
    }

    /** All of it, as a direct buffer in the machine's byte order. */
    public ByteBuffer buffer() {
        checkOpen("buffer");
        return whole.duplicate().order(ByteOrder.nativeOrder());
    }

    /** All of it, as elements of a dtype: its size must be a whole number of them. */
    public Tensor tensor(DType dtype) {
        checkOpen("tensor");
        return Tensor.shared(this).as(dtype);
    }

    /** Whether close has been called. */
    public boolean isClosed() {
        return pages.get();
    }

    /** Ends its use. Each rank closes its own; operations that run go on. */
    @Override
    public void close() {
        if (pages.close() && CLOSED.get() > MANY) System.gc();
    }
}
