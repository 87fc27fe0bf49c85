package tutti;

import static org.junit.jupiter.api.Assertions.*;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Groups of processes that know each other by handles. Ids are used once in a process. */
class ReconfigureTest {
    /** A newcomer takes the place of a rank that has died. Each process learns the others' handles by
     *  the store of its parent, and writes to a file of its own what became of it. */
    public static final class Program {
        private Program() {}

        public static void main(String[] arguments) throws Exception {
            int number = Integer.parseInt(System.getenv("RANK"));
            List<String> handles = exchange(number, Tutti.reconfigureHandle());
            try (Group world = Tutti.world()) {
                if (number < 2) Group.reconfigure(world, 1, handles.subList(0, 2), null, null);
                if (number == 0) Runtime.getRuntime().halt(0);
                Group.reconfigure(world, 2, handles.subList(1, 3), null, null);
                String told = "rank " + world.rank() + " of " + world.size() + ", sum "
                    + sum(world, number);
                Files.writeString(Path.of(arguments[0], "rank" + number), told);
            }
        }

        private static List<String> exchange(int number, String handle) {
            TCPStore.Options options = new TCPStore.Options().waitForWorkers(false);
            int port = Integer.parseInt(System.getenv("MASTER_PORT"));
            List<String> all = new ArrayList<>();
            try (Store store = new TCPStore(System.getenv("MASTER_ADDR"), port, -1, false, options)) {
                store.set("handle" + number, handle);
                for (int each = 0; each < 3; each++) all.add(store.getString("handle" + each));
            }
            return all;
        }
    }

    @Test
    void a_newcomer_takes_the_place_of_a_dead_rank(@TempDir Path folder) throws Exception {
        new Spawn().run(Program.class, 3, folder.toString());
        assertEquals("rank 0 of 2, sum 3.0", Files.readString(folder.resolve("rank1")));
        assertEquals("rank 1 of 2, sum 3.0", Files.readString(folder.resolve("rank2")));
    }

    /** What the ranks of a group give together. */
    private static double sum(Group group, double value) {
        double[] values = {value};
        group.allReduce(Tensor.of(values), ReduceOp.SUM);
        return values[0];
    }

    private static String fails(Status status, Runnable call) {
        TuttiException failure = assertThrows(TuttiException.class, call::run);
        assertEquals(status, failure.status(), failure.getMessage());
        return failure.getMessage();
    }

    @Test
    void a_group_is_made_by_handles_and_replaced() {
        List<String> handles = List.of(Tutti.reconfigureHandle());
        assertEquals(handles, List.of(Tutti.reconfigureHandle()));
        GroupOptions options = new GroupOptions().description("first");
        try (Group first = Group.reconfigure(null, 1, handles, "tcp", options)) {
            assertEquals(0, first.rank());
            assertEquals(1, first.size());
            assertEquals("first", first.name());
            assertEquals("tcp", first.backend());
            options.timeout(Duration.ofMinutes(1));
            try (Group second = Group.reconfigure(first, 2, handles, null, options)) {
                assertEquals(5, sum(second, 5));
                assertEquals(Duration.ofMinutes(1), second.timeout());
                fails(Status.ABORTED, first::barrier);
            }
        }
        assertFalse(Tutti.isInitialized());
    }

    @Test
    void the_default_group_is_made_by_handles_and_replaced() {
        List<String> handles = List.of(Tutti.reconfigureHandle());
        try (Group world = Group.reconfigure(Tutti.world(), 11, handles, null, null);
             Group before = world.retain()) {
            assertTrue(Tutti.isInitialized());
            Group again = Group.reconfigure(world, 12, handles, null, null);
            assertEquals(0, world.rank());
            assertEquals(1, world.size());
            assertEquals(1, Tutti.groupCount());
            assertEquals(5, sum(world, 5));
            assertEquals(5, sum(again, 5));
            fails(Status.ABORTED, before::barrier);
        }
        assertFalse(Tutti.isInitialized());
    }

    @Test
    void wrong_arguments_are_refused() {
        String handle = Tutti.reconfigureHandle();
        Group made = Group.reconfigure(null, 21, List.of(handle), null, null);
        made.close();
        refuses(22, List.of("nonsense"), "handles[0] is \"nonsense\"");
        refuses(22, List.of(handle, handle), "handles[1] is the same as handles[0]");
        refuses(22, List.of("a\0b"), "handles[0]");
        refuses(22, List.of(), "count is 0");
        refuses(22, null, "handles is null");
        refuses(21, List.of(handle), "used before");
        fails(Status.INVALID_HANDLE,
              () -> Group.reconfigure(made, 22, List.of(handle), null, null));
    }

    private static void refuses(long id, List<String> handles, String part) {
        String message = fails(Status.INVALID_ARGUMENT,
                               () -> Group.reconfigure(null, id, handles, null, null));
        assertTrue(message.contains(part), message);
    }
}
