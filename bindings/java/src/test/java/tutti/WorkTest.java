package tutti;

import static org.junit.jupiter.api.Assertions.*;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import tutti.raw.Callbacks;
import tutti.raw.Raw;

class WorkTest {
    @Test
    void a_work_tells_what_it_is() {
        Ranks.run(2, group -> {
            Tensor tensor = Ranks.doubles(1);
            try (Work<Void> work = group.allReduceAsync(tensor, ReduceOp.SUM)) {
                assertNull(work.await());
                assertTrue(work.isCompleted());
                assertTrue(work.isSuccess());
                assertNull(work.exception());
                assertEquals("all_reduce", work.opType());
                assertEquals(1, work.sequenceNumber());
                assertEquals(-1, work.sourceRank());
                assertFalse(work.duration().isNegative());
            }
        });
    }

    @Test
    void a_future_gives_the_result_and_the_failure() {
        Ranks.run(2, group -> {
            int peer = 1 - group.rank();
            CompletableFuture<Integer> sender =
                    group.irecv(Ranks.doubles(0), Group.ANY_RANK, 3).future();
            group.isend(Ranks.doubles(5), peer, 3).await();
            assertEquals(peer, sender.get(60, TimeUnit.SECONDS));
            assertEquals(peer, sender.thenApply(rank -> rank).join());
            CompletableFuture<Integer> late = group.withTimeout(Duration.ofMillis(20))
                    .irecv(Ranks.doubles(0), peer, 4).future();
            CompletionException failure = assertThrows(CompletionException.class, late::join);
            assertEquals(TimeoutExpiredException.class, failure.getCause().getClass());
        });
    }

    @Test
    void a_future_belongs_to_who_asked_for_it() {
        Ranks.run(1, group -> {
            Work<Integer> work = group.irecv(Ranks.doubles(0), 0, 3);
            CompletableFuture<Integer> other = work.future();
            CompletableFuture<String> thread =
                    work.future().thenApply(rank -> Thread.currentThread().getName());
            group.isend(Ranks.doubles(5), 0, 3).await();
            assertEquals(0, other.get(60, TimeUnit.SECONDS));
            assertEquals("tutti future", thread.get(60, TimeUnit.SECONDS));
            assertEquals(0, work.future().get(60, TimeUnit.SECONDS));
        });
    }

    @Test
    void a_receive_that_has_not_begun_is_cancelled() {
        Ranks.run(1, group -> {
            Work<Integer> first = group.irecv(Ranks.doubles(0), 0, 3);
            assertTrue(first.future().cancel(true));
            assertEquals(Status.ABORTED,
                         assertThrows(TuttiException.class, first::await).status());
            Work<Integer> second = group.irecv(Ranks.doubles(0), 0, 3);
            assertTrue(second.cancel());
            Work<Integer> third = group.irecv(Ranks.doubles(0), 0, 3);
            group.isend(Ranks.doubles(5), 0, 3).await();
            assertEquals(0, third.await());
            assertFalse(third.cancel());
            Work<BytesMessage> bytes = group.recvBytesAsync(0, 4);
            assertTrue(bytes.cancel());
            Work<ObjectMessage> objects = group.recvObjectListAsync(1, 0, 4);
            assertTrue(objects.future().cancel(false));
            assertThrows(BackendException.class, objects::await);
            assertEquals(Status.ABORTED, objects.exception().status());
        });
    }

    @Test
    void what_is_no_receive_goes_on_when_its_future_is_cancelled() {
        Ranks.run(2, group -> {
            if (group.rank() == 0) {
                Tensor tensor = Ranks.doubles(1);
                Work<Void> work = group.allReduceAsync(tensor, ReduceOp.SUM);
                CompletableFuture<Void> future = work.future();
                assertTrue(future.cancel(true));
                assertTrue(future.isCancelled());
                assertThrows(UsageException.class, work::cancel);
                group.sendBytes(new byte[0], 1, 0);
                work.await();
                assertEquals(3, Ranks.read(tensor)[0]);
                assertFalse(work.future().get(60, TimeUnit.SECONDS) != null);
            } else {
                group.recvBytes(0, 0);
                group.allReduce(Ranks.doubles(2), ReduceOp.SUM);
            }
        });
    }

