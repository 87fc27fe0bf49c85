package tutti;

import static org.junit.jupiter.api.Assertions.*;

import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import tutti.raw.Callbacks;

/** Works keep what their operations use, and the library calls only where it must. */
class BorrowedTest {
    private static final int TAG = 3;

    private static long count() {
        return Callbacks.count(Borrowed.class);
    }

    /** How many are registered when the operations of earlier tests have let theirs go: the library
     *  calls in the order in which operations ended. */
    private static long registered() {
        Ranks.run(1, group -> group.barrierAsync().future().get(60, TimeUnit.SECONDS));
        return count();
    }

    private static void untilRegistered(long count) {
        while (count() != count) Thread.onSpinWait();
    }

    /** Until the callback, which is no longer registered, has returned. */
    private static void untilReleased(Work<?> work) {
        while (work.keeps()) Thread.onSpinWait();
    }

    /** A receive from itself whose memory nothing else refers to. */
    private static final class Receive {
        final WeakReference<Object> memory;
        Work<Integer> work;

        Receive(Group group) {
            Tensor tensor = Ranks.doubles(0);
            memory = new WeakReference<>(tensor.memory);
            work = group.irecv(tensor, 0, TAG);
        }

        /** Sends what it waits for, and waits until it is done without a word to the work. */
        void end(Group group) {
            send(group);
            while (!work.isSuccess()) Thread.onSpinWait();
        }

        void assertMemoryStays() {
            for (int i = 0; i < 3; i++) System.gc();
            assertNotNull(memory.get());
        }

        void untilMemoryGoes() {
            while (memory.get() != null) System.gc();
        }
    }

    private static void send(Group group) {
        group.isend(Ranks.doubles(5), 0, TAG).await();
    }

    @Test
    void an_operation_that_is_waited_for_registers_nothing() {
        long before = registered();
        Ranks.run(1, group -> {
            Receive receive = new Receive(group);
            assertThrows(PendingException.class, () -> receive.work.await(Duration.ofMillis(1)));
            assertFalse(receive.work.isCompleted());
            assertTrue(receive.work.keeps());
            assertEquals(before, count());
            receive.assertMemoryStays();
            send(group);
            assertEquals(0, receive.work.await());
            assertFalse(receive.work.keeps());
            receive.untilMemoryGoes();
            receive.work.close();
            assertEquals(before, count());
        });
    }

    private interface Notice {
        void until(Work<Integer> done) throws Exception;
    }

    private static void untilCompleted(Work<Integer> work) {
        while (!work.isCompleted()) Thread.onSpinWait();
    }

    @Test
    void each_way_to_learn_of_the_end_gives_the_memory_back() {
        List<Notice> ways = List.of(
            Work::await, BorrowedTest::untilCompleted, work -> work.synchronize(0),
            work -> Work.waitAny(List.of(work), null), work -> Work.waitAll(List.of(work), null),
            work -> work.future().get(60, TimeUnit.SECONDS));
        Ranks.run(1, group -> {
            for (Notice way : ways) {
                Receive receive = new Receive(group);
                receive.end(group);
                assertTrue(receive.work.keeps());
                way.until(receive.work);
                assertFalse(receive.work.keeps());
            }
        });
    }

    @Test
    void each_way_to_learn_of_a_failure_gives_the_memory_back() {
        List<Notice> ways = List.of(
            Work::await, BorrowedTest::untilCompleted, work -> work.synchronize(0),
            work -> Work.waitAll(List.of(work), null), work -> work.future().join());
        Ranks.run(1, group -> {
            for (Notice way : ways) {
                Work<Integer> work = new Receive(group).work;
                assertTrue(work.cancel());
                assertTrue(work.keeps());
                try {
                    way.until(work);
                } catch (Exception aborted) {
                    assertTrue(aborted.getMessage().contains("cancel"), aborted.getMessage());
                }
                assertFalse(work.keeps());
            }
        });
    }

    @Test
    void a_wait_for_several_gives_back_what_is_done_and_keeps_the_rest() {
        Ranks.run(1, group -> {
            Work<Integer> runs = group.irecv(Ranks.doubles(0), 0, TAG + 1);
            Work<Integer> done = new Receive(group).work;
            send(group);
            assertEquals(1, Work.waitAny(List.of(runs, done), null));
            assertFalse(done.keeps());
            assertTrue(runs.keeps());
            Receive second = new Receive(group);
            second.end(group);
            Work<Integer> other = second.work;
            assertThrows(PendingException.class,
                         () -> Work.waitAll(List.of(runs, other), Duration.ofMillis(1)));
            assertFalse(other.keeps());
            assertTrue(runs.keeps());
            assertTrue(runs.cancel());
        });
    }

