import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import tutti.DType;
import tutti.Group;
import tutti.NdArray;
import tutti.PrefixStore;
import tutti.ReduceOp;
import tutti.TCPStore;
import tutti.Tensor;
import tutti.Tutti;
import tutti.Work;

/** A rank in Java of a group whose other ranks may be in any language: it does what they do, and
 *  checks what it gets. Started by tuttirun. */
public final class World {
    private static final int ELEMENTS = 1000;
    private static final BigInteger LARGEST = new BigInteger("18446744073709551615");

    private World() {}

    private static void check(boolean holds, String what) {
        if (!holds) throw new IllegalStateException(what);
    }

    private static void sum(Group world) {
        int rank = world.rank();
        int size = world.size();
        double[] values = new double[ELEMENTS];
        for (int i = 0; i < ELEMENTS; i++) values[i] = (i + 1.0) * (rank + 1);
        world.allReduce(Tensor.of(values), ReduceOp.SUM);
        double ranks = size * (size + 1.0) / 2;
        for (int i = 0; i < ELEMENTS; i++) {
            check(values[i] == (i + 1) * ranks, "all_reduce: element " + i + " is " + values[i]);
        }
    }

    private static int[] grid(int rank) {
        int[] grid = new int[6];
        for (int i = 0; i < grid.length; i++) grid[i] = i + rank;
        return grid;
    }

    private static void objects(Group world) {
        Map<String, Object> mine = new LinkedHashMap<>();
        mine.put("language", "java");
        mine.put("rank", world.rank());
        mine.put("values", Arrays.asList(1, 2.5, true, null, "text ü"));
        mine.put("bytes", new byte[] {0, 1, (byte) 0xff});
        mine.put("array", new NdArray(Tensor.of(grid(world.rank())), 2, 3));
        List<Object> all = world.allGatherObject(mine);
        check(all.size() == world.size(), "all_gather_object: " + all.size() + " objects");
        for (int rank = 0; rank < all.size(); rank++) checkMember((Map<?, ?>) all.get(rank), rank);
    }

    private static void checkMember(Map<?, ?> member, int rank) {
        String from = "all_gather_object: rank " + rank + ": ";
        check(member.size() == 5, from + member);
        check(member.get("language") instanceof String, from + "language");
        check(Long.valueOf(rank).equals(member.get("rank")), from + "rank");
        check(Arrays.asList(1L, 2.5, true, null, "text ü").equals(member.get("values")),
              from + "values " + member.get("values"));
        check(Arrays.equals(new byte[] {0, 1, (byte) 0xff}, (byte[]) member.get("bytes")),
              from + "bytes");
        NdArray array = (NdArray) member.get("array");
        check(array.dtype() == DType.INT32 && Arrays.equals(new long[] {2, 3}, array.shape())
              && Arrays.equals(grid(rank), (int[]) array.toArray()), from + "array " + array);
    }

    private static void broadcast(Group world) {
        Map<Object, Object> map = new LinkedHashMap<>();
        map.put(1L, -1L);
        map.put(2L, LARGEST);
        List<Object> wanted = new ArrayList<>(Arrays.asList("hello", map, null));
        List<Object> got = world.broadcastObjectList(world.rank() == 0 ? wanted : null, 3, 0);
        check(wanted.equals(got), "broadcast_object_list: " + got);
    }

    private static void maximum(Group world) {
        Tensor rank = Tensor.allocate(DType.INT64, 1);
        rank.buffer().putLong(0, world.rank());
        try (Work<Void> work = world.allReduceAsync(rank, ReduceOp.MAX)) {
            work.await();
        }
        long got = rank.buffer().getLong(0);
        check(got == world.size() - 1, "all_reduce MAX: " + got);
    }

    private static float[] message(int rank) {
        return new float[] {rank, rank + 0.5f, rank + 0.25f};
    }

    private static void ring(Group world) {
        int size = world.size();
        int before = (world.rank() + size - 1) % size;
        Tensor out = Tensor.allocate(DType.FLOAT32, 3);
        Tensor in = Tensor.allocate(DType.FLOAT32, 3);
        out.buffer().asFloatBuffer().put(message(world.rank()));
        try (Work<Void> sent = world.isend(out, (world.rank() + 1) % size, 0);
             Work<Integer> received = world.irecv(in, before, 0)) {
            check(received.await() == before, "recv: the sender's rank");
            sent.await();
        }
        float[] got = new float[3];
        in.buffer().asFloatBuffer().get(got);
        check(Arrays.equals(message(before), got), "recv: " + Arrays.toString(got));
    }

    /** Makes a world of the same processes in the opposite order. */
    private static void reconfigure(Group world) {
        int wanted = world.size() - 1 - world.rank();
        List<String> handles = new ArrayList<>();
        byte[] mine = Tutti.reconfigureHandle().getBytes(StandardCharsets.UTF_8);
        for (byte[] one : world.allGatherBytes(mine)) {
            handles.add(0, new String(one, StandardCharsets.UTF_8));
        }
        Group.reconfigure(world, 1, handles, null, null);
        check(world.rank() == wanted, "the rank in the opposite order: " + world.rank());
    }

    /** As the launcher says; or, with WORLD_PREFIX in the environment, at that prefix of the store,
     *  where ranks of PyTorch's meet. */
    private static Group meet(String prefix) {
        if (prefix == null) return Tutti.initProcessGroup();
        int rank = Integer.parseInt(System.getenv("RANK"));
        int size = Integer.parseInt(System.getenv("WORLD_SIZE"));
        int port = Integer.parseInt(System.getenv("MASTER_PORT"));
        try (TCPStore whole = new TCPStore(System.getenv("MASTER_ADDR"), port, size, false, null);
             PrefixStore part = new PrefixStore(prefix, whole)) {
            return Tutti.initProcessGroupWithStore(null, part, rank, size, null);
        }
    }

    public static void main(String[] arguments) {
        String prefix = System.getenv("WORLD_PREFIX");
        try (Group world = meet(prefix)) {
            sum(world);
            objects(world);
            broadcast(world);
            maximum(world);
            ring(world);
            if (prefix == null) reconfigure(world);
            sum(world);
            world.barrier();
            System.out.println("java rank " + world.rank() + " of " + world.size() + ": ok");
        } catch (RuntimeException failure) {
            System.err.println("java: " + failure);
            System.exit(1);
        }
    }
}
