package tutti;

import static org.junit.jupiter.api.Assertions.*;

import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import tutti.raw.Callbacks;

class ReducerTest {
    /** A reducer of two parameters and an empty one, each in a bucket of its own. */
    private static Reducer model(Group group, ReducerOptions options, double[] bias) {
        List<Parameter> parameters = List.of(
                new Parameter("weights", Tensor.of(new double[3000])),
                new Parameter("bias", Tensor.of(bias)),
                new Parameter("nothing", Tensor.of(new double[0])));
        Reducer made = Reducer.create(group, parameters, options.bucketCapBytes(1000)
                                      .firstBucketCapBytes(8));
        group.barrier(); // a rank that fails now finds no other still making it
        return made;
    }

    private static Reducer model(Group group, ReducerOptions options) {
        return model(group, options, new double[1]);
    }

    private static Reducer model(Group group) {
        return model(group, new ReducerOptions());
    }

    private static void fill(Tensor gradient, double value) {
        for (int i = 0; i < gradient.count(); i++) gradient.buffer().putDouble(8 * i, value);
    }

    private static double value(Group group, int parameter) {
        return (group.rank() + 1) * (parameter + 1);
    }

    private static double mean(Group group, int parameter) {
        return (group.size() + 1) / 2.0 * (parameter + 1);
    }

    private static void pass(Reducer reducer, Group group) {
        reducer.backward(true, () -> {
            for (int parameter = 2; parameter >= 0; parameter--) {
                fill(reducer.gradient(parameter), value(group, parameter));
                reducer.markReady(parameter);
            }
        });
    }

    private static void means(Reducer reducer, Group group) {
        for (int parameter = 0; parameter < 2; parameter++) {
            for (double one : Ranks.read(reducer.gradient(parameter))) {
                assertEquals(mean(group, parameter), one);
            }
        }
    }

    @Test
    void gradients_become_means() {
        for (int ranks : new int[] {1, 2, 4}) {
            Ranks.run(ranks, group -> {
                double[] bias = {group.rank() + 7};
                try (Reducer reducer = model(group, new ReducerOptions(), bias)) {
                    assertEquals(7, bias[0]); // of rank 0
                    for (long iteration = 1; iteration <= 3; iteration++) {
                        reducer.beginForward();
                        pass(reducer, group);
                        means(reducer, group);
                        assertTrue(reducer.isUsed(0));
                        Map<?, ?> data = (Map<?, ?>) reducer.loggingData();
                        assertEquals(iteration, data.get("iteration"));
                    }
                    assertEquals(0, reducer.gradient(2).count());
                    assertTrue(reducer.generation() <= 1);
                }
            });
        }
    }

    @Test
    void gradients_of_the_program_and_of_several_threads() {
        Ranks.run(4, group -> {
            try (Reducer reducer = model(group)) {
                Tensor own = Tensor.allocate(DType.FLOAT64, 3000);
                for (int i = 0; i < 4; i++) {
                    fill(own, value(group, 0));
                    reducer.begin(true);
                    Thread marks = new Thread(() -> {
                        reducer.markReady(0, own);
                        reducer.markReady(2);
                    });
                    marks.start();
                    fill(reducer.gradient(1), value(group, 1));
                    reducer.markReady(1);
                    marks.join();
                    reducer.finish();
                    assertEquals(mean(group, 0), Ranks.read(own)[2999]);
                    means(reducer, group);
                }
            }
        });
    }

