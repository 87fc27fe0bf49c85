package tutti;

import static tutti.raw.RawConstants.*;

import java.lang.ref.Reference;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import tutti.raw.Callbacks;
import tutti.raw.Memory;
import tutti.raw.Raw;

/** An operation that runs while the program goes on. Any number of threads may wait for it. A
 *  thread that waits, or asks {@link #isCompleted} again and again, does what it can of the
 *  operation itself, which takes least time; a {@link #future} needs threads of the library. Buffers
 *  stay reachable until the operation is done, also if the program drops or closes the work before;
 *  a work that is neither dropped nor closed keeps them until a wait, isCompleted or the start of a
 *  later work has found it done. Their contents are the program's again when it is done.
 *  @param <T>  what it gives: Void for results that are in the buffers */
public final class Work<T> extends Handle {
    /** Futures end here: the default executor starts a thread for each where processors are few. */
    private static final Executor ENDS = Executors.newCachedThreadPool(task -> {
        Thread thread = new Thread(task, "tutti future");
        thread.setDaemon(true);
        return thread;
    });

    /** The cleaning action gives it back with the handle. */
    private final Borrowed borrowed;
    private final ReduceOp op;
    private final Outcome<T> outcome;
    private final boolean receives;
    private T result;
    private boolean hasResult;
    private TuttiException unread;
    /** Futures that have not ended: they need the handle, also if the work is closed. */
    private int futures;
    private volatile boolean closed;

    /** @param borrowed  what the operation uses until it is done
     *  @param op        with which the operation reduces, or null
     *  @param outcome   null: no result but what is in the buffers
     *  @param receives  whether the operation is a receive */
    Work(long value, Borrowed borrowed, ReduceOp op, Outcome<T> outcome, boolean receives) {
        super("work", value, borrowed::release);
        this.borrowed = borrowed;
        this.op = op;
        this.outcome = outcome;
        this.receives = receives;
    }

    /** The result of await, once the operation has succeeded. */
    private T result() {
        if (outcome == null) return null;
        synchronized (this) {
            if (!hasResult) {
                try {
                    result = outcome.get(this);
                } catch (Throwable thrown) {
                    unread = unread(thrown);
                }
                hasResult = true;
            }
            if (unread != null) throw unread.again();
            return result;
        }
    }

    /** The failure of a work whose operation succeeded, but whose result Java cannot hold. */
    private static TuttiException unread(Throwable thrown) {
        if (thrown instanceof TuttiException) return (TuttiException) thrown;
        Status status = thrown instanceof OutOfMemoryError ? Status.OUT_OF_MEMORY : Status.INTERNAL;
        TuttiException failure = new TuttiException(status, -1, 0,
                                                    "the result could not be read: " + thrown);
        failure.initCause(thrown);
        return failure;
    }

    /** The handle, unless the program has closed the work. */
    private long open() {
        if (!closed) return handle();
        throw new UsageException(Status.INVALID_HANDLE, -1, 0, "the work is closed");
    }

    /** Waits until the operation is done, as long as it may take. Interrupting the thread cancels a
     *  receive, as {@link #cancel} does, and nothing else; the thread stays interrupted.
     *  @return what it gives
     *  @throws TuttiException  its failure */
    public T await() {
        return await(null);
    }

    /** Waits until the operation is done.
     *  @param limit  of this wait alone; null: none; not above 0: hardly waits at all
     *  @throws PendingException  this wait expired; the operation goes on, and may be waited for
     *      again
     *  @throws TuttiException    its failure */
    public T await(Duration limit) {
        return await(open(), Arena.limit(limit));
    }

    private T await(long work, long limitMs) {
        Interruptible wait = receives ? new Interruptible(this::cancelReceive) : null;
        try (Arena arena = Arena.open()) {
            int status = Raw.tutti_work_wait(work, limitMs, arena.error());
            if (status != TUTTI_OK) throw failure(arena, work, status);
            borrowed.done();
            return result();
        } finally {
            if (wait != null) wait.over();
            Reference.reachabilityFence(this);
        }
    }

    /** How a wait has failed, which ends what the operation borrows if it is the operation's own
     *  failure. */
    private TuttiException failure(Arena arena, long work, int status) {
        TuttiException failure = ReduceOp.explain(op, arena.failure(status));
        borrowed.look(work);
        return failure;
    }

