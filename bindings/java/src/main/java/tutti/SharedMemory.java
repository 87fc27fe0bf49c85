package tutti;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import tutti.raw.Memory;
import tutti.raw.Raw;

/** Memory of this rank that the other ranks of its host read in place: see {@link Group#alloc}.
 *  Every call works with any memory; if all ranks that give data give such memory, calls of its
 *  group copy less between the ranks of one host.
 *
 *  <p>After close every call refuses it. The library frees its pages when no buffer and no tensor
 *  refers to them any more, and the last operation that uses them is done. So a buffer that the
 *  program has kept stays readable. */
public final class SharedMemory implements AutoCloseable {
    /** When so many bytes are closed and not given back, the garbage collector is asked to look. */
    private static final long MANY = 1 << 26;
    /** Bytes that are there, and those of them that are closed. */
    private static final AtomicLong THERE = new AtomicLong();
    private static final AtomicLong CLOSED = new AtomicLong();

    /** All views of the memory refer to it, so it is collected after them. */
    private final ByteBuffer whole;
    private final Pages pages;

    /** The pages to release; do not refer to the buffer, which can so be collected. */
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
            Raw.tutti_memory_release(address);
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
