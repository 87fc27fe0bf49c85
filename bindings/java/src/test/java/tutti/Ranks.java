package tutti;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Runs the ranks of a group as threads of this process. */
final class Ranks {
    interface Body {
        void run(Group group) throws Exception;
    }

    private Ranks() {}

    /** Each rank runs the body with its group, which is closed afterwards; the first failure of any
     *  is thrown. */
    static void run(int count, Body body) {
        run(count, new GroupOptions().timeout(Duration.ofSeconds(60)), body);
    }

    static void run(int count, GroupOptions options, Body body) {
        runToTheEnd(count, options, group -> {
            body.run(group);
            group.barrier();
        });
    }

    /** The body ends the group itself, or leaves it in any state. */
    static void runToTheEnd(int count, Body body) {
        runToTheEnd(count, new GroupOptions().timeout(Duration.ofSeconds(60)), body);
    }

    private static void runToTheEnd(int count, GroupOptions options, Body body) {
        List<Throwable> failures = new ArrayList<>();
        try (HashStore store = new HashStore()) {
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                int rank = i;
                threads.add(new Thread(() -> {
                    try (Group group = Group.create("loopback", store, rank, count, options)) {
                        body.run(group);
                    } catch (Throwable failure) {
                        synchronized (failures) {
                            failures.add(failure);
                        }
                    }
                }, "rank " + rank));
            }
            threads.forEach(Thread::start);
            for (Thread thread : threads) thread.join();
        } catch (InterruptedException interrupted) {
            throw new AssertionError(interrupted);
        }
        if (!failures.isEmpty()) throw new AssertionError(failures.get(0));
    }

    /** A direct tensor of doubles. */
    static Tensor doubles(double... values) {
        Tensor tensor = Tensor.allocate(DType.FLOAT64, values.length);
        tensor.buffer().asDoubleBuffer().put(values);
        return tensor;
    }

    /** The elements of a direct tensor of doubles. */
    static double[] read(Tensor tensor) {
        double[] values = new double[(int) tensor.count()];
        tensor.buffer().asDoubleBuffer().get(values);
        return values;
    }
}
