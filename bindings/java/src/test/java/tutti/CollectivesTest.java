package tutti;

import static org.junit.jupiter.api.Assertions.*;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** Every collective, of arrays and of direct memory, now and as a work. */
class CollectivesTest {
    private static final int RANKS = 3;

    /** How a test's tensors are made, and how its calls are. */
    private enum Way { ARRAYS, DIRECT, ASYNC }

    private interface Body {
        void run(Group group, Way way);
    }

    private static void eachWay(Body body) {
        for (Way way : Way.values()) Ranks.run(RANKS, group -> body.run(group, way));
    }

    private static Tensor tensor(Way way, double... values) {
        return way == Way.ARRAYS ? Tensor.of(values) : Ranks.doubles(values);
    }

    private static double[] read(Tensor tensor) {
        return tensor.isDirect() ? Ranks.read(tensor) : (double[]) tensor.memory;
    }

    private static List<Tensor> tensors(Way way, int count, int length) {
        List<Tensor> tensors = new ArrayList<>();
        for (int i = 0; i < count; i++) tensors.add(tensor(way, new double[length]));
        return tensors;
    }

    @Test
    void what_coalesced_calls_throw_is_what_one_sees() {
        Ranks.runToTheEnd(1, group -> {
            IllegalStateException mine = assertThrows(IllegalStateException.class,
                () -> group.coalesce(together -> {
                    together.close();
                    throw new IllegalStateException("mine");
                }));
            assertEquals(UsageException.class, mine.getSuppressed()[0].getClass());
        });
    }

    @Test
    void an_argument_that_is_missing_is_named() {
        Ranks.run(1, group -> {
            NullPointerException batch = assertThrows(NullPointerException.class,
                                                      () -> group.batchISendIRecv(null));
            assertTrue(batch.getMessage().contains("\"ops\""), batch.getMessage());
            assertThrows(NullPointerException.class, () -> ReduceOp.user(
                    "none", (java.util.function.DoubleBinaryOperator) null));
            try (HashStore store = new HashStore()) {
                UsageException key = assertThrows(UsageException.class,
                    () -> store.check(Arrays.asList("one", null)));
                assertEquals("keys[1]: null", key.getMessage());
            }
        });
    }

    @Test
    void broadcast_copies_the_source() {
        eachWay((group, way) -> {
            Tensor tensor = tensor(way, group.rank(), 10 * group.rank());
            if (way == Way.ASYNC) group.broadcastAsync(tensor, 2).await();
            else group.broadcast(tensor, 2);
            assertArrayEquals(new double[] {2, 20}, read(tensor));
        });
    }

    @Test
    void all_reduce_sums_in_place_and_into_another_tensor() {
        eachWay((group, way) -> {
            Tensor input = tensor(way, group.rank() + 1, 1);
            Tensor output = tensor(way, 0, 0);
            if (way == Way.ASYNC) {
                group.allReduceAsync(input, output, ReduceOp.SUM).await();
                group.allReduceAsync(input, ReduceOp.MAX).await();
            } else {
                group.allReduce(input, output, ReduceOp.SUM);
                group.allReduce(input, ReduceOp.MAX);
            }
            assertArrayEquals(new double[] {6, 3}, read(output));
            assertArrayEquals(new double[] {3, 1}, read(input));
        });
    }

    @Test
    void reduce_writes_on_its_destination_only() {
        eachWay((group, way) -> {
            Tensor input = tensor(way, group.rank() + 1);
            Tensor output = tensor(way, -1);
            if (way == Way.ASYNC) group.reduceAsync(input, output, ReduceOp.PRODUCT, 1).await();
            else group.reduce(input, output, ReduceOp.PRODUCT, 1);
            assertArrayEquals(new double[] {group.rank() == 1 ? 6 : -1}, read(output));
        });
    }

    @Test
    void all_gather_and_all_gather_into_tensor_collect_every_input() {
        eachWay((group, way) -> {
            List<Tensor> outputs = new ArrayList<>();
            for (int r = 0; r < RANKS; r++) outputs.add(tensor(way, new double[r + 1]));
            double[] mine = new double[group.rank() + 1];
            java.util.Arrays.fill(mine, 7 + group.rank());
            Tensor flat = tensor(way, new double[RANKS]);
            Tensor one = tensor(way, group.rank());
            if (way == Way.ASYNC) {
                group.allGatherAsync(tensor(way, mine), outputs).await();
                group.allGatherIntoTensorAsync(one, flat).await();
            } else {
                group.allGather(tensor(way, mine), outputs);
                group.allGatherIntoTensor(one, flat);
            }
            for (int r = 0; r < RANKS; r++) {
                double[] wanted = new double[r + 1];
                java.util.Arrays.fill(wanted, 7 + r);
                assertArrayEquals(wanted, read(outputs.get(r)));
            }
            assertArrayEquals(new double[] {0, 1, 2}, read(flat));
        });
    }

