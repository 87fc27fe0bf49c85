package tutti;

import static org.junit.jupiter.api.Assertions.*;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import tutti.raw.RawConstants;

/** Memory and streams of devices. Java has no means of its own to bring data to a device and back:
 *  messages of a rank to itself do. */
class DeviceTest {
    private static final long THERE = 0x7000_0000L;
    /** CU_STREAM_LEGACY, the name of a device's default stream. */
    private static final long DEFAULT_STREAM = 1;

    private static void needNoDevice() {
        Assumptions.assumeTrue(System.getenv("TUTTI_CUDA_LIBRARY") == null,
                               "there may be devices");
    }

    private static Tensor nowhere(long count) {
        return Tensor.onDevice(THERE, count, DType.FLOAT32, Device.cuda(1));
    }

    private static void refused(String name, Executable call) {
        UsageException refused = assertThrows(UsageException.class, call);
        assertEquals(Status.UNSUPPORTED, refused.status());
        String message = refused.getMessage();
        assertTrue(message.contains(name) && message.contains("cuda"), message);
    }

    /** Sends a rank's tensor to another of its tensors; one of them may be on a device. */
    private static void move(Group group, Tensor result, Tensor data) {
        Work<Void> sent = group.isend(data, group.rank(), 7);
        group.irecv(result, group.rank(), 7).await();
        sent.await();
    }

    @Test
    void a_tensor_says_where_it_is() {
        Tensor tensor = nowhere(10);
        assertEquals("FLOAT32[10] on cuda:1", tensor.toString());
        assertEquals(Device.cuda(1), tensor.slice(2, 3).as(DType.INT32).device());
        assertEquals(DeviceType.CPU, Tensor.of(new int[1]).device().type());
        assertTrue(tensor.isDirect());
        assertEquals(THERE + 8, tensor.slice(2, 3).address());
        assertThrows(UsageException.class, () -> Tensor.of(new int[1]).address());
        assertThrows(UsageException.class,
                     () -> Tensor.onDevice(THERE, -1, DType.INT8, Device.cuda(0)));
        refused("tensor", tensor::buffer);
        refused("tensor", () -> ReduceOp.premulSum(nowhere(1)));
    }

    @Test
    void a_buffer_says_which_device_it_is_on() {
        try (Arena arena = Arena.open()) {
            Tensor tensor = nowhere(10).slice(4, 6);
            long struct = Call.struct(arena, tensor, tensor.begin);
            assertEquals(THERE + 16, arena.getLong(struct + RawConstants.tutti_buffer_data));
            assertEquals(6, arena.getLong(struct + RawConstants.tutti_buffer_count));
            int[] device = arena.getInts(struct + RawConstants.tutti_buffer_device_type, 2);
            assertArrayEquals(new int[] {RawConstants.TUTTI_CUDA, 1}, device);
        }
    }

    /** A list of two, on two devices, in all calls that take one on each. */
    @SuppressWarnings("deprecation")
    private static void severalAreRefused(Group group) {
        List<Tensor> two = List.of(Tensor.onDevice(THERE, 2, DType.FLOAT32, Device.cuda(0)),
                                   nowhere(2));
        List<Tensor> one = two.subList(0, 1);
        refused("buffers[0]", () -> group.broadcastMultigpu(two, 0, 0));
        refused("buffers[0]", () -> group.allReduceMultigpu(two, ReduceOp.SUM));
        refused("buffers[0]", () -> group.reduceMultigpu(two, ReduceOp.SUM, 0, 0));
        refused("puts[0]", () -> group.allGatherMultigpu(one, two));
        refused("puts[0]", () -> group.reduceScatterMultigpu(two, one, ReduceOp.SUM));
    }

