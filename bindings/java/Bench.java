import java.util.Arrays;
import tutti.DType;
import tutti.Group;
import tutti.ReduceOp;
import tutti.Tensor;
import tutti.Tutti;
import tutti.raw.Raw;
import tutti.raw.RawConstants;

/** The price of Java's calls: nanoseconds of a raw call of tutti_get_rank, microseconds of
 *  all_reduce of 8 bytes and of 1 MiB of float64 in direct memory. Rank 0 prints them in one line.
 *  Needs the raw layer, which the module does not export, so it runs from the class path. */
public final class Bench {
    private static final int CALLS = 2_000_000;

    private Bench() {}

    private static double rankNanoseconds() {
        long group = RawConstants.GROUP_WORLD;
        double best = Double.MAX_VALUE;
        long ranks = 0;
        for (int round = 0; round < 5; round++) {
            long begin = System.nanoTime();
            for (int i = 0; i < CALLS; i++) ranks += Raw.tutti_get_rank(group);
            best = Math.min(best, (System.nanoTime() - begin) / (double) CALLS);
        }
        if (ranks != 5L * CALLS * Tutti.world().rank()) throw new IllegalStateException("rank");
        return best;
    }

    /** The median of many calls. */
    private static double allReduceMicroseconds(Group world, int elements, int calls) {
        Tensor tensor = Tensor.allocate(DType.FLOAT64, elements);
        double[] times = new double[calls];
        for (int i = 0; i < calls + calls / 4; i++) {
            world.barrier();
            long begin = System.nanoTime();
            world.allReduce(tensor, ReduceOp.SUM);
            times[i % calls] = (System.nanoTime() - begin) / 1e3; // the first ones warm up
        }
        Arrays.sort(times);
        return times[calls / 2];
    }

    public static void main(String[] arguments) {
        try (Group world = Tutti.initProcessGroup()) {
            double rank = rankNanoseconds();
            double small = allReduceMicroseconds(world, 1, 20_000);
            double large = allReduceMicroseconds(world, 1 << 17, 400);
            if (world.rank() == 0) {
                System.out.printf(java.util.Locale.ROOT, "java,%.1f,%.2f,%.1f%n", rank, small,
                                  large);
            }
        }
    }
}
