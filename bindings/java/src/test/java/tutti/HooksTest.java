package tutti;

import static org.junit.jupiter.api.Assertions.*;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import tutti.raw.Callbacks;

class HooksTest {
    private static final class Heard {
        final String what;
        final Operation operation;
        final TuttiException why;

        Heard(String what, Operation operation, TuttiException why) {
            this.what = what;
            this.operation = operation;
            this.why = why;
        }
    }

    private static void work(Group group) {
        int other = 1 - group.rank();
        group.withTagName("loss").allReduce(Ranks.doubles(group.rank(), 2), ReduceOp.MAX);
        try (Work<?> work = group.allReduceAsync(Ranks.doubles(1, 2, 3), ReduceOp.SUM)) {
            work.await();
        }
        if (group.rank() == 0) {
            group.send(Tensor.of(new byte[] {5}), other, 9);
        } else {
            group.recv(Tensor.of(new byte[1]), other, 9);
        }
        Group named = group.withTagName("halo");
        Tensor wrong = Tensor.of(new double[2 + group.rank()]);
        BackendException mismatch = assertThrows(BackendException.class,
            () -> named.allReduce(wrong, ReduceOp.SUM));
        assertEquals(Status.MISMATCH, mismatch.status());
        assertTrue(mismatch.getMessage().contains("\"halo\""), mismatch.getMessage());
    }

    @Test
    void hooks_hear_of_every_operation() {
        long before = Callbacks.count(Callbacks.Hooks.class);
        List<Heard> heard = Collections.synchronizedList(new ArrayList<>());
        List<Double> read = Collections.synchronizedList(new ArrayList<>());
        try (Hooks hooks = new Hooks()) {
            hooks.before(operation -> {
                heard.add(new Heard("before", operation, null));
                if (!operation.tagName().equals("loss")) return;
                read.add(operation.inputs().get(0).buffer().asDoubleBuffer().get(0));
            });
            hooks.after(operation -> heard.add(new Heard("after", operation, null)));
            hooks.aborted((operation, why) -> heard.add(new Heard("aborted", operation, why)));
            hooks.add();
            assertThrows(UsageException.class, hooks::add);
            Ranks.runToTheEnd(2, HooksTest::work);
        }
        assertEquals(before, Callbacks.count(Callbacks.Hooks.class));
        assertEquals(16, heard.size());
        Collections.sort(read);
        assertEquals(List.of(0.0, 1.0), read);
        for (int rank = 0; rank < 2; rank++) look(heard, rank);
    }

    private static void look(List<Heard> heard, int rank) {
        List<Heard> own = heard.stream().filter(one -> one.operation.rank() == rank)
                .collect(Collectors.toList());
        List<Heard> named = own.stream().filter(one -> one.operation.tagName().equals("loss"))
                .collect(Collectors.toList());
        assertEquals(List.of("before", "after"),
                     named.stream().map(one -> one.what).collect(Collectors.toList()));
        Operation first = named.get(0).operation;
        assertEquals(first.id(), named.get(1).operation.id());
        assertEquals("all_reduce", first.name());
        assertFalse(first.groupName().isEmpty());
        assertEquals(1, first.sequenceNumber());
        assertEquals(2, first.worldSize());
        assertEquals(-1, first.peer());
        assertSame(ReduceOp.MAX, first.op());
        assertEquals("[FLOAT64[2]]", first.inputs().toString());
        assertEquals("[FLOAT64[2]]", first.outputs().toString());
        assertThrows(UsageException.class, () -> first.inputs().get(0).buffer());
        assertEquals(2, own.stream().filter(one -> one.operation.isAsync()).count());
        Operation message = own.stream().map(one -> one.operation)
                .filter(one -> one.name().equals(rank == 0 ? "send" : "recv")).findFirst().get();
        assertEquals(1 - rank, message.peer());
        assertEquals(9, message.tag());
        Heard failed = own.stream().filter(one -> one.what.equals("aborted")).findFirst().get();
        assertEquals(Status.MISMATCH, failed.why.status());
        assertTrue(failed.why.getMessage().contains("\"halo\""), failed.why.getMessage());
    }

    @Test
    void wrong_hooks_and_names_are_refused() {
        assertThrows(UsageException.class, () -> new Hooks().add());
        new Hooks().close();
        Ranks.run(1, group -> {
            assertThrows(UsageException.class, () -> group.withTagName("a\0b"));
            group.withTagName("step").coalesce(
                together -> together.allReduce(Ranks.doubles(1), ReduceOp.SUM));
            group.withTagName("step").withTagName(null).barrier();
        });
    }
}