    /** A future that ends as the operation does, on a daemon thread that may wait for anything.
     *  Each call gives one of its own. Cancelling one ends it, and cancels a receive for which no
     *  message has come; any other operation goes on. Interrupting a thread that waits for one with
     *  get ends its wait with an InterruptedException, and cancels such a receive; if its message
     *  has begun to come, get returns when it is there, and the thread stays interrupted. */
    public CompletableFuture<T> future() {
        CompletableFuture<T> future = new Future();
        synchronized (this) {
            long work = open();
            long user = Callbacks.register((Callbacks.Done) () -> ENDS.execute(() -> end(future)));
            try (Arena arena = Arena.open()) {
                int status = Raw.tutti_work_then(work, Callbacks.doneFunction(), user, 0,
                                                 arena.error());
                if (status != TUTTI_OK) Callbacks.remove(user);
                arena.check(status);
            }
            futures++;
        }
        return future;
    }

    private final class Future extends CompletableFuture<T> {
        @Override
        public boolean cancel(boolean mayInterrupt) {
            boolean cancelled = super.cancel(mayInterrupt);
            if (cancelled) cancelReceive();
            return cancelled;
        }

        @Override
        public T get() throws InterruptedException, ExecutionException {
            try {
                return super.get();
            } catch (InterruptedException interrupted) {
                if (!receives || cancelReceive()) throw interrupted;
            }
            ending().join();
            Thread.currentThread().interrupt();
            return super.get();
        }

        @Override
        public T get(long timeout, TimeUnit unit)
                throws InterruptedException, ExecutionException, TimeoutException {
            long begun = System.nanoTime();
            try {
                return super.get(timeout, unit);
            } catch (InterruptedException interrupted) {
                if (!receives || cancelReceive()) throw interrupted;
            }
            long rest = unit.toNanos(timeout) - (System.nanoTime() - begun);
            ending().completeOnTimeout(null, rest, TimeUnit.NANOSECONDS).join();
            Thread.currentThread().interrupt();
            if (!isDone()) throw new TimeoutException();
            return super.get();
        }

        /** Ends as this one does, without a failure. */
        private CompletableFuture<Void> ending() {
            return handle((result, failure) -> null);
        }
    }

    private void end(CompletableFuture<T> future) {
        try {
            future.complete(await(handle(), 0));
        } catch (Throwable failure) {
            future.completeExceptionally(failure);
        } finally {
            synchronized (this) {
                if (--futures == 0 && closed) release();
            }
        }
    }

    /** Cancels a receive for which no message has come: it fails with {@link Status#ABORTED}, and a
     *  message that comes later goes to the next receive.
     *  @return whether it was cancelled; false if its message has begun to come, or it is done
     *  @throws UsageException  if the operation is no receive */
    public boolean cancel() {
        return ask(Raw::tutti_work_cancel) != 0;
    }

    /** Cancels a receive for which no message has come, and tells whether it did. */
    private boolean cancelReceive() {
        if (!receives) return false;
        try (Arena arena = Arena.open()) {
            long out = arena.slot();
            return Raw.tutti_work_cancel(handle(), out, arena.error()) == TUTTI_OK
                && arena.getInt(out) != 0;
        } catch (UsageException closed) {
            return false; // it is done
        }
    }

    /** Makes a stream of the device that the buffers are on wait for the operation, while this
     *  thread goes on: what is enqueued on it later finds the results.
     *  @param stream  for instance a cudaStream_t or CUstream; 0: this thread waits, as in
     *                 {@link #await()}
     *  @throws TuttiException  the operation's failure */
    public void synchronize(long stream) {
        open();
        ask((arena, work) -> {
            int status = Raw.tutti_work_synchronize(work, stream, arena.error());
            if (status != TUTTI_OK) throw failure(arena, work, status);
            if (stream == 0) borrowed.done();
            return null;
        });
    }

    private interface Fact {
        int ask(long work, long out, long error);
    }

    private long ask(Fact fact) {
        open();
        return number((arena, work, out) -> fact.ask(work, out, arena.error()));
    }