    @Test
    void without_a_device_every_call_refuses_it() {
        needNoDevice();
        Ranks.run(2, group -> {
            Tensor data = nowhere(2);
            Tensor one = data.slice(0, 1);
            List<Tensor> list = List.of(one, data.slice(1, 1));
            ReduceOp sum = ReduceOp.SUM;
            long[] splits = {1, 1};
            refused("tensor", () -> group.broadcast(data, 0));
            refused(": tensor.", () -> group.allReduce(data, sum));
            refused("put", () -> group.allReduce(data, data, sum));
            refused("put", () -> group.allReduceAddends(list, one, sum));
            refused("put", () -> group.reduce(data, null, sum, 1 - group.rank()));
            refused("outputs[0]", () -> group.allGather(null, list));
            refused("put", () -> group.allGatherIntoTensor(one, data));
            refused("put", () -> group.gather(one, list, 0));
            refused("put", () -> group.scatter(list, one, 0));
            refused("put", () -> group.reduceScatter(list, one, sum));
            refused("put", () -> group.reduceScatterTensor(data, one, sum));
            refused("put", () -> group.allToAll(list, list));
            refused("output", () -> group.allToAllSingle(null, data));
            refused("put", () -> group.allToAllSingle(data, data, splits, splits));
            severalAreRefused(group);
            refused("tensor", () -> group.send(data, 0, 0));
            refused("tensor", () -> group.recv(data, 0, 0));
            refused(": tensor.", () -> group.allReduceAsync(data, sum));
            refused("tensor", () -> group.irecv(data, 0, 0));
            refused("ops[0]", () -> group.batch(List.of(P2POp.isend(data, 0, 0))));
            refused("ops[0]", () -> group.batchISendIRecv(List.of(P2POp.irecv(data, 0, 0))));
            refused("options", () -> group.coalesce(Device.cuda(0), together -> { }));
            refused("options", () -> group.coalesceAsync(Device.cuda(0), together -> { }));
            refused(": tensor.", () -> group.coalesce(together -> together.allReduce(data, sum)));
            refused("options", () -> group.alloc(Device.cuda(0), 8));
            refused("options", () -> group.newGroup(
                null, null, null, new NewGroupOptions().device(Device.cuda(1))));
            refused("options", () -> Mesh.init(group, DeviceType.CPU, new int[] {2}, null,
                                               new GroupOptions().device(Device.cuda(1))));
            assertEquals(Device.CPU, group.boundDevice());
            refused("parameters[0]", () -> Reducer.create(group, List.of(new Parameter("p", one)),
                                                          null));
            Parameter onCpu = new Parameter("p", Tensor.of(new float[1]));
            try (Reducer reducer = Reducer.create(group, List.of(onCpu), null)) {
                refused("buffers[0]", () -> reducer.syncBuffers(list, 0));
                reducer.begin(true);
                refused("gradient", () -> reducer.markReady(0, one));
                group.barrier();
            }
        });
    }

    @Test
    void a_stream_is_refused_with_memory_of_the_cpu() {
        Ranks.run(2, group -> {
            Group onStream = group.withStream(0x5000);
            UsageException refused = assertThrows(
                UsageException.class, () -> onStream.allReduce(Ranks.doubles(1), ReduceOp.SUM));
            assertTrue(refused.getMessage().contains(": stream is"), refused.getMessage());
            assertThrows(UsageException.class,
                         () -> onStream.allReduceAsync(Ranks.doubles(1), ReduceOp.SUM));
            List<Parameter> onCpu = List.of(new Parameter("p", Ranks.doubles(1)));
            refused = assertThrows(UsageException.class, () -> Reducer.create(
                group, onCpu, new ReducerOptions().stream(0x5000)));
            assertTrue(refused.getMessage().contains("stream is given"), refused.getMessage());
            onStream.withStream(0).allReduce(Ranks.doubles(1), ReduceOp.SUM);
            Work<Void> work = group.allReduceAsync(Ranks.doubles(1), ReduceOp.SUM);
            work.synchronize(0);
            assertTrue(work.isCompleted());
            if (System.getenv("TUTTI_CUDA_LIBRARY") == null) {
                assertThrows(UsageException.class, () -> work.synchronize(0x5000));
            }
            work.close();
            assertThrows(UsageException.class, () -> work.synchronize(0));
        });
    }

