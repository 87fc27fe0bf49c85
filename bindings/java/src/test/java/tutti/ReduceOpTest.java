package tutti;

import static org.junit.jupiter.api.Assertions.*;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import tutti.raw.Callbacks;

class ReduceOpTest {
    @Test
    void premul_sum_multiplies_by_each_ranks_factor() {
        Ranks.run(2, group -> {
            try (ReduceOp op = ReduceOp.premulSum(group.rank() + 0.5)) {
                double[] values = {2};
                group.allReduce(Tensor.of(values), op);
                assertEquals(2 * 0.5 + 2 * 1.5, values[0]);
            }
            try (ReduceOp op = ReduceOp.premulSum(3)) {
                int[] values = {5};
                group.allReduce(Tensor.of(values), op);
                assertEquals(30, values[0]);
            }
            assertThrows(UsageException.class,
                         () -> ReduceOp.premulSum(Tensor.of(new double[2])));
        });
    }

    @Test
    void a_function_reduces() {
        Ranks.run(3, group -> {
            try (ReduceOp longest = ReduceOp.user("longest", Math::hypot)) {
                double[] values = new double[5000];
                java.util.Arrays.fill(values, 2);
                group.allReduce(Tensor.of(values), longest);
                for (double value : values) assertEquals(Math.sqrt(12), value, 1e-12);
                Tensor direct = Ranks.doubles(2);
                group.allReduceAsync(direct, longest).await();
                assertEquals(Math.sqrt(12), Ranks.read(direct)[0], 1e-12);
                float[] floats = {1};
                group.allReduce(Tensor.of(floats), longest);
                assertEquals(Math.sqrt(3), floats[0], 1e-6);
            }
        });
    }

    @Test
    void a_function_that_does_not_commute_keeps_the_ranks_in_order() {
        Ranks.run(3, group -> {
            // 2 by 2 matrices in turn would do as well: here decimal digits are joined.
            ReduceFunction join = (in, inout, dtype) -> {
                for (int i = 0; i < in.limit(); i += 8) {
                    long right = inout.getLong(i);
                    long shift = 10;
                    while (shift <= right) shift *= 10;
                    inout.putLong(i, in.getLong(i) * shift + right);
                }
            };
            try (ReduceOp op = ReduceOp.user("join", false, join)) {
                long[] digits = {group.rank() + 1};
                group.allReduce(Tensor.of(digits), op);
                assertEquals(123, digits[0]);
            }
        });
    }

    @Test
    void what_a_function_throws_is_the_cause() {
        Ranks.runToTheEnd(2, group -> {
            ReduceOp bad = ReduceOp.user("bad", (in, inout, dtype) -> {
                throw new IllegalStateException("cannot");
            });
            TuttiException failure = assertThrows(TuttiException.class, () -> {
                group.allReduce(Tensor.of(new double[1]), bad);
                group.barrier();
            });
            if (failure.getCause() != null) {
                assertEquals("cannot", failure.getCause().getMessage());
                assertTrue(failure.getMessage().contains("cannot"), failure.getMessage());
                assertEquals(Status.BACKEND, failure.status());
            }
            bad.close();
        });
    }

    @Test
    void what_a_function_threw_once_is_no_later_cause() {
        ReduceOp bad = ReduceOp.user("bad", (in, inout, dtype) -> {
            throw new IllegalStateException("cannot");
        });
        Ranks.runToTheEnd(2, group -> assertThrows(TuttiException.class, () -> {
            group.allReduce(Tensor.of(new double[1]), bad);
            group.barrier();
        }));
        Ranks.runToTheEnd(2, group -> {
            if (group.rank() != 0) return; // leaves the other one alone
            TuttiException alone = assertThrows(TuttiException.class,
                () -> group.allReduce(Tensor.of(new double[1]), bad));
            assertNull(alone.getCause());
        });
    }

    @Test
    void memory_that_a_function_keeps_does_no_harm() {
        List<ByteBuffer> kept = new ArrayList<>();
        Ranks.run(2, group -> {
            try (ReduceOp op = ReduceOp.user("keep", (in, inout, dtype) -> {
                synchronized (kept) {
                    kept.add(in);
                    kept.add(inout);
                }
            })) {
                group.allReduce(Ranks.doubles(1, 2), op);
            }
        });
        assertFalse(kept.isEmpty());
        for (ByteBuffer buffer : kept) buffer.putLong(0, buffer.getLong(0) + 1);
    }

    @Test
    void an_op_may_be_closed_while_it_is_used() {
        int before = Callbacks.count();
        Ranks.run(2, group -> {
            ReduceOp op = ReduceOp.user("hypot", Math::hypot);
            Tensor tensor = Ranks.doubles(1);
            Work<Void> work = group.allReduceAsync(tensor, op);
            op.close();
            op.close();
            work.await();
            assertEquals(Math.sqrt(2), Ranks.read(tensor)[0], 1e-12);
            assertThrows(UsageException.class, () -> group.allReduce(tensor, op));
        });
        ReduceOp.SUM.close();
        Ranks.run(1, group -> group.allReduce(Ranks.doubles(1), ReduceOp.SUM));
        while (Callbacks.count() > before) Thread.onSpinWait(); // ends when the last is let go
    }
}