    @Test
    void a_cancelled_future_of_a_closed_work_lets_it_go() {
        int before = Callbacks.count();
        Ranks.run(1, group -> {
            Work<Integer> work = group.irecv(Ranks.doubles(0), 0, 3);
            CompletableFuture<Integer> future = work.future();
            work.close();
            assertTrue(work.isClosed());
            assertTrue(future.cancel(true));
        });
        while (Callbacks.count() > before) Thread.onSpinWait(); // ends when the last is let go
    }

    @Test
    void nothing_stays_registered() {
        int before = Callbacks.count();
        Ranks.run(2, group -> {
            int peer = 1 - group.rank();
            Group none = group.withTimeout(Duration.ofMillis(10));
            assertThrows(UsageException.class, () -> group.broadcastAsync(Ranks.doubles(0), 7));
            assertThrows(UsageException.class, () -> group.isend(null, peer, -1));
            assertThrows(TimeoutExpiredException.class,
                         () -> none.irecv(Ranks.doubles(0), peer, 9).await());
            group.batchISendIRecv(List.of());
            group.batchISendIRecv(List.of(P2POp.isend(Ranks.doubles(1), peer, 0),
                                          P2POp.irecv(Ranks.doubles(0), peer, 0)));
            group.allGatherObjectAsync("never taken");
            group.allGatherBytesAsync(new byte[10]).close();
            assertEquals(2, group.allGatherBytesAsync(new byte[10]).await().size());
        });
        while (Callbacks.count() > before) Thread.onSpinWait(); // ends when the last is let go
    }

    @Test
    void a_future_ends_also_if_its_work_was_closed() {
        Ranks.run(2, group -> {
            Work<List<Object>> work = group.allGatherObjectAsync(group.rank());
            CompletableFuture<List<Object>> future = work.future();
            work.close();
            assertEquals(List.of(0L, 1L), future.get(60, TimeUnit.SECONDS));
            UsageException closed = assertThrows(UsageException.class, work::await);
            assertEquals(Status.INVALID_HANDLE, closed.status());
            assertThrows(UsageException.class, work::future);
        });
    }

    /** Stands for a result that the heap has no room for. */
    private static final class NoRoom implements Outcome<byte[]> {
        @Override
        public byte[] get(Work<byte[]> work) {
            throw new OutOfMemoryError("no room");
        }
    }

    @Test
    void a_result_that_cannot_be_read_is_a_failure() {
        Ranks.run(1, group -> {
            Work<byte[]> work = group.start(call -> {
                call.check(Raw.tutti_barrier(call.group, call.options, call.work, call.error));
                return new NoRoom();
            });
            CompletableFuture<byte[]> future = work.future();
            ExecutionException failed = assertThrows(ExecutionException.class,
                                                     () -> future.get(60, TimeUnit.SECONDS));
            assertEquals(OutOfMemoryError.class, failed.getCause().getCause().getClass());
            TuttiException again = assertThrows(TuttiException.class, work::await);
            assertEquals(Status.OUT_OF_MEMORY, again.status());
            assertEquals(Status.OUT_OF_MEMORY, work.exception().status());
            assertFalse(work.isSuccess());
        });
    }

    @Test
    void a_value_that_is_too_deep_fails_every_wait_alike() {
        Ranks.run(2, group -> {
            ValueBuilder builder = new ValueBuilder();
            for (int i = 0; i < 1500; i++) builder.beginList();
            for (int i = 0; i < 1500; i++) builder.end();
            Group deep = group.withObjectOptions(new ObjectOptions().maxDepth(2000));
            Object mine = group.rank() == 0 ? "read before" : builder.build();
            Work<List<Object>> work = deep.allGatherObjectAsync(mine);
            for (int i = 0; i < 2; i++) {
                UsageException failed = assertThrows(UsageException.class, work::await);
                assertTrue(failed.getMessage().contains("1024 deep"), failed.getMessage());
            }
        });
    }

    @Test
    void a_wait_that_expires_leaves_the_operation_running() {
        Ranks.run(2, group -> {
            Tensor tensor = Ranks.doubles(0);
            int peer = 1 - group.rank();
            Work<Integer> work = group.irecv(tensor, peer, 0);
            assertThrows(PendingException.class, () -> work.await(Duration.ofMillis(1)));
            assertFalse(work.isCompleted());
            assertNull(work.exception());
            assertNull(work.duration());
            group.barrier();
            group.isend(Ranks.doubles(9), peer, 0).await();
            assertEquals(peer, work.await());
            assertEquals(9, Ranks.read(tensor)[0]);
        });
    }

