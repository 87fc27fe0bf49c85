package tutti;

import static org.junit.jupiter.api.Assertions.*;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import org.junit.jupiter.api.Test;

class GroupTest {
    @Test
    void several_threads_may_close_a_group() {
        Ranks.runToTheEnd(1, group -> {
            for (int round = 0; round < 50; round++) {
                Group part = group.newGroup(0);
                CompletableFuture<?>[] closes = new CompletableFuture<?>[8];
                Arrays.setAll(closes, i -> CompletableFuture.runAsync(part::close));
                CompletableFuture.allOf(closes).join();
                assertTrue(part.isClosed());
            }
        });
    }

    @Test
    void a_group_tells_about_itself() {
        Ranks.run(3, group -> {
            assertEquals(3, group.size());
            assertTrue(group.isMember());
            assertEquals("loopback", group.backend());
            assertFalse(group.isReproducible());
            assertArrayEquals(new int[] {0, 1, 2}, group.processGroupRanks());
            group.setTimeout(Duration.ofSeconds(30));
            assertEquals(Duration.ofSeconds(30), group.timeout());
            group.setTimeout(Tutti.NO_TIMEOUT);
            assertEquals(Tutti.NO_TIMEOUT, group.timeout());
            assertEquals(0, group.failedRanks().length);
            Group named = group.newGroup(null, null, "the named one", null);
            assertTrue(named.name().contains("the named one"), named.name());
            try (Group again = named.retain()) {
                assertEquals(3, again.size());
                again.barrier();
            }
            named.barrier();
            assertThrows(UsageException.class, () -> group.setTimeout(Duration.ZERO));
        });
    }

    @Test
    void a_description_names_a_group() {
        Ranks.run(1, new GroupOptions().description("the readers"), group -> {
            assertEquals("the readers", group.name());
            Group soon = group.withTimeout(Duration.ofMillis(1));
            TuttiException late = assertThrows(TuttiException.class,
                () -> soon.irecv(Ranks.doubles(0), 0, 0).await());
            assertTrue(late.getMessage().contains("the readers"), late.getMessage());
        });
    }

    @Test
    void messages_name_the_arguments_as_java_does() {
        Ranks.run(1, group -> {
            UsageException source = assertThrows(UsageException.class,
                () -> group.broadcast(Tensor.of(new double[1]), 3));
            assertTrue(source.getMessage().startsWith("broadcast: groupSrc is 3"),
                       source.getMessage());
            UsageException nothing = assertThrows(UsageException.class,
                                                  () -> group.send(null, 0, 0));
            assertTrue(nothing.getMessage().contains("tensor is null"), nothing.getMessage());
            UsageException name = assertThrows(UsageException.class,
                () -> group.newGroup(null, "no_such_one", null, null));
            assertTrue(name.getMessage().contains("no_such_one"), name.getMessage());
        });
    }

    @Test
    void a_group_is_destroyed_with_a_limit() {
        Ranks.runToTheEnd(2, group -> {
            assertThrows(UsageException.class, () -> group.destroy(Duration.ZERO));
            Group again = group.retain();
            group.destroy(Duration.ofMillis(1));
            assertThrows(UsageException.class, again::barrier);
            again.close();
        });
    }

    @Test
    void new_groups_have_ranks_of_their_own() {
        Ranks.run(3, group -> {
            try (Group pair = group.newGroup(2, 0)) {
                boolean in = group.rank() != 1;
                assertEquals(in, pair.isMember());
                if (!in) {
                    assertThrows(UsageException.class, pair::barrier);
                    return;
                }
                assertEquals(group.rank() / 2, pair.rank());
                assertEquals(2, pair.globalRank(1));
                assertEquals(1, pair.groupRank(2));
                assertEquals(-1, pair.groupRank(1));
                double[] sum = {group.rank() + 1};
                pair.allReduce(Tensor.of(sum), ReduceOp.SUM);
                assertEquals(4, sum[0]);
            }
        });
    }

    @Test
    void options_hold_for_new_groups() {
        Ranks.run(2, group -> {
            NewGroupOptions options = new NewGroupOptions().timeout(Duration.ofSeconds(20))
                    .reproducible(true);
            try (Group exact = group.newGroup(null, null, "exact", options)) {
                assertTrue(exact.isReproducible());
                Group soon = exact.withTimeout(Duration.ofMillis(20));
                TuttiException failure = assertThrows(TimeoutExpiredException.class,
                    () -> soon.recv(Tensor.of(new int[1]), 1 - group.rank(), 0));
                assertTrue(failure.getMessage().contains("exact"), failure.getMessage());
                exact.barrier();
            }
            NewGroupOptions local = new NewGroupOptions().useLocalSynchronization(true);
            if (group.rank() == 1) {
                try (Group alone = group.newGroup(new int[] {1}, null, "alone", local)) {
                    alone.barrier();
                }
            }
        });
    }

