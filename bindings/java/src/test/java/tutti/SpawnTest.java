package tutti;

import static org.junit.jupiter.api.Assertions.*;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SpawnTest {
    /** Each rank writes the sum of all to a file of its own; or fails, waits for ever, or dies. */
    public static final class Program {
        private Program() {}

        public static void main(String[] arguments) throws Exception {
            try (Group world = Tutti.initProcessGroup()) {
                if (arguments[0].equals("fail") && world.rank() == 1) System.exit(7);
                if (arguments[0].equals("hang")) new CountDownLatch(1).await();
                if (arguments.length > 1) world.barrier();
                if (arguments.length > 1 && world.rank() == 1) Runtime.getRuntime().halt(0);
                if (arguments.length > 1) waitForTheDead(world, arguments[0]);
                int[] sum = {world.rank() + 1};
                world.allReduce(Tensor.of(sum), ReduceOp.SUM);
                Files.writeString(Path.of(arguments[0], "rank" + world.rank()), "sum " + sum[0]);
            }
        }

        /** Rank 1 has gone without a word. */
        private static void waitForTheDead(Group world, String folder) throws Exception {
            try {
                world.barrier();
            } catch (PeerLostException lost) {
                Files.writeString(Path.of(folder, "rank" + world.rank()), "lost " + lost.rank());
                System.exit(0);
            }
        }
    }

    @Test
    void a_process_that_dies_is_named(@TempDir Path folder) throws Exception {
        new Spawn().run(Program.class, 3, folder.toString(), "die");
        for (int rank : new int[] {0, 2}) {
            assertEquals("lost 1", Files.readString(folder.resolve("rank" + rank)));
        }
    }

    @Test
    void processes_make_one_group(@TempDir Path folder) throws Exception {
        new Spawn().run(Program.class, 3, folder.toString());
        for (int rank = 0; rank < 3; rank++) {
            assertEquals("sum 6", Files.readString(folder.resolve("rank" + rank)));
        }
        new Spawn().javaOptions("-Xmx64m").start(Program.class, 1, folder.toString())
                .get(120, TimeUnit.SECONDS);
        assertEquals("sum 1", Files.readString(folder.resolve("rank0")));
    }

    @Test
    void the_first_failure_ends_all_and_is_named() {
        PeerLostException failure = assertThrows(PeerLostException.class,
            () -> new Spawn().run(Program.class, 2, "fail"));
        assertTrue(failure.getMessage().contains("exited with code"), failure.getMessage());
    }

    @Test
    void a_timeout_leaves_no_process() {
        assertThrows(TimeoutExpiredException.class, () -> new Spawn()
                .timeout(Duration.ofSeconds(1)).gracePeriod(Duration.ofMillis(500))
                .run(Program.class, 1, "hang"));
        assertEquals(0, ProcessHandle.current().children().filter(ProcessHandle::isAlive).count());
        assertThrows(UsageException.class, () -> new Spawn().run(Program.class, 0));
    }
}