    @Test
    void an_optimizer_takes_bucket_after_bucket() {
        Ranks.run(2, group -> {
            try (Reducer reducer = model(group)) {
                reducer.begin(true);
                for (int parameter = 0; parameter < 3; parameter++) {
                    fill(reducer.gradient(parameter), value(group, parameter));
                    reducer.markReady(parameter);
                }
                try (Work<Void> work = reducer.finishAsync()) {
                    List<Integer> seen = new ArrayList<>();
                    int buckets = 0;
                    Bucket bucket;
                    while ((bucket = reducer.nextBucket()) != null) {
                        assertEquals(buckets++, bucket.index());
                        assertEquals(bucket.isLast(), buckets == bucket.bucketCount());
                        int[] parameters = bucket.parameters();
                        for (int i = 0; i < parameters.length; i++) {
                            seen.add(parameters[i]);
                            for (double one : Ranks.read(bucket.gradient(i))) {
                                assertEquals(mean(group, parameters[i]), one);
                            }
                        }
                    }
                    work.await();
                    Collections.sort(seen);
                    assertEquals(List.of(0, 1, 2), seen);
                    assertEquals(buckets, reducer.bucket(0).bucketCount());
                    assertEquals("reducer_finish", work.opType());
                }
                assertThrows(UsageException.class, () -> reducer.bucket(99));
            }
        });
    }

    @Test
    void passes_that_are_not_synchronised_accumulate() {
        Ranks.run(2, group -> {
            try (Reducer reducer = model(group, new ReducerOptions().sum(true))) {
                for (int i = 0; i < 3; i++) {
                    reducer.backward(i == 2, () -> {
                        Tensor gradient = reducer.gradient(0);
                        fill(gradient, Ranks.read(gradient)[0] + 1 + group.rank());
                        for (int parameter = 0; parameter < 3; parameter++) {
                            reducer.markReady(parameter);
                        }
                    });
                }
                assertEquals(9, Ranks.read(reducer.gradient(0))[0]);
            }
        });
    }

    @Test
    void micro_batches_are_kept_apart() {
        GroupOptions exact = new GroupOptions().reproducible(true);
        Ranks.run(2, exact, group -> {
            try (Reducer reducer = model(group, new ReducerOptions().keepMicroBatches(1))) {
                for (double value : new double[] {5, 1}) {
                    reducer.backward(value == 1, () -> {
                        fill(reducer.gradient(1), value);
                        for (int parameter = 0; parameter < 3; parameter++) {
                            reducer.markReady(parameter);
                        }
                    });
                }
                assertEquals(3, Ranks.read(reducer.gradient(1))[0]);
            }
        });
    }

    @Test
    void a_part_of_the_model_may_be_unused() {
        Ranks.run(2, group -> {
            ReducerOptions options = new ReducerOptions().findUnusedParameters(true);
            try (Reducer reducer = model(group, options)) {
                reducer.backward(true, () -> {
                    reducer.markUnused(2, 1);
                    if (group.rank() == 1) return;
                    fill(reducer.gradient(0), 8);
                    reducer.markReady(0);
                });
                assertEquals(4, Ranks.read(reducer.gradient(0))[0]);
                assertTrue(reducer.isUsed(0));
                assertFalse(reducer.isUsed(1));
                assertFalse(reducer.isUsed(7));
            }
        });
    }

    @Test
    void a_static_graph_marks_as_often_as_in_its_first_pass() {
        Ranks.run(2, group -> {
            try (Reducer reducer = model(group, new ReducerOptions().staticGraph(true))) {
                for (int i = 0; i < 3; i++) {
                    reducer.begin(true);
                    fill(reducer.gradient(0), value(group, 0));
                    reducer.markReady(0);
                    reducer.markReady(0);
                    if (i > 0) assertThrows(UsageException.class, () -> reducer.markReady(0));
                    reducer.finish();
                    assertEquals(mean(group, 0), Ranks.read(reducer.gradient(0))[0]);
                }
            }
        });
    }

    @Test
    void a_hook_reduces_buckets_and_is_let_go() {
        int before = Callbacks.count();
        for (int ranks : new int[] {2, 4}) {
            Ranks.run(ranks, group -> {
                try (Reducer reducer = model(group)) {
                    List<Integer> seen = Collections.synchronizedList(new ArrayList<>());
                    reducer.setHook((own, bucket) -> {
                        seen.add(bucket.index());
                        assertEquals(ranks, own.size());
                        own.allReduce(bucket.gradients(), ReduceOp.MAX);
                    });
                    pass(reducer, group);
                    assertEquals(2.0 * ranks, Ranks.read(reducer.gradient(1))[0]);
                    assertEquals(reducer.bucket(0).bucketCount(), seen.size());
                    reducer.setHook(null);
                    pass(reducer, group);
                    means(reducer, group);
                    reducer.setHook((own, bucket) -> {});
                }
            });
        }
        while (Callbacks.count() > before) System.gc(); // the buffers of gradients end first
    }