    @Test
    void calls_succeed_where_there_is_a_device() {
        Assumptions.assumeTrue(System.getenv("TUTTI_CUDA_LIBRARY") != null);
        Ranks.run(2, group -> {
            DeviceMemory memory = group.alloc(Device.cuda(0), 4000);
            Tensor data = memory.tensor(DType.FLOAT32);
            assertEquals(1000, data.count());
            Tensor three = memory.tensor(DType.FLOAT64).slice(0, 3);
            Tensor values = Ranks.doubles(1, 2, group.rank());
            move(group, three, values);
            group.allReduce(three, ReduceOp.SUM);
            group.broadcastAsync(data.slice(0, 10), 1).await();
            move(group, values, three);
            assertArrayEquals(new double[] {2, 4, 1}, Ranks.read(values));
            group.barrier();
            Group bound = group.newGroup(null, null, null,
                                         new NewGroupOptions().device(Device.cuda(0)));
            assertEquals(Device.cuda(0), bound.boundDevice());
            bound.allReduce(data, ReduceOp.SUM);
            Mesh mesh = Mesh.init(group, DeviceType.CUDA, new int[] {2}, null,
                                  new GroupOptions().device(Device.cuda(0)));
            assertEquals(Device.cuda(0), mesh.getGroup(0).boundDevice());
            memory.close();
            memory.close();
            assertThrows(UsageException.class, () -> group.allReduce(data, ReduceOp.SUM));
        });
    }

    private static void says(String words, Executable call) {
        UsageException refused = assertThrows(UsageException.class, call);
        assertEquals(Status.INVALID_ARGUMENT, refused.status());
        assertTrue(refused.getMessage().contains(words), refused.getMessage());
    }

    @Test
    @SuppressWarnings("deprecation")
    void lists_of_several_devices_are_refused_with_memory_of_the_cpu_and_in_wrong_numbers() {
        Ranks.run(2, group -> {
            ReduceOp sum = ReduceOp.SUM;
            Tensor cpu = Ranks.doubles(1, 2);
            List<Tensor> one = List.of(cpu);
            List<Tensor> two = List.of(cpu, cpu);
            List<Tensor> three = List.of(cpu, cpu, cpu);
            says("buffers[0] is on the CPU", () -> group.broadcastMultigpu(one, 0, 0));
            says("buffers[0] is on the CPU", () -> group.allReduceMultigpu(one, sum));
            says("buffers[0] is on the CPU", () -> group.reduceMultigpu(one, sum, 0, 0));
            says("inputs[0] is on the CPU", () -> group.allGatherMultigpu(one, two));
            says("outputs[0] is on the CPU", () -> group.reduceScatterMultigpu(two, one, sum));
            says("buffers[0] is on the CPU", () -> group.allReduceMultigpuAsync(one, sum));
            says("buffers[0] is on the CPU",
                 () -> group.allReduceMultigpu(List.of(Tensor.of(new int[1])), sum));
            says("buffers is empty", () -> group.allReduceMultigpu(List.of(), sum));
            says("buffers is empty", () -> group.allReduceMultigpu(null, sum));
            says("op: null", () -> group.allReduceMultigpu(one, null));
            says("buffers[1].count is 1, not 2",
                 () -> group.allReduceMultigpu(List.of(cpu, cpu.slice(0, 1)), sum));
            says("groupSrc is 2", () -> group.broadcastMultigpu(one, 2, 0));
            says("srcTensor is 1, but each rank has 1", () -> group.broadcastMultigpu(one, 0, 1));
            says("groupDst is -1", () -> group.reduceMultigpu(one, sum, -1, 0));
            says("dstTensor is 2", () -> group.reduceMultigpu(two, sum, 0, 2));
            says("outputCount is 3, but must be 2: 1 * 1 GPUs * world size 2",
                 () -> group.allGatherMultigpu(one, three));
            says("inputCount is 3, but", () -> group.reduceScatterMultigpu(three, one, sum));
            says("outputCount is 2, but must be 8: 2 * 2 GPUs * world size 2",
                 () -> group.allGatherMultigpuAsync(two, two));
            says("stream must be null", () -> group.withStream(1).allReduceMultigpu(one, sum));
            group.coalesce(together -> {
                UsageException refused = assertThrows(UsageException.class,
                                                      () -> together.allReduceMultigpu(one, sum));
                assertEquals(Status.INVALID_HANDLE, refused.status());
            });
            group.barrier(); // the group goes on
        });
    }

    /** Whether a group can have memory of a second device. */
    private static boolean hasTwo(Group group) {
        try {
            group.alloc(Device.cuda(1), 8).close();
            return true;
        } catch (UsageException refused) {
            return false;
        }
    }