    @Test
    void later_works_find_that_a_work_is_done_that_nobody_asks() {
        Ranks.run(1, group -> {
            Work<Integer> runs = group.irecv(Ranks.doubles(0), 0, TAG + 1);
            Receive receive = new Receive(group);
            receive.end(group);
            assertTrue(receive.work.keeps());
            for (int i = 0; i < 10_000 && receive.work.keeps(); i++) {
                group.allReduceAsync(Ranks.doubles(1), ReduceOp.SUM).await();
            }
            assertFalse(receive.work.keeps());
            receive.untilMemoryGoes();
            assertTrue(runs.keeps());
            assertTrue(runs.cancel());
        });
    }

    @Test
    void a_batch_gives_back_one_by_one() {
        long before = registered();
        Ranks.run(1, group -> {
            List<Work<Integer>> works = group.batchISendIRecv(List.of(
                P2POp.irecv(Ranks.doubles(0), 0, TAG), P2POp.irecv(Ranks.doubles(0), 0, TAG + 1)));
            assertEquals(before, count());
            send(group);
            works.get(0).await();
            assertFalse(works.get(0).keeps());
            assertTrue(works.get(1).keeps());
            works.get(1).close();
            assertEquals(before + 1, count());
            group.isend(Ranks.doubles(5), 0, TAG + 1).await();
            untilRegistered(before);
        });
    }

    @Test
    void memory_of_a_closed_work_stays_until_a_later_end() {
        long before = registered();
        Ranks.run(1, group -> {
            Receive receive = new Receive(group);
            receive.work.close();
            receive.work.close();
            assertEquals(before + 1, count());
            receive.assertMemoryStays();
            send(group);
            untilRegistered(before);
            receive.untilMemoryGoes(); // also while the closed work is there
            assertTrue(receive.work.isClosed());
        });
    }

    @Test
    void memory_of_a_collected_work_stays_until_a_later_end() {
        long before = registered();
        Ranks.run(1, group -> {
            Receive receive = new Receive(group);
            receive.work = null;
            while (count() == before) System.gc(); // until it is collected
            receive.assertMemoryStays();
            send(group);
            untilRegistered(before);
            receive.untilMemoryGoes();
        });
    }

    @Test
    void a_work_that_is_done_when_it_goes_registers_nothing() {
        long before = registered();
        Ranks.run(1, group -> {
            Receive closed = new Receive(group);
            closed.end(group);
            closed.work.close();
            assertEquals(before, count());
            Receive dropped = new Receive(group);
            dropped.end(group);
            dropped.work = null;
            dropped.untilMemoryGoes();
            assertEquals(before, count());
        });
    }

    /** What a work keeps that could not be made, for want of memory. */
    @Test
    void an_operation_without_a_work_keeps_its_memory_until_its_end() {
        long before = registered();
        Ranks.run(1, group -> {
            WeakReference<Object> memory = receiveWithoutWork(group);
            assertEquals(before + 1, count());
            for (int i = 0; i < 3; i++) System.gc();
            assertNotNull(memory.get());
            send(group);
            untilRegistered(before);
            while (memory.get() != null) System.gc();
        });
    }

    private static WeakReference<Object> receiveWithoutWork(Group group) {
        Tensor tensor = Ranks.doubles(0);
        try (Call call = new Call(group.core, 0, 0, null, Call.End.STARTS)) {
            Messages.recv(call, tensor, 0, TAG);
        }
        return new WeakReference<>(tensor.memory);
    }

    @Test
    void what_c_cannot_be_asked_about_stays_for_good() {
        Borrowed borrowed = new Borrowed();
        WeakReference<Object> memory = new WeakReference<>(borrowed.keep(new Object()));
        long before = registered();
        borrowed.release(1); // no work
        borrowed = null;
        for (int i = 0; i < 3; i++) System.gc();
        assertNotNull(memory.get());
        assertEquals(before + 1, count());
    }

    @Test
    void what_borrows_nothing_registers_nothing() {
        long before = registered();
        Ranks.run(2, group -> {
            Work<Void> work = group.barrierAsync();
            work.close();
            assertEquals(before, count());
        });
    }