    @Test
    void a_group_splits_into_several() {
        Ranks.run(4, group -> {
            int[][] parts = {{0, 3}, {1}};
            try (Group part = group.split(parts, null, null)) {
                assertEquals(group.rank() == 2 ? -1 : group.rank() == 1 ? 1 : 2, part.size());
            }
        });
    }

    @Test
    void ranks_meet_by_an_all_gather_of_the_program() throws Exception {
        int count = 2;
        byte[][] given = new byte[count][];
        CyclicBarrier all = new CyclicBarrier(count);
        double[][] sums = new double[count][1];
        Thread[] threads = new Thread[count];
        for (int i = 0; i < count; i++) {
            int rank = i;
            threads[i] = new Thread(() -> {
                Group.AllGather allGather = input -> {
                    given[rank] = input;
                    all.await();
                    byte[] output = new byte[count * input.length];
                    for (int r = 0; r < count; r++) {
                        System.arraycopy(given[r], 0, output, r * input.length, input.length);
                    }
                    return output;
                };
                try (Group group = Group.createWithAllGather("gloo", allGather, rank, count,
                                                             null)) {
                    sums[rank][0] = rank + 1;
                    group.allReduce(Tensor.of(sums[rank]), ReduceOp.SUM);
                }
            });
            threads[i].start();
        }
        for (Thread thread : threads) thread.join();
        for (double[] sum : sums) assertEquals(3, sum[0]);
    }

    @Test
    void what_an_all_gather_throws_is_the_cause() {
        IllegalStateException thrown = new IllegalStateException("no MPI today");
        TuttiException failure = assertThrows(TuttiException.class,
            () -> Group.createWithAllGather("gloo", input -> { throw thrown; }, 0, 2, null));
        assertSame(thrown, failure.getCause());
        assertTrue(failure.getMessage().contains("no MPI today"), failure.getMessage());
    }

    @Test
    void a_closed_group_is_an_error() {
        Ranks.runToTheEnd(1, group -> {
            Group view = group.withTimeout(Duration.ofSeconds(1));
            group.close();
            group.close();
            assertTrue(view.isClosed());
            UsageException closed = assertThrows(UsageException.class, view::barrier);
            assertEquals(Status.INVALID_HANDLE, closed.status());
            assertThrows(UsageException.class, group::rank);
        });
    }

    @Test
    void closing_a_group_ends_what_other_threads_wait_for() {
        Ranks.runToTheEnd(2, group -> {
            Thread[] threads = new Thread[4];
            List<Status> ends = Collections.synchronizedList(new ArrayList<>());
            for (int i = 0; i < threads.length; i++) {
                int tag = i;
                threads[i] = new Thread(() -> {
                    TuttiException end = assertThrows(TuttiException.class,
                        () -> group.recv(Ranks.doubles(0), 1 - group.rank(), tag));
                    ends.add(end.status());
                });
                threads[i].start();
            }
            group.barrier();
            group.close();
            for (Thread thread : threads) thread.join();
            assertEquals(threads.length, ends.size());
            Set<Status> expected = Set.of(Status.ABORTED, Status.PEER_LOST, Status.INVALID_HANDLE);
            assertTrue(expected.containsAll(ends), ends.toString());
        });
    }

    @Test
    void different_calls_are_told_apart() {
        Ranks.runToTheEnd(2, group -> {
            BackendException failure = assertThrows(BackendException.class, () -> {
                if (group.rank() == 0) group.allReduce(Tensor.of(new double[4]), ReduceOp.SUM);
                else group.allReduce(Tensor.of(new double[4]), ReduceOp.MAX);
                group.barrier();
            });
            assertEquals(Status.MISMATCH, failure.status());
        });
    }

    @Test
    void a_rank_that_leaves_is_named() {
        Ranks.runToTheEnd(2, group -> {
            group.barrier();
            if (group.rank() == 1) return;
            BackendException failure = assertThrows(BackendException.class, group::barrier);
            assertEquals(Status.PEER_LOST, failure.status());
            assertEquals(PeerLostException.class, failure.getClass());
            assertEquals(1, failure.rank());
        });
    }

    @Test
    void many_threads_call_at_once() {
        Ranks.run(2, group -> {
            int peer = 1 - group.rank();
            Thread[] threads = new Thread[12];
            int[] got = new int[threads.length];
            for (int i = 0; i < threads.length; i++) {
                int tag = i;
                threads[i] = new Thread(() -> {
                    int[] in = new int[1];
                    Tensor out = Tensor.allocate(DType.INT32, 1);
                    out.buffer().putInt(0, 100 + tag);
                    Work<Void> sent = group.isend(out, peer, tag);
                    group.recv(Tensor.of(in), peer, tag);
                    sent.await();
                    got[tag] = in[0];
                });
                threads[i].start();
            }
            for (Thread thread : threads) thread.join();
            for (int i = 0; i < got.length; i++) assertEquals(100 + i, got[i]);
        });
    }
}
