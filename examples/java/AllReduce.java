import tutti.Group;
import tutti.ReduceOp;
import tutti.Tensor;
import tutti.Tutti;

/** The smallest program: every rank gives a number, every rank gets the sum.
 *
 *  <pre>tuttirun --nproc-per-node 4 java -cp tutti.jar:examples.jar AllReduce</pre> */
public final class AllReduce {
    private AllReduce() {}

    public static void main(String[] arguments) {
        try (Group world = Tutti.initProcessGroup()) {
            double[] sum = {world.rank() + 1};
            world.allReduce(Tensor.of(sum), ReduceOp.SUM);
            System.out.printf("rank %d of %d: sum = %.0f%n", world.rank(), world.size(), sum[0]);
        }
    }
}
