package tutti;

import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.spi.AbstractInterruptibleChannel;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** A wait in the library that ends when its thread is interrupted. Java's one hook for that is a
 *  channel: the interrupting thread closes it. */
final class Interruptible extends AbstractInterruptibleChannel {
    private static final long LONGEST_PAUSE_MS = 1000;

    private final Runnable interrupt;
    private volatile boolean interrupted;
    private volatile boolean over;

    /** The wait begins.
     *  @param interrupt  ends it if it has begun in C; does not block, any thread may run it */
    Interruptible(Runnable interrupt) {
        this.interrupt = interrupt;
        begin();
    }

    /** Whether the thread has been interrupted since the wait began. */
    boolean interrupted() {
        return interrupted;
    }

    @Override
    protected void implCloseChannel() {
        interrupted = true;
        interrupt(1);
    }

    /** Interrupts, and does so again if the wait had not begun in C yet. */
    private void interrupt(long pauseMs) {
        if (over) return;
        interrupt.run();
        CompletableFuture.delayedExecutor(pauseMs, TimeUnit.MILLISECONDS)
                .execute(() -> interrupt(Math.min(2 * pauseMs, LONGEST_PAUSE_MS)));
    }

    /** The wait is over; its thread stays interrupted. */
    void over() {
        over = true;
        try {
            end(true);
        } catch (AsynchronousCloseException told) {
            // interrupted() says it.
        }
    }
}