    /** Whether the operation is done, successfully or not. */
    public boolean isCompleted() {
        boolean isCompleted = ask(Raw::tutti_work_is_completed) != 0;
        if (isCompleted) borrowed.done();
        return isCompleted;
    }

    /** Whether the work keeps what the operation borrows: what tests look at. */
    boolean keeps() {
        return borrowed.isUsed();
    }

    /** Whether the operation is done and successful. */
    public boolean isSuccess() {
        return ask(Raw::tutti_work_is_success) != 0 && exception() == null;
    }

    /** How the operation failed; null while it runs and if it succeeded. */
    public TuttiException exception() {
        open();
        return ask((arena, work) -> {
            int status = Raw.tutti_work_error(work, arena.error());
            if (status != TUTTI_OK) return ReduceOp.explain(op, arena.failure(status));
            synchronized (this) {
                return unread == null ? null : unread.again();
            }
        });
    }

    /** The group rank that a finished receive received from; else -1. */
    public int sourceRank() {
        open();
        return source();
    }

    int source() {
        return (int) number((arena, work, out) -> Raw.tutti_work_source_rank(work, out,
                                                                             arena.error()));
    }

    /** The name of the operation, for instance "all_reduce". */
    public String opType() {
        long name = Raw.tutti_work_get_op_type(open());
        Reference.reachabilityFence(this);
        return Memory.string(name);
    }

    /** Which collective of its group it is, as messages show it (#7); 0 for messages. */
    public long sequenceNumber() {
        return ask(Raw::tutti_work_get_sequence_number);
    }

    /** For people, for instance "all_reduce, running". */
    @Override
    public String toString() {
        return closed ? "closed work" : opType() + (isCompleted() ? ", done" : ", running");
    }

    /** How long the operation took, from the call that started it; null while it runs. */
    public Duration duration() {
        double milliseconds = Double.longBitsToDouble(ask(Raw::tutti_work_get_duration));
        return milliseconds < 0 ? null : Duration.ofNanos((long) (milliseconds * 1e6));
    }

    /** Waits until one of several operations is done.
     *  @param works  null among them is skipped
     *  @param limit  of this wait; null: none
     *  @return the index of one that is done, the lowest if several are
     *  @throws PendingException  none is done, and the limit has passed */
    public static int waitAny(List<? extends Work<?>> works, Duration limit) {
        Work<?>[] each = works.toArray(new Work<?>[0]);
        try (Arena arena = Arena.open()) {
            long out = arena.slot();
            arena.check(Raw.tutti_work_wait_any(arena.longs(handles(each)), each.length,
                                                Arena.limit(limit), out, arena.error()));
            int index = (int) arena.getLong(out);
            each[index].borrowed.done();
            return index;
        } finally {
            Reference.reachabilityFence(each);
        }
    }

    /** Waits until all operations are done, also after a failure.
     *  @param works  null among them is skipped
     *  @param limit  of the whole wait; null: none
     *  @throws PendingException  the limit has passed
     *  @throws TuttiException    the first failure in their order */
    public static void waitAll(List<? extends Work<?>> works, Duration limit) {
        Work<?>[] each = works.toArray(new Work<?>[0]);
        try (Arena arena = Arena.open()) {
            long[] handles = handles(each);
            int status = Raw.tutti_work_wait_all(arena.longs(handles), each.length,
                                                 Arena.limit(limit), arena.error());
            TuttiException failure = status == TUTTI_OK ? null : arena.failure(status);
            for (int i = 0; i < each.length; i++) {
                if (each[i] == null) continue;
                if (failure == null) {
                    each[i].borrowed.done();
                } else {
                    each[i].borrowed.look(handles[i]);
                }
            }
            if (failure != null) throw failure;
        } finally {
            Reference.reachabilityFence(each);
        }
    }

    private static long[] handles(Work<?>[] works) {
        long[] handles = new long[works.length];
        for (int i = 0; i < handles.length; i++) {
            if (works[i] != null) handles[i] = works[i].open();
        }
        return handles;
    }

    @Override
    public boolean isClosed() {
        return closed;
    }

    /** Gives the handle back; what is running goes on, and its futures end as it does. */
    @Override
    public synchronized void close() {
        closed = true;
        if (futures == 0) release();
    }
}
