package tutti;

import static tutti.raw.RawConstants.*;

import java.lang.ref.Reference;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import tutti.raw.Callbacks;
import tutti.raw.Memory;
import tutti.raw.Raw;

/** An operation that runs while the program goes on. Any number of threads may wait for it. It
 *  keeps its buffers reachable until it is done, also if the program drops or closes it before;
 *  their contents are the program's again when it is done.
 *  @param <T>  what it gives: Void for results that are in the buffers */
public final class Work<T> extends Handle {
    /** Futures end here: the default executor starts a thread for each where processors are few. */
    private static final Executor ENDS = Executors.newCachedThreadPool(task -> {
        Thread thread = new Thread(task, "tutti future");
        thread.setDaemon(true);
        return thread;
    });

    private final Outcome<T> outcome;
    private Call.Borrowed borrowed;
    private CompletableFuture<T> future;
    private TuttiException failure;
    private T result;
    private boolean hasResult;
    private volatile boolean done;
    private boolean closed;

    /** From here to done() the work is registered, and so reachable with all it borrows. */
    Work(long value, Call.Borrowed borrowed, Outcome<T> outcome) {
        super("work", value, Raw::tutti_work_release);
        this.borrowed = borrowed;
        this.outcome = outcome;
        long user = Callbacks.register((Callbacks.Done) this::done);
        try (Frame frame = Frame.open()) {
            // Should there be no thread for the callback, the work stays registered for ever.
            Raw.tutti_work_then(value, Callbacks.doneFunction(), user, frame.error());
        }
    }

    /** Called by the library, and by who sees first that the operation is done. */
    private void done() {
        if (done) return; // does not wait for a thread that reads the result
        CompletableFuture<T> waiting;
        synchronized (this) {
            if (done) return;
            failure = endedWith();
            try {
                if (outcome != null) outcome.take(this);
            } catch (Throwable thrown) {
                if (failure == null) failure = unread(thrown);
            }
            borrowed.release();
            borrowed = null;
            done = true;
            waiting = future;
            if (closed) release();
        }
        if (waiting != null) waiting.completeAsync(this::value, ENDS);
    }

    private TuttiException endedWith() {
        try (Frame frame = Frame.open()) {
            int status = Raw.tutti_work_error(handle(), frame.error());
            return status == TUTTI_OK ? null : borrowed.explain(frame.failure(status));
        }
    }

    /** What await gives, once the operation is done. */
    private synchronized T value() {
        if (failure == null && !hasResult) {
            try {
                result = outcome == null ? null : outcome.get(this);
            } catch (Throwable thrown) {
                failure = unread(thrown);
            }
            hasResult = true;
        }
        if (failure != null) throw failure.again();
        return result;
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

    private static long open(Work<?> work) {
        return work.open();
    }

    private long open() {
        synchronized (this) {
            if (!closed) return handle();
        }
        throw new UsageException(Status.INVALID_HANDLE, -1, 0, "the work is closed");
    }

    /** Waits until the operation is done, as long as it may take.
     *  @return what it gives
     *  @throws TuttiException  its failure */
    public T await() {
        return await(null);
    }

    /** Waits until the operation is done.
     *  @param limit  of this wait alone; null: none; not above 0: hardly waits at all
     *  @throws TimeoutExpiredException  the operation is still running, and may be waited for
     *      again; or it ended so itself ({@link #isCompleted()} tells)
     *  @throws TuttiException           its failure */
    public T await(Duration limit) {
        long work = open();
        try (Frame frame = Frame.open()) {
            int status = Raw.tutti_work_wait(work, Frame.limit(limit), frame.error());
            if (status == TUTTI_ERR_INVALID_HANDLE) throw frame.failure(status);
            if (status == TUTTI_ERR_TIMEOUT) {
                TuttiException expired = frame.failure(status);
                if (!isCompleted()) throw expired;
            }
            done();
            return value();
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** A future that ends as the operation does, on a daemon thread that may wait for anything.
     *  Each call gives one of its own; cancelling it does not end the operation. */
    public CompletableFuture<T> future() {
        open();
        synchronized (this) {
            boolean ended = done && future == null;
            if (future == null) future = new CompletableFuture<>();
            CompletableFuture<T> own = future.copy();
            if (ended) future.completeAsync(this::value, ENDS);
            return own;
        }
    }

    private interface Question {
        int ask(long work, long out, long error);
    }

    private long ask(Question question) {
        try (Frame frame = Frame.open()) {
            long out = frame.slot();
            frame.check(question.ask(open(), out, frame.error()));
            return frame.getLong(out);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** Whether the operation is done, successfully or not. */
    public boolean isCompleted() {
        return ask(Raw::tutti_work_is_completed) != 0;
    }

    /** Whether the operation is done and successful. */
    public boolean isSuccess() {
        return ask(Raw::tutti_work_is_success) != 0 && exception() == null;
    }

    /** How the operation failed; null while it runs and if it succeeded. */
    public TuttiException exception() {
        if (!isCompleted()) return null;
        done();
        synchronized (this) {
            return failure == null ? null : failure.again();
        }
    }

    /** The group rank that a finished receive received from; else -1. */
    public int sourceRank() {
        return (int) ask(Raw::tutti_work_source_rank);
    }

    /** The same for who holds the lock while the operation ends, also if the work is closed. */
    int sourceRankNow() {
        try (Frame frame = Frame.open()) {
            long out = frame.slot();
            frame.check(Raw.tutti_work_source_rank(handle(), out, frame.error()));
            return frame.getInt(out);
        }
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
        synchronized (this) {
            return closed ? "closed work" : opType() + (done ? ", done" : ", running");
        }
    }

    /** How long the operation took, from the call that started it; null while it runs. */
    public Duration duration() {
        double milliseconds = Double.longBitsToDouble(ask(Raw::tutti_work_get_duration));
        return milliseconds < 0 ? null : Duration.ofNanos((long) (milliseconds * 1e6));
    }

    /** Waits until one of several operations is done.
     *  @param limit  of this wait; null: none
     *  @return the index of one that is done, the lowest if several are */
    public static int waitAny(List<? extends Work<?>> works, Duration limit) {
        try (Frame frame = Frame.open()) {
            long out = frame.slot();
            frame.check(Raw.tutti_work_wait_any(handles(frame, works), works.size(),
                                                Frame.limit(limit), out, frame.error()));
            return (int) frame.getLong(out);
        } finally {
            Reference.reachabilityFence(works);
        }
    }

    /** Waits until all operations are done, also after a failure.
     *  @param limit  of the whole wait; null: none
     *  @throws TuttiException  the first failure in their order, or that the limit has passed */
    public static void waitAll(List<? extends Work<?>> works, Duration limit) {
        try (Frame frame = Frame.open()) {
            frame.check(Raw.tutti_work_wait_all(handles(frame, works), works.size(),
                                                Frame.limit(limit), frame.error()));
        } finally {
            Reference.reachabilityFence(works);
        }
    }

    private static long handles(Frame frame, List<? extends Work<?>> works) {
        long[] handles = new long[works.size()];
        for (int i = 0; i < handles.length; i++) handles[i] = open(works.get(i));
        return frame.longs(handles);
    }

    /** Gives the handle back; what is running goes on, and its future ends as it does. */
    @Override
    public void close() {
        synchronized (this) {
            closed = true;
            if (done) release();
        }
    }
}