    /** A tensor of two doubles on each device, which begins at an element of its memory. */
    private static List<Tensor> each(List<DeviceMemory> memory, int begin) {
        return memory.stream().map(one -> one.tensor(DType.FLOAT64).slice(begin, 2)).toList();
    }

    private static void give(Group group, Tensor tensor, double value) {
        move(group, tensor, Ranks.doubles(value, -value));
    }

    private static void expect(double value, Group group, Tensor tensor) {
        assertArrayEquals(new double[] {value, -value}, read(group, tensor));
    }

    /** The place of a tensor of this rank among all four. */
    private static int place(Group group, int which) {
        return 2 * group.rank() + which;
    }

    /** The tensors at the begin of the memory; those of all ranks begin with 1, 2, 3 and 4. */
    private static List<Tensor> filled(Group group, List<DeviceMemory> memory) {
        List<Tensor> buffers = each(memory, 0);
        for (int i = 0; i < 2; i++) give(group, buffers.get(i), place(group, i) + 1);
        return buffers;
    }

    @SuppressWarnings("deprecation")
    private static void reduced(Group group, List<DeviceMemory> memory) {
        List<Tensor> buffers = filled(group, memory);
        group.allReduceMultigpu(buffers, ReduceOp.SUM);
        for (Tensor one : buffers) expect(10, group, one);
        filled(group, memory);
        group.allReduceMultigpuAsync(buffers, ReduceOp.AVG).await();
        for (Tensor one : buffers) expect(2.5, group, one);
    }

    @SuppressWarnings("deprecation")
    private static void oneIsChosen(Group group, List<DeviceMemory> memory, int chosen) {
        int rank = chosen / 2;
        int which = chosen % 2;
        boolean async = chosen == 0;
        List<Tensor> buffers = filled(group, memory);
        if (async) group.broadcastMultigpuAsync(buffers, rank, which).await();
        else group.broadcastMultigpu(buffers, rank, which);
        for (Tensor one : buffers) expect(chosen + 1, group, one);
        filled(group, memory);
        if (async) group.reduceMultigpuAsync(buffers, ReduceOp.SUM, rank, which).await();
        else group.reduceMultigpu(buffers, ReduceOp.SUM, rank, which);
        for (int i = 0; i < 2; i++) {
            int mine = place(group, i);
            expect(mine == chosen ? 10 : mine + 1, group, buffers.get(i));
        }
    }