    @Test
    void what_a_hook_throws_fails_all_ranks() {
        Ranks.runToTheEnd(2, group -> {
            try (Reducer reducer = model(group)) {
                reducer.setHook((own, bucket) -> {
                    if (group.rank() == 1) throw new IllegalStateException("no bucket today");
                    own.allReduce(bucket.gradients(), ReduceOp.SUM);
                });
                TuttiException failure = assertThrows(TuttiException.class,
                                                      () -> pass(reducer, group));
                assertTrue(failure.getMessage().contains("no bucket today"), failure.getMessage());
                if (group.rank() == 1) {
                    assertEquals("no bucket today", failure.getCause().getMessage());
                }
                assertThrows(TuttiException.class, () -> reducer.begin(true));
            }
        });
    }

    @Test
    void a_call_that_fails_in_a_hook_gives_the_pass_its_status() {
        Ranks.runToTheEnd(2, group -> {
            try (Reducer reducer = model(group)) {
                reducer.setHook((own, bucket) -> own.broadcast(bucket.gradients(), own.size()));
                TuttiException failure = assertThrows(TuttiException.class,
                                                      () -> pass(reducer, group));
                assertEquals(Status.INVALID_ARGUMENT, failure.status());
            }
        });
    }

    private static WeakReference<BucketHook> hookOf(Reducer reducer, Group group) {
        BucketHook hook = (own, bucket) -> assertEquals(own.size(), group.size());
        reducer.setHook(hook);
        return new WeakReference<>(hook);
    }

    @Test
    void a_hook_that_is_replaced_is_let_go() {
        Ranks.run(1, group -> {
            try (Reducer reducer = model(group)) {
                List<Runnable> replacements = List.of(
                        () -> reducer.setHook(null),
                        () -> reducer.setCompression(GradientCompression.NONE),
                        () -> reducer.setPowerSgd(new long[3], null));
                for (Runnable replacement : replacements) {
                    WeakReference<BucketHook> hook = hookOf(reducer, group);
                    replacement.run();
                    for (int i = 0; i < 50 && hook.get() != null; i++) System.gc();
                    assertNull(hook.get());
                }
            }
        });
    }

    @Test
    void gradients_travel_in_fewer_bytes() {
        Ranks.run(4, group -> {
            try (Reducer reducer = model(group)) {
                for (GradientCompression way : GradientCompression.values()) {
                    reducer.setCompression(way);
                    pass(reducer, group);
                    assertEquals(mean(group, 0), Ranks.read(reducer.gradient(0))[0], 0.01);
                }
                Map<?, ?> data = (Map<?, ?>) reducer.loggingData();
                assertTrue((Long) data.get("communicated_bytes")
                           < (Long) data.get("gradient_bytes"));
            }
        });
    }

    /** A pass whose weights are 50 rows, the outer product of two vectors that the pass chooses. */
    private static void passOfOuterProducts(Reducer reducer, Group group, int chosen) {
        reducer.backward(true, () -> {
            Tensor weights = reducer.gradient(0);
            for (int i = 0; i < 3000; i++) {
                weights.buffer().putDouble(8 * i, value(group, 0) * outerProduct(chosen, i));
            }
            fill(reducer.gradient(1), value(group, 1));
            for (int parameter = 0; parameter < 3; parameter++) reducer.markReady(parameter);
        });
    }

    private static double outerProduct(int chosen, int at) {
        int row = at / 60;
        int column = at % 60;
        return (1 + (row + chosen) % 7) * (column % 5 - 1.5);
    }