    @Test
    void gather_and_scatter_are_each_others_reverse() {
        eachWay((group, way) -> {
            boolean root = group.rank() == 1;
            List<Tensor> pieces = root ? tensors(way, RANKS, 2) : null;
            Tensor mine = tensor(way, group.rank(), 5);
            Tensor back = tensor(way, -1, -1);
            if (way == Way.ASYNC) {
                group.gatherAsync(mine, pieces, 1).await();
                group.scatterAsync(pieces, back, 1).await();
            } else {
                group.gather(mine, pieces, 1);
                group.scatter(pieces, back, 1);
            }
            for (int r = 0; root && r < RANKS; r++) {
                assertArrayEquals(new double[] {r, 5}, read(pieces.get(r)));
            }
            assertArrayEquals(new double[] {group.rank(), 5}, read(back));
        });
    }

    @Test
    void reduce_scatter_leaves_each_rank_its_piece() {
        eachWay((group, way) -> {
            List<Tensor> inputs = new ArrayList<>();
            for (int r = 0; r < RANKS; r++) inputs.add(tensor(way, r, group.rank()));
            Tensor piece = tensor(way, 0, 0);
            Tensor flat = tensor(way, 1, 2, 3);
            Tensor one = tensor(way, 0);
            if (way == Way.ASYNC) {
                group.reduceScatterAsync(inputs, piece, ReduceOp.SUM).await();
                group.reduceScatterTensorAsync(flat, one, ReduceOp.SUM).await();
            } else {
                group.reduceScatter(inputs, piece, ReduceOp.SUM);
                group.reduceScatterTensor(flat, one, ReduceOp.SUM);
            }
            assertArrayEquals(new double[] {3 * group.rank(), 3}, read(piece));
            assertArrayEquals(new double[] {3 * (group.rank() + 1)}, read(one));
        });
    }

    @Test
    void all_to_all_exchanges_pieces() {
        eachWay((group, way) -> {
            int rank = group.rank();
            List<Tensor> inputs = new ArrayList<>();
            for (int r = 0; r < RANKS; r++) inputs.add(tensor(way, 10 * rank + r));
            List<Tensor> outputs = tensors(way, RANKS, 1);
            Tensor flat = tensor(way, 10 * rank, 10 * rank + 1, 10 * rank + 2);
            Tensor out = tensor(way, 0, 0, 0);
            if (way == Way.ASYNC) {
                group.allToAllAsync(inputs, outputs).await();
                group.allToAllSingleAsync(flat, out).await();
            } else {
                group.allToAll(inputs, outputs);
                group.allToAllSingle(flat, out);
            }
            for (int r = 0; r < RANKS; r++) {
                assertArrayEquals(new double[] {10 * r + rank}, read(outputs.get(r)));
            }
            assertArrayEquals(new double[] {rank, 10 + rank, 20 + rank}, read(out));
        });
    }

    @Test
    void all_to_all_single_takes_split_sizes() {
        eachWay((group, way) -> {
            int rank = group.rank();
            // Rank r gives r + 1 elements to rank 0 and none to the others.
            long[] input = {rank + 1, 0, 0};
            long[] output = rank == 0 ? new long[] {1, 2, 3} : new long[3];
            double[] mine = new double[rank + 1];
            java.util.Arrays.fill(mine, rank);
            Tensor out = tensor(way, new double[rank == 0 ? 6 : 0]);
            if (way == Way.ASYNC) {
                group.allToAllSingleAsync(tensor(way, mine), out, input, output).await();
            } else {
                group.allToAllSingle(tensor(way, mine), out, input, output);
            }
            assertArrayEquals(rank == 0 ? new double[] {0, 1, 1, 2, 2, 2} : new double[0],
                              read(out));
        });
    }

    @Test
    void addends_of_any_number_are_summed_exactly() {
        GroupOptions options = new GroupOptions().reproducible(true);
        Ranks.run(RANKS, options, group -> {
            assertTrue(group.isReproducible());
            List<Tensor> inputs = new ArrayList<>();
            double[] numbers = {1e300, 1, -1e300};
            for (int i = 0; i < group.rank(); i++) inputs.add(Tensor.of(new double[] {1}));
            inputs.add(Tensor.of(new double[] {numbers[group.rank()]}));
            double[] sum = new double[1];
            group.allReduceAddends(inputs, Tensor.of(sum), ReduceOp.SUM);
            assertEquals(4, sum[0]);
            Tensor again = Tensor.allocate(DType.FLOAT64, 1);
            group.allReduceAddendsAsync(List.of(), again, ReduceOp.SUM).await();
            assertArrayEquals(new double[] {0}, Ranks.read(again));
        });
    }

