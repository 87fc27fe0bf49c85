package tutti;

import static org.junit.jupiter.api.Assertions.*;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ShrinkTest {
    /** The others go on without rank 1, and each writes to a file of its own what became of it. */
    public static final class Program {
        private Program() {}

        public static void main(String[] arguments) throws Exception {
            try (Group world = Tutti.initProcessGroup(); Work<Void> failure = world.failure()) {
                int before = world.rank();
                if (before == 1) die(world);
                greet(world);
                PeerLostException lost = assertPeerLost(failure);
                long agreed = world.agree(3 + before);
                world.shrink();
                String told = "lost " + lost.rank() + ", agreed " + agreed + ", rank " + world.rank()
                    + " of " + world.size() + ", sum " + sum(world, before);
                Files.writeString(Path.of(arguments[0], "rank" + before), told);
            }
        }

        /** Goes without a word, once the others have made the group. */
        private static void die(Group world) {
            for (int other : new int[] {0, 2}) world.recv(Tensor.of(new byte[1]), other, 0);
            Runtime.getRuntime().halt(0);
        }

        private static void greet(Group world) {
            try {
                world.send(Tensor.of(new byte[1]), 1, 0);
            } catch (PeerLostException soon) {
                // It has died already.
            }
        }

        private static PeerLostException assertPeerLost(Work<Void> failure) {
            try {
                failure.await();
            } catch (PeerLostException lost) {
                return lost;
            }
            throw new AssertionError("the group has not failed");
        }
    }

    @Test
    void the_others_go_on_after_a_death(@TempDir Path folder) throws Exception {
        new Spawn().run(Program.class, 3, folder.toString());
        for (int rank : new int[] {0, 2}) {
            assertEquals("lost 1, agreed 1, rank " + rank / 2 + " of 2, sum 2.0",
                         Files.readString(folder.resolve("rank" + rank)));
        }
    }

    /** All ranks have made their group before the body runs: what ends it then ends no making. */
    private static void run(int count, Ranks.Body body) {
        CyclicBarrier there = new CyclicBarrier(count);
        Ranks.runToTheEnd(count, group -> {
            there.await();
            body.run(group);
        });
    }

    /** What the ranks of a group give together. */
    private static double sum(Group group, double value) {
        Tensor tensor = Ranks.doubles(value);
        group.allReduce(tensor, ReduceOp.SUM);
        return Ranks.read(tensor)[0];
    }

    private static TuttiException fails(Status status, Runnable call) {
        TuttiException failure = assertThrows(TuttiException.class, call::run);
        assertEquals(status, failure.status(), failure.getMessage());
        return failure;
    }

    @Test
    void wrong_arguments_are_refused() {
        Ranks.run(2, group -> {
            int other = 1 - group.rank();
            for (int[] wrong : new int[][] {{group.rank()}, {other, other}, {2}, {-1}}) {
                String message = fails(Status.INVALID_ARGUMENT, () -> group.shrink(wrong))
                                     .getMessage();
                assertTrue(message.contains("ranksToExclude"), message);
            }
            fails(Status.INVALID_ARGUMENT, () -> group.shrink(
                    new int[] {other}, null, new ShrinkOptions().minSize(3)));
            fails(Status.INVALID_ARGUMENT, () -> new ShrinkOptions().minSize(-1));
            fails(Status.INVALID_ARGUMENT, () -> group.shrink()); // what all ranks see together
            assertEquals(1, sum(group, group.rank()));
            Group part = group.newGroup(0);
            if (part.isMember()) return;
            fails(Status.INVALID_HANDLE, part::abort);
            fails(Status.INVALID_HANDLE, part::failure);
        });
    }

    @Test
    void the_others_go_on_without_an_excluded_rank() {
        run(3, group -> {
            if (group.rank() == 1) {
                fails(Status.ABORTED, group::barrier);
                fails(Status.ABORTED, () -> group.shrink());
                return;
            }
            ShrinkOptions options = new ShrinkOptions().minSize(2).timeout(Duration.ofMinutes(1));
            try (Group pair = group.shrink(new int[] {1}, "the pair", options)) {
                assertEquals(2, pair.size());
                assertEquals(group.rank() / 2, pair.rank());
                assertArrayEquals(new int[] {0, 2}, pair.processGroupRanks());
                assertEquals("the pair", pair.name());
                assertEquals(2, sum(pair, group.rank()));
                fails(Status.ABORTED, group::barrier);
                pair.barrier();
            }
        });
    }

    @Test
    void a_revoked_group_is_shrunk_by_all() {
        run(3, group -> {
            try (Work<Void> failure = group.failure()) {
                if (group.rank() == 2) {
                    assertFalse(failure.isCompleted());
                    group.revoke("the loss is no number");
                }
                Throwable ended = assertThrows(ExecutionException.class,
                                               () -> failure.future().get()).getCause();
                TuttiException told = fails(Status.ABORTED, failure::await);
                assertEquals(2, told.rank());
                assertTrue(told.getMessage().contains("the loss is no number"), told.getMessage());
                assertEquals(told.getMessage(), ended.getMessage());
            }
            fails(Status.ABORTED, group::barrier);
            try (Group again = group.shrink(null, null, new ShrinkOptions().abort(true))) {
                assertEquals(3, again.size());
                assertEquals(group.rank(), again.rank());
                assertEquals(3, sum(again, 1));
                again.barrier();
            }
        });
    }

    @Test
    void abort_ends_operations() {
        run(2, group -> {
            try (Work<Void> failure = group.failure()) {
                if (group.rank() == 0) {
                    Work<?> work = group.irecv(Ranks.doubles(0), 1, 0);
                    group.abort();
                    fails(Status.ABORTED, work::await);
                }
                fails(Status.ABORTED, failure::await);
            }
        });
    }

    @Test
    void ranks_agree() {
        Ranks.run(3, group -> {
            assertEquals(1L << 63, group.agree(1L << 63 | 7 & ~(1 << group.rank())));
            assertEquals(-1, group.agree(-1));
            assertEquals(6, group.withTimeout(Duration.ofMinutes(1)).agree(6 | group.rank()));
        });
    }

    @Test
    void a_rank_that_does_not_agree_is_named() throws Exception {
        var done = new java.util.concurrent.CountDownLatch(1);
        Ranks.runToTheEnd(2, group -> {
            if (group.rank() == 1) {
                done.await();
                return;
            }
            try {
                Group soon = group.withTimeout(Duration.ofMillis(50));
                assertEquals(1, fails(Status.TIMEOUT, () -> soon.agree(1)).rank());
            } finally {
                done.countDown();
            }
        });
    }

    @Test
    void the_default_group_is_another_one_afterwards() {
        try (HashStore store = new HashStore();
             Group world = Tutti.initProcessGroupWithStore(null, store, 0, 1, null);
             Group before = world.retain()) {
            fails(Status.INVALID_ARGUMENT, () -> world.shrink());
            world.revoke(null);
            fails(Status.ABORTED, world::barrier);
            Group again = world.shrink();
            assertEquals(0, world.rank());
            assertEquals(1, world.size());
            assertEquals(1, Tutti.groupCount());
            assertEquals(5, sum(world, 5));
            assertEquals(5, sum(again, 5));
            fails(Status.ABORTED, before::barrier);
            Work<Void> failure = Tutti.world().failure();
            world.destroy();
            fails(Status.ABORTED, failure::await);
            assertFalse(Tutti.isInitialized());
        }
    }
}