    private static long logged(Reducer reducer, String key) {
        return (Long) ((Map<?, ?>) reducer.loggingData()).get(key);
    }

    @Test
    void matrices_travel_as_products_of_factors() {
        for (int ranks : new int[] {2, 4}) {
            Ranks.run(ranks, group -> {
                try (Reducer reducer = model(group)) {
                    reducer.setHook((own, bucket) -> {
                        throw new AssertionError("the hook was replaced");
                    });
                    reducer.setPowerSgd(new long[] {50, 0, 0},
                                        new PowerSgdOptions().startIteration(1));
                    for (int i = 0; i < 3; i++) {
                        passOfOuterProducts(reducer, group, i);
                        double[] means = Ranks.read(reducer.gradient(0));
                        for (int at = 0; at < 3000; at++) {
                            assertEquals(mean(group, 0) * outerProduct(i, at), means[at], 1e-5);
                        }
                        assertEquals(mean(group, 1), Ranks.read(reducer.gradient(1))[0]);
                    }
                    // A pass as it is, and two with factors of 50 and 60 numbers beside the bias.
                    assertEquals(3 * 8 * 3001, logged(reducer, "gradient_bytes"));
                    assertEquals(8 * 3001 + 2 * 8 * 111, logged(reducer, "communicated_bytes"));
                }
            });
        }
    }

    /** What this rank is told when its rows or options are not those of the others. */
    private static TuttiException refused(Reducer reducer, long[] rows, PowerSgdOptions options) {
        return assertThrows(TuttiException.class, () -> reducer.setPowerSgd(rows, options));
    }

    @Test
    void rows_that_cannot_be_are_refused_on_all_ranks() {
        long[][] wrong = {{7, 0, 0}, {-1, 0, 0}, {50, 0}, null};
        String[] told = {"rows[0] is 7", "rows[0] is -1",
                         "count is 2; rows has a number for each of the reducer's 3 parameters",
                         "rows is null"};
        Ranks.run(2, group -> {
            try (Reducer reducer = model(group)) {
                for (int i = 0; i < wrong.length; i++) {
                    boolean isMine = group.rank() == 1;
                    TuttiException failure = refused(
                            reducer, isMine ? wrong[i] : new long[] {50, 0, 0}, null);
                    assertEquals(isMine ? Status.INVALID_ARGUMENT : Status.MISMATCH,
                                 failure.status(), failure.getMessage());
                    if (isMine) {
                        assertTrue(failure.getMessage().contains(told[i]), failure.getMessage());
                    }
                }
                TuttiException negative = refused(
                        reducer, new long[3], new PowerSgdOptions().matrixApproximationRank(-1));
                assertTrue(negative.getMessage().contains("options.matrixApproximationRank is -1"),
                           negative.getMessage());
                pass(reducer, group);
                means(reducer, group);
            }
        });
    }

    @Test
    void options_that_differ_are_shown_on_all_ranks() {
        List<PowerSgdOptions> different = List.of(
                new PowerSgdOptions().matrixApproximationRank(3),
                new PowerSgdOptions().startIteration(5),
                new PowerSgdOptions().errorFeedback(false),
                new PowerSgdOptions().warmStart(false),
                new PowerSgdOptions().minCompressionRate(1.5),
                new PowerSgdOptions().orthogonalizationEpsilon(0.25),
                new PowerSgdOptions().randomSeed(4));
        String[] told = {"matrix_approximation_rank 3", "start_iteration 5", "no_error_feedback 1",
                         "no_warm_start 1", "min_compression_rate 1.5",
                         "orthogonalization_epsilon 0.25", "random_seed 4"};
        Ranks.run(2, group -> {
            try (Reducer reducer = model(group)) {
                for (int i = 0; i < told.length; i++) {
                    TuttiException failure = refused(
                            reducer, new long[] {50, 0, 0},
                            group.rank() == 1 ? different.get(i) : new PowerSgdOptions());
                    assertEquals(Status.MISMATCH, failure.status());
                    String difference = "rank 1 called reducer_set_power_sgd with " + told[i];
                    assertTrue(failure.getMessage().contains(difference), failure.getMessage());
                }
                reducer.setPowerSgd(new long[] {50, 0, 0}, null);
                pass(reducer, group);
                means(reducer, group);
            }
        });
    }

