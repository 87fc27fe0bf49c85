package tutti;

import static org.junit.jupiter.api.Assertions.*;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

/** Threads that are interrupted while they receive. */
class InterruptTest {
    private static final Duration LONG = Duration.ofMinutes(5);

    /** A thread that receives: what came, or how it failed, and whether it is interrupted then. */
    private static final class Receiving<T> extends Thread {
        interface Body<T> {
            T run() throws Exception;
        }

        private final Body<T> body;
        private T result;
        private Throwable failure;
        private boolean staysInterrupted;

        Receiving(Body<T> body) {
            this.body = body;
            start();
        }

        @Override
        public void run() {
            try {
                result = body.run();
            } catch (Throwable thrown) {
                failure = thrown;
            }
            staysInterrupted = isInterrupted();
        }

        /** Until it is in C, waiting for its work or about to. */
        void untilItWaits() {
            while (java.util.Arrays.stream(getStackTrace())
                           .noneMatch(call -> call.getMethodName().equals("tutti_work_wait"))) {
                Thread.onSpinWait();
            }
        }

        T result() throws InterruptedException {
            join();
            if (failure != null) throw new AssertionError(failure);
            return result;
        }

        void aborted() throws InterruptedException {
            join();
            assertInstanceOf(BackendException.class, failure);
            assertEquals(Status.ABORTED, ((BackendException) failure).status());
            assertTrue(staysInterrupted);
        }
    }

    private static List<Function<Group, Object>> receives() {
        return List.of(group -> group.recv(Ranks.doubles(0), 1, 3),
                       group -> group.recv(Tensor.of(new double[1]), Group.ANY_RANK, 3),
                       group -> group.recvBytes(1, 3),
                       group -> group.recvObjectList(1, Group.ANY_RANK, 3),
                       group -> group.irecv(Ranks.doubles(0), 1, 3).await(),
                       group -> group.recvBytesAsync(1, 3).await(LONG));
    }

    @Test
    void an_interrupted_receive_ends_and_the_message_goes_to_the_next() {
        Ranks.run(2, group -> {
            if (group.rank() == 0) {
                for (Function<Group, Object> receive : receives()) {
                    for (boolean waits : new boolean[] {false, true}) {
                        Receiving<Object> waiting = new Receiving<>(() -> receive.apply(group));
                        if (waits) waiting.untilItWaits();
                        waiting.interrupt();
                        waiting.aborted();
                    }
                    new Receiving<>(() -> {
                        Thread.currentThread().interrupt();
                        return receive.apply(group);
                    }).aborted();
                }
                group.barrier();
                double[] got = {0};
                assertEquals(1, group.recv(Tensor.of(got), 1, 3));
                assertEquals(5, got[0]);
            } else {
                group.barrier();
                group.send(Ranks.doubles(5), 0, 3);
            }
        });
    }

    @Test
    void what_has_come_is_received_by_a_thread_that_is_interrupted() {
        Ranks.run(2, group -> {
            if (group.rank() == 0) {
                group.recv(Ranks.doubles(0), 1, 4); // what was sent before has come
                double[] got = {0};
                Receiving<Integer> array = new Receiving<>(() -> {
                    Thread.currentThread().interrupt();
                    return group.recv(Tensor.of(got), 1, 3);
                });
                assertEquals(1, array.result());
                assertEquals(5, got[0]);
                assertTrue(array.staysInterrupted);
                Receiving<BytesMessage> bytes = new Receiving<>(() -> {
                    Thread.currentThread().interrupt();
                    return group.recvBytes(1, 3);
                });
                assertArrayEquals(new byte[] {6}, bytes.result().bytes());
                assertTrue(bytes.staysInterrupted);
            } else {
                Work<Void> first = group.isend(Ranks.doubles(5), 0, 3);
                Work<Void> second = group.sendBytesAsync(new byte[] {6}, 0, 3);
                Work<Void> last = group.isend(Ranks.doubles(7), 0, 4);
                first.await();
                second.await();
                last.await();
            }
        });
    }