    /** A thread that waits for a send, until it is in C. */
    private static Thread waiting(Work<Void> work, AtomicReference<Throwable> failure) {
        Thread thread = new Thread(() -> {
            try {
                work.await();
            } catch (Throwable thrown) {
                failure.set(thrown);
            }
        });
        thread.start();
        while (java.util.Arrays.stream(thread.getStackTrace())
                       .noneMatch(call -> call.getMethodName().equals("tutti_work_wait"))) {
            Thread.onSpinWait();
        }
        return thread;
    }

    @Test
    void closing_leaves_a_wait_of_another_thread_and_its_memory() throws Exception {
        long before = registered();
        AtomicReference<Throwable> failure = new AtomicReference<>();
        Ranks.run(1, group -> {
            Work<Void> work = group.isend(Ranks.doubles(7), 0, TAG);
            Thread waiting = waiting(work, failure);
            work.close();
            for (int i = 0; i < 3; i++) System.gc();
            Tensor got = Ranks.doubles(0);
            group.irecv(got, 0, TAG).await();
            waiting.join();
            // The wait may begin behind the close, if the stack was read before it was in C.
            if (failure.get() != null) assertInstanceOf(UsageException.class, failure.get());
            assertEquals(7, Ranks.read(got)[0]);
            untilRegistered(before);
            untilReleased(work);
        });
    }

    @Test
    void a_future_and_waits_at_once_see_the_same_end() {
        long before = registered();
        Ranks.run(1, group -> {
            for (int i = 0; i < 200; i++) {
                Receive receive = new Receive(group);
                CompletableFuture<Integer> future = receive.work.future();
                CompletableFuture<Integer> waits = CompletableFuture.supplyAsync(
                    receive.work::await);
                send(group);
                assertEquals(0, receive.work.await());
                assertFalse(receive.work.keeps());
                receive.work.close(); // as its futures end
                assertEquals(0, future.get(60, TimeUnit.SECONDS));
                try {
                    assertEquals(0, waits.get(60, TimeUnit.SECONDS));
                } catch (java.util.concurrent.ExecutionException closed) {
                    assertInstanceOf(UsageException.class, closed.getCause());
                }
                untilRegistered(before);
            }
        });
    }

    @Test
    void several_threads_notice_the_end_and_close_at_once() throws Exception {
        long before = registered();
        int rounds = 500;
        List<Notice> ways = List.of(
            Work::await, BorrowedTest::untilCompleted, work -> work.await(Duration.ofMinutes(1)),
            work -> Work.waitAny(List.of(work), null), work -> Work.waitAll(List.of(work), null),
            Work::close);
        List<Throwable> failures = java.util.Collections.synchronizedList(new ArrayList<>());
        CyclicBarrier barrier = new CyclicBarrier(ways.size() + 1);
        AtomicReference<Work<Integer>> current = new AtomicReference<>();
        List<Thread> threads = new ArrayList<>();
        for (Notice way : ways) {
            threads.add(new Thread(() -> {
                for (int i = 0; i < rounds; i++) {
                    try {
                        barrier.await();
                        way.until(current.get());
                    } catch (UsageException closed) {
                        // by one of the others
                    } catch (Throwable failure) {
                        failures.add(failure);
                    }
                    try {
                        barrier.await();
                    } catch (Exception broken) {
                        failures.add(broken);
                    }
                }
            }));
        }
        threads.forEach(thread -> thread.setDaemon(true)); // if an assertion below fails
        threads.forEach(Thread::start);
        Ranks.run(1, group -> {
            for (int i = 0; i < rounds; i++) {
                Tensor got = Ranks.doubles(0);
                current.set(group.irecv(got, 0, TAG));
                barrier.await();
                send(group);
                barrier.await();
                assertEquals(5, Ranks.read(got)[0]);
                untilRegistered(before);
                untilReleased(current.get());
            }
        });
        for (Thread thread : threads) thread.join();
        assertEquals(List.of(), failures);
    }

    /** The library calls with a function of the program on the thread that waits. */
    @Test
    void a_wait_reduces_with_a_function_and_may_be_the_first_to_begin() {
        Ranks.run(2, group -> {
            try (ReduceOp least = ReduceOp.user("least", Math::min)) {
                for (int i = 0; i < 100; i++) {
                    Tensor tensor = Ranks.doubles(group.rank() + i);
                    group.allReduceAsync(tensor, least).await();
                    assertEquals(i, Ranks.read(tensor)[0]);
                }
            }
        });
    }
}