    /** Lists have first the four on the first device, then those on the second. */
    @SuppressWarnings("deprecation")
    private static void gathered(Group group, List<DeviceMemory> memory, boolean async) {
        List<Tensor> own = filled(group, memory);
        List<Tensor> lists = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            for (int j = 0; j < 4; j++) lists.add(each(memory, 2 + 2 * j).get(i));
        }
        if (async) group.allGatherMultigpuAsync(own, lists).await();
        else group.allGatherMultigpu(own, lists);
        for (int i = 0; i < 8; i++) {
            expect(i % 4 + 1, group, lists.get(i));
            give(group, lists.get(i), 100 * (i % 4) + place(group, i / 4));
        }
        if (async) group.reduceScatterMultigpuAsync(lists, own, ReduceOp.SUM).await();
        else group.reduceScatterMultigpu(lists, own, ReduceOp.SUM);
        for (int i = 0; i < 2; i++) expect(400 * place(group, i) + 6, group, own.get(i));
    }

    @Test
    @SuppressWarnings("deprecation")
    void calls_take_a_tensor_on_each_device_of_a_rank() {
        Assumptions.assumeTrue(System.getenv("TUTTI_CUDA_LIBRARY") != null);
        boolean[] there = new boolean[1];
        Ranks.run(1, group -> there[0] = hasTwo(group));
        Assumptions.assumeTrue(there[0], "there is one device");
        Ranks.run(2, group -> {
            List<DeviceMemory> memory = List.of(group.alloc(Device.cuda(0), 800),
                                                group.alloc(Device.cuda(1), 800));
            reduced(group, memory);
            for (int chosen = 0; chosen < 4; chosen++) oneIsChosen(group, memory, chosen);
            gathered(group, memory, false);
            gathered(group, memory, true);
            List<Tensor> two = each(memory, 0);
            Tensor first = two.get(0);
            says("all must have the same",
                 () -> group.allReduceMultigpu(List.of(two.get(1), first), ReduceOp.SUM));
            says("buffers[1] is on cuda:0, as is buffers[0]",
                 () -> group.allReduceMultigpu(List.of(first, first), ReduceOp.SUM));
            group.barrier();
            for (DeviceMemory one : memory) one.close();
        });
    }

    /** The elements of a tensor of doubles on a device. */
    private static double[] read(Group group, Tensor tensor) {
        Tensor values = Tensor.allocate(DType.FLOAT64, (int) tensor.count());
        move(group, values, tensor);
        return Ranks.read(values);
    }

    /** A pass in which the gradients of this rank are its number and, of the program's own, ten
     *  times that. */
    private static void pass(Group group, Reducer reducer, Tensor own) {
        double number = group.rank() + 1;
        reducer.begin(true);
        move(group, reducer.gradient(0), Ranks.doubles(number, number, number));
        reducer.markReady(0);
        move(group, own, Ranks.doubles(10 * number, 10 * number));
        reducer.markReady(1, own);
        reducer.markReady(2);
    }

    private static void gradientsBecomeMeans(Group group, long stream) {
        DeviceMemory memory = group.alloc(Device.cuda(0), 7 * 8);
        Tensor all = memory.tensor(DType.FLOAT64);
        Tensor weights = all.slice(0, 3);
        Tensor own = all.slice(5, 2);
        move(group, weights, Ranks.doubles(7, 8, 9 + group.rank()));
        List<Parameter> parameters = List.of(new Parameter("weights", weights),
                                             new Parameter("bias", all.slice(3, 2)),
                                             new Parameter("nothing", all.slice(5, 0)));
        ReducerOptions options = new ReducerOptions().bucketCapBytes(8).stream(stream);
        Tensor kept;
        try (Reducer reducer = Reducer.create(group, parameters, options)) {
            assertArrayEquals(new double[] {7, 8, 9}, read(group, weights)); // of rank 0
            for (int i = 0; i < 2; i++) {
                pass(group, reducer, own);
                reducer.finish();
                assertArrayEquals(new double[] {1.5, 1.5, 1.5},
                                  read(group, reducer.gradient(0)));
                assertArrayEquals(new double[] {15, 15}, read(group, own));
            }
            assertEquals(Device.cuda(0), reducer.gradient(2).device());
            assertThrows(UsageException.class, () -> reducer.gradient(0).buffer());
            reducer.setHook((its, bucket) -> {
                assertNotEquals(0, bucket.stream());
                its.withStream(bucket.stream()).allReduce(bucket.gradients(), ReduceOp.MAX);
            });
            pass(group, reducer, own);
            reducer.finish();
            assertArrayEquals(new double[] {20, 20}, read(group, own));
            reducer.setHook(null);
            pass(group, reducer, own);
            try (Work<Void> work = reducer.finishAsync()) {
                for (Bucket bucket; (bucket = reducer.nextBucket()) != null;) {
                    assertEquals(Device.cuda(0), bucket.gradients().device());
                    if (bucket.parameters()[0] != 0) continue;
                    assertEquals(1.5, read(group, bucket.gradient(0))[2]);
                }
                work.synchronize(stream);
                work.await();
            }
            move(group, own, Ranks.doubles(group.rank(), 3));
            Tensor count = Ranks.doubles(group.rank());
            reducer.syncBuffers(List.of(own, count), 1);
            assertArrayEquals(new double[] {1, 3}, read(group, own));
            assertArrayEquals(new double[] {1}, Ranks.read(count));
            kept = reducer.gradient(0);
        }
        assertEquals(1.5, read(group, kept)[0]); // its memory is still there
        memory.close();
    }

    @Test
    void gradients_on_a_device_become_means() {
        Assumptions.assumeTrue(System.getenv("TUTTI_CUDA_LIBRARY") != null);
        for (long stream : new long[] {0, DEFAULT_STREAM}) {
            Ranks.run(2, group -> gradientsBecomeMeans(group, stream));
        }
    }
}