    @Test
    void no_message_is_lost_when_interrupts_and_messages_meet() {
        int count = 500;
        Ranks.run(2, group -> {
            if (group.rank() == 1) {
                for (int i = 0; i < count; i++) group.send(Ranks.doubles(i), 0, 3);
                return;
            }
            List<Double> received = new ArrayList<>();
            while (received.size() < count) {
                double[] got = {-1};
                Receiving<Integer> waiting =
                        new Receiving<>(() -> group.recv(Tensor.of(got), 1, 3));
                if (received.size() % 10 == 0) waiting.join(1);
                waiting.interrupt();
                waiting.join();
                if (waiting.failure == null) {
                    received.add(got[0]);
                } else {
                    waiting.aborted();
                    assertEquals(-1, got[0]);
                }
            }
            for (int i = 0; i < count; i++) assertEquals(i, received.get(i));
        });
    }

    @Test
    void get_is_interrupted_and_cancels_the_receive() {
        Ranks.run(1, group -> {
            for (boolean timed : new boolean[] {false, true}) {
                Work<Integer> work = group.irecv(Ranks.doubles(0), 0, 3);
                CompletableFuture<Integer> future = work.future();
                CompletableFuture<Integer> other = work.future();
                Receiving<Integer> waiting = new Receiving<>(
                        () -> timed ? future.get(1, TimeUnit.HOURS) : future.get());
                waiting.interrupt();
                waiting.join();
                assertInstanceOf(InterruptedException.class, waiting.failure);
                assertFalse(waiting.staysInterrupted);
                ExecutionException end = assertThrows(ExecutionException.class, other::get);
                assertEquals(Status.ABORTED, ((BackendException) end.getCause()).status());
            }
            group.isend(Ranks.doubles(5), 0, 3);
            assertEquals(0, group.irecv(Ranks.doubles(0), 0, 3).await());
        });
    }

    @Test
    void get_gives_what_has_come_to_a_thread_that_is_interrupted() {
        Ranks.run(1, group -> {
            for (int i = 0; i < 200; i++) {
                boolean timed = i % 2 == 0;
                Work<Integer> work = group.irecv(Ranks.doubles(0), 0, 3);
                CompletableFuture<Integer> future = work.future();
                group.isend(Ranks.doubles(5), 0, 3).await();
                work.await();
                Receiving<Integer> waiting = new Receiving<>(() -> {
                    Thread.currentThread().interrupt();
                    return timed ? future.get(1, TimeUnit.HOURS) : future.get();
                });
                assertEquals(0, waiting.result());
                assertTrue(waiting.staysInterrupted);
            }
        });
    }

    @Test
    void what_is_no_receive_goes_on_when_a_thread_is_interrupted() {
        Ranks.run(2, group -> {
            if (group.rank() == 1) {
                group.recv(Ranks.doubles(0), 0, 3);
                group.allReduce(Ranks.doubles(2), ReduceOp.SUM);
                return;
            }
            Tensor tensor = Ranks.doubles(1);
            Work<Void> work = group.allReduceAsync(tensor, ReduceOp.SUM);
            Receiving<Void> getting = new Receiving<>(() -> work.future().get());
            getting.interrupt();
            getting.join();
            assertInstanceOf(InterruptedException.class, getting.failure);
            Receiving<Void> awaiting = new Receiving<>(work::await);
            awaiting.interrupt();
            group.send(Ranks.doubles(0), 1, 3);
            assertNull(awaiting.result());
            assertTrue(awaiting.staysInterrupted);
            assertEquals(3, Ranks.read(tensor)[0]);
        });
    }

    @Test
    void from_itself_a_rank_receives_by_a_work_alone() {
        Ranks.run(1, group -> {
            UsageException itself = assertThrows(UsageException.class,
                () -> group.recv(Ranks.doubles(0), 0, 3));
            assertTrue(itself.getMessage().contains("this rank itself"), itself.getMessage());
        });
    }
}