    @Test
    void barriers_let_all_pass() {
        Ranks.run(RANKS, group -> {
            group.barrier();
            group.barrierAsync().await();
            group.monitoredBarrier(true);
            assertThrows(UsageException.class, () -> group.breakpoint(RANKS));
        });
    }

    @Test
    void coalesced_calls_are_done_at_the_end() {
        eachWay((group, way) -> {
            Tensor first = tensor(way, group.rank());
            Tensor second = tensor(way, 1);
            Consumer<Group> calls = together -> {
                assertEquals(group.size(), together.size());
                together.allReduce(first, ReduceOp.SUM);
                together.allReduce(second, ReduceOp.SUM);
                double[] apart = {1};
                group.allReduce(Tensor.of(apart), ReduceOp.SUM); // the group works as ever
                assertEquals(group.size(), apart[0]);
            };
            if (way == Way.ASYNC) group.coalesceAsync(calls).await();
            else group.coalesce(calls);
            assertArrayEquals(new double[] {3}, read(first));
            assertArrayEquals(new double[] {3}, read(second));
        });
    }

    @Test
    void calls_of_other_threads_are_no_part_of_a_coalescing() {
        Ranks.run(2, group -> {
            double[] sum = {1};
            group.coalesce(together -> CompletableFuture.runAsync(() -> {
                double[] apart = {1};
                group.allReduce(Tensor.of(apart), ReduceOp.SUM);
                assertEquals(2, apart[0]);
                together.allReduce(Tensor.of(sum), ReduceOp.SUM);
            }, task -> new Thread(task).start()).join());
            assertEquals(2, sum[0]);
        });
    }

    @Test
    void a_coalescing_refuses_what_cannot_be_part_of_one() {
        Ranks.run(2, group -> {
            Group[] kept = new Group[1];
            group.coalesce(together -> {
                kept[0] = together;
                together.allReduce(Tensor.of(new double[1]), ReduceOp.SUM);
                assertThrows(UsageException.class, () -> together.allGatherObject("now"));
                assertThrows(UsageException.class, together::barrierAsync);
                assertThrows(UsageException.class,
                             () -> together.send(Tensor.of(new double[1]), 0, 0));
            });
            assertThrows(UsageException.class, () -> kept[0].barrier());
            group.coalesceAsync(together -> {
                assertThrows(UsageException.class,
                             () -> together.allReduce(Tensor.of(new double[1]), ReduceOp.SUM));
                together.barrier();
            }).await();
            assertThrows(IllegalStateException.class, () -> group.coalesce(together -> {
                together.barrier();
                throw new IllegalStateException("the rest of the program");
            }));
            group.barrier();
        });
    }

    @Test
    void every_dtype_goes_through() {
        Ranks.run(2, group -> {
            Tensor[] tensors = {
                Tensor.of(new byte[] {1}), Tensor.of(new byte[] {1}).as(DType.UINT8),
                Tensor.of(new short[] {1}), Tensor.of(new short[] {1}).as(DType.UINT16),
                Tensor.of(new int[] {1}), Tensor.of(new int[] {1}).as(DType.UINT32),
                Tensor.of(new long[] {1}), Tensor.of(new long[] {1}).as(DType.UINT64)};
            for (Tensor tensor : tensors) {
                group.allReduce(tensor, ReduceOp.SUM);
                assertEquals(2L, ((Number) java.lang.reflect.Array.get(tensor.memory, 0))
                        .longValue(), tensor.dtype().toString());
            }
            short[] half = {0x3c00}; // 1.0
            group.allReduce(Tensor.of(half).as(DType.FLOAT16), ReduceOp.SUM);
            assertEquals(0x4000, half[0]);
            short[] brain = {0x3f80}; // 1.0
            group.allReduce(Tensor.of(brain).as(DType.BFLOAT16), ReduceOp.SUM);
            assertEquals(0x4000, brain[0]);
            float[] complex = {1, 2};
            group.allReduce(Tensor.of(complex).as(DType.COMPLEX64), ReduceOp.SUM);
            assertArrayEquals(new float[] {2, 4}, complex);
            double[] complex128 = {1, 2};
            group.allReduce(Tensor.of(complex128).as(DType.COMPLEX128), ReduceOp.SUM);
            assertArrayEquals(new double[] {2, 4}, complex128);
            boolean[] flags = {group.rank() == 1, false};
            group.allReduce(Tensor.of(flags), ReduceOp.BOR);
            assertArrayEquals(new boolean[] {true, false}, flags);
        });
    }
}