    @Test
    void a_limit_that_is_used_up_is_not_none() {
        Ranks.run(1, group -> {
            Work<Integer> work = group.irecv(Ranks.doubles(0), 0, 0);
            for (Duration limit : List.of(Duration.ZERO, Duration.ofMillis(-1),
                                          Duration.ofDays(-1))) {
                assertThrows(PendingException.class, () -> work.await(limit));
                assertFalse(work.isCompleted(), limit + " was taken for no limit");
                assertThrows(PendingException.class,
                             () -> Work.waitAny(List.of(work), limit));
                UsageException refused = assertThrows(UsageException.class,
                                                      () -> group.withTimeout(limit));
                assertEquals("timeout: " + limit + " is not above 0", refused.getMessage());
            }
            group.isend(Ranks.doubles(9), 0, 0).await(Tutti.NO_TIMEOUT);
            assertEquals(0, work.await(Duration.ofSeconds(Long.MAX_VALUE)));
        });
    }

    @Test
    void a_failure_is_thrown_by_every_wait() {
        Ranks.run(2, group -> {
            Work<Integer> work = group.withTimeout(Duration.ofMillis(20))
                    .irecv(Ranks.doubles(0), 1 - group.rank(), 8);
            assertThrows(TimeoutExpiredException.class, work::await);
            assertThrows(TimeoutExpiredException.class, work::await);
            assertEquals(Status.TIMEOUT, work.exception().status());
            assertTrue(work.isCompleted());
            assertFalse(work.isSuccess());
        });
    }

    @Test
    void wait_any_and_wait_all_take_several() {
        Ranks.run(2, group -> {
            int peer = 1 - group.rank();
            List<Work<?>> works = new ArrayList<>();
            works.add(group.irecv(Ranks.doubles(0), peer, 1));
            works.add(group.irecv(Ranks.doubles(0), peer, 2));
            group.isend(Ranks.doubles(1), peer, 2).await();
            assertEquals(1, Work.waitAny(works, Duration.ofSeconds(60)));
            assertThrows(PendingException.class,
                         () -> Work.waitAll(works, Duration.ofMillis(1)));
            group.barrier();
            group.isend(Ranks.doubles(1), peer, 1).await();
            Work.waitAll(works, null);
            works.set(0, null);
            assertEquals(1, Work.waitAny(works, null));
            Work.waitAll(works, null);
            Work.waitAll(List.of(), null);
            works.set(1, null);
            assertThrows(UsageException.class, () -> Work.waitAny(works, null));
            assertThrows(UsageException.class, () -> Work.waitAny(List.of(), null));
        });
    }

    @Test
    void many_threads_wait_for_one_work() {
        Ranks.run(2, group -> {
            Work<Integer> work = group.irecv(Ranks.doubles(0), 1 - group.rank(), 0);
            List<Thread> threads = new ArrayList<>();
            List<Integer> results = java.util.Collections.synchronizedList(new ArrayList<>());
            for (int i = 0; i < 16; i++) threads.add(new Thread(() -> results.add(work.await())));
            threads.forEach(Thread::start);
            group.isend(Ranks.doubles(1), 1 - group.rank(), 0).await();
            for (Thread thread : threads) thread.join();
            assertEquals(java.util.Collections.nCopies(16, 1 - group.rank()), results);
        });
    }

    @Test
    void destroying_the_group_ends_its_works() {
        Ranks.runToTheEnd(1, group -> {
            Work<Integer> work = group.irecv(Ranks.doubles(0), 0, 0);
            CompletableFuture<Integer> future = work.future();
            group.destroy();
            BackendException aborted = assertThrows(BackendException.class, work::await);
            assertEquals(Status.ABORTED, aborted.status());
            assertThrows(CompletionException.class, future::join);
            UsageException gone = assertThrows(UsageException.class, group::barrier);
            assertEquals(Status.INVALID_HANDLE, gone.status());
        });
    }

    @Test
    void arrays_are_refused_in_asynchronous_calls() {
        Ranks.run(1, group -> {
            UsageException refused = assertThrows(UsageException.class,
                () -> group.allReduceAsync(Tensor.of(new double[1]), ReduceOp.SUM));
            assertTrue(refused.getMessage().startsWith("tensor: "), refused.getMessage());
            assertThrows(UsageException.class, () -> group.isend(Tensor.of(new int[1]), 0, 0));
        });
    }
}