    @Test
    void buffers_are_copied_from_one_rank() {
        Ranks.run(2, group -> {
            try (Reducer reducer = model(group)) {
                float[] means = {group.rank(), group.rank()};
                Tensor count = Ranks.doubles(group.rank());
                reducer.syncBuffers(List.of(Tensor.of(means), count), 1);
                assertArrayEquals(new float[] {1, 1}, means);
                assertEquals(1, Ranks.read(count)[0]);
                assertThrows(UsageException.class, () -> reducer.syncBuffers(List.of(), 2));
            }
        });
    }

    @Test
    void wrong_arguments_are_named() {
        Ranks.run(1, group -> {
            List<Parameter> one = List.of(new Parameter("one", Tensor.of(new float[1])));
            UsageException order = assertThrows(UsageException.class, () -> Reducer.create(
                    group, one, new ReducerOptions().order(0, 0)));
            assertTrue(order.getMessage().contains("order: 2 indices"), order.getMessage());
            assertThrows(UsageException.class, () -> Reducer.create(group, List.of(), null));
            Reducer reducer = Reducer.create(group, one, null);
            UsageException early = assertThrows(UsageException.class, () -> reducer.markReady(0));
            assertTrue(early.getMessage().contains("no pass has begun"), early.getMessage());
            assertThrows(UsageException.class, () -> reducer.gradient(1));
            assertThrows(UsageException.class, () -> reducer.gradient(-1));
            reducer.begin(true);
            UsageException array = assertThrows(UsageException.class, () -> reducer.markReady(
                    0, Tensor.of(new float[1])));
            assertTrue(array.getMessage().contains("direct"), array.getMessage());
            assertThrows(UsageException.class, () -> reducer.markReady(0, Ranks.doubles(1)));
            reducer.markReady(0);
            assertThrows(UsageException.class, () -> reducer.markReady(0));
            reducer.finish();
            ByteBuffer kept = reducer.gradient(0).buffer();
            reducer.close();
            kept.putFloat(0, kept.getFloat(0) + 1); // its memory is still there
            assertThrows(UsageException.class, () -> reducer.begin(true));
            assertThrows(UsageException.class, reducer::generation);
        });
    }

    @Test
    void a_parameter_without_gradient_is_named_on_all_ranks() {
        Ranks.runToTheEnd(2, group -> {
            try (Reducer reducer = model(group)) {
                TuttiException failure = assertThrows(
                        TuttiException.class,
                        () -> reducer.backward(true, () -> reducer.markReady(0)));
                assertEquals(Status.MISMATCH, failure.status());
                assertTrue(failure.getMessage().contains("bias"), failure.getMessage());
            }
        });
    }

    @Test
    void a_reducer_goes_on_in_a_smaller_group() {
        Ranks.runToTheEnd(3, group -> {
            try (Reducer reducer = model(group)) {
                pass(reducer, group);
                ByteBuffer kept = reducer.gradient(0).buffer();
                group.barrier();
                if (group.rank() == 1) {
                    assertThrows(TuttiException.class, group::barrier);
                    return;
                }
                try (Group pair = group.shrink(1)) {
                    reducer.begin(true); // a pass that is cut
                    reducer.markReady(0, Tensor.allocate(DType.FLOAT64, 3000));
                    reducer.shrink(pair);
                    assertEquals(0, reducer.gradient(0).buffer().getDouble(0));
                    kept.putDouble(0, kept.getDouble(0) + 1); // its memory is still there
                    pass(reducer, pair);
                    means(reducer, pair);
                    reducer.syncBuffers(List.of(Tensor.of(new double[1])), 0);
                }
            }
        });
    }
}
