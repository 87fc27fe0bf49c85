package tutti;

import static org.junit.jupiter.api.Assertions.*;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import tutti.raw.Callbacks;

/** Asynchronous operations under a garbage collector that hardly rests. */
class StormTest {
    private static final int OPERATIONS =
            Integer.parseInt(System.getenv().getOrDefault("TUTTI_STORM", "100000"));
    private static final int RANKS = 2;
    private static final Semaphore STEPS = new Semaphore(0);

    /** Runs the ranks beside a thread that fills the heap and collects, again after each step that
     *  they tell of: so they get on, however slow the machine is. */
    private static void storm(Ranks.Body body) throws InterruptedException {
        AtomicBoolean stop = new AtomicBoolean();
        Thread collector = new Thread(() -> {
            while (!stop.get()) {
                Object[] garbage = new Object[200];
                for (int i = 0; i < garbage.length; i++) garbage[i] = new byte[10_000];
                System.gc();
                STEPS.acquireUninterruptibly();
                STEPS.drainPermits();
            }
        }, "collector");
        collector.start();
        try {
            Ranks.run(RANKS, body);
        } finally {
            stop.set(true);
            STEPS.release();
            collector.join();
        }
    }

    /** All works are kept for a while and then looked at, or dropped at once; the buffers of both
     *  are known to nobody but the work. */
    private static void allReduces(Group group) {
        Queue<Work<Void>> kept = new ArrayDeque<>();
        Queue<Tensor> tensors = new ArrayDeque<>();
        for (int i = 0; i < OPERATIONS / RANKS; i++) {
            STEPS.release();
            Tensor tensor = Ranks.doubles(i, group.rank());
            Work<Void> work = group.allReduceAsync(tensor, ReduceOp.SUM);
            if (i % 2 == 0) continue; // dropped, as is its tensor
            kept.add(work);
            tensors.add(tensor);
            if (kept.size() < 64) continue;
            kept.remove().await();
            assertArrayEquals(new double[] {2.0 * (i - 126), 1}, Ranks.read(tensors.remove()));
        }
        for (Work<Void> work : kept) work.await();
    }

    @Test
    void so_many_operations_keep_what_they_need() throws Exception {
        int before = Callbacks.count();
        storm(StormTest::allReduces);
        while (Callbacks.count() > before) Thread.onSpinWait(); // ends when the last is let go
    }

    @Test
    void objects_survive_the_collector_too() throws Exception {
        storm(group -> {
            for (int i = 0; i < 1000; i++) {
                STEPS.release();
                Work<?> dropped = group.allGatherObjectAsync("dropped " + i);
                assertFalse(dropped.isClosed());
                Object[] wanted = {i + " of 0", i + " of 1"};
                Object got = group.allGatherObject(i + " of " + group.rank());
                assertEquals(java.util.Arrays.asList(wanted), got);
            }
        });
    }

    @Test
    void what_nobody_closes_is_given_back() {
        for (int i = 0; i < 50_000; i++) {
            new HashStore();
            Value.of(i);
            if (i % 5000 == 0) System.gc();
        }
        int before = Callbacks.count();
        for (int i = 0; i < 1000; i++) ReduceOp.user("dropped", Math::max);
        while (Callbacks.count() > before) System.gc(); // ends when the last one is collected
    }
}
