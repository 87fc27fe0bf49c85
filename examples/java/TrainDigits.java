import java.io.IOException;
import java.nio.DoubleBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import tutti.Group;
import tutti.Parameter;
import tutti.ReduceOp;
import tutti.Reducer;
import tutti.ReducerOptions;
import tutti.Tensor;
import tutti.Tutti;

/** Data-parallel training: the ranks share the images of every batch, and a reducer adds up their
 *  gradients, those of the last layer while the first one's are computed. All ranks then take the
 *  same step, so their weights stay the same without being sent.
 *
 *  <pre>tuttirun --nproc-per-node 4 java -cp tutti.jar:examples.jar TrainDigits FILE</pre> */
public final class TrainDigits {
    private static final int PIXELS = 64;
    private static final int HIDDEN = 64;
    private static final int CLASSES = 10;
    private static final int EPOCHS = 20;
    private static final int BATCH = 64;
    private static final double LEARNING_RATE = 0.1;
    private static final double MOMENTUM = 0.9;
    private static final long SEED = 1998;

    /** An image, its pixels from 0 to 1, and the digit that it shows. */
    private record Digit(double[] pixels, int label) {}

    /** The values of an image that the backward pass needs. */
    private record Activations(double[] hidden, double[] scoreGradient, double loss) {}

    /** Weights and bias of each unit of both layers, row after row, the bias last. */
    private final double[][] weights = zeros();
    private final double[][] velocity = zeros();
    private final Group world;
    private final Reducer reducer;

    /** All ranks begin with the weights of rank 0. */
    private TrainDigits(Group world) {
        this.world = world;
        if (world.rank() == 0) {
            Random random = new Random();
            for (double[] layer : weights) {
                for (int i = 0; i < layer.length; i++) {
                    double uniform = (random.next() >>> 11) * 0x1p-53;
                    layer[i] = (2 * uniform - 1) / 8; // 8: the square root of a unit's inputs
                }
            }
        }
        reducer = Reducer.create(
                world,
                List.of(new Parameter("first layer", Tensor.of(weights[0])),
                        new Parameter("second layer", Tensor.of(weights[1]))),
                new ReducerOptions().sum(true) // the ranks' parts of a batch differ in size
                        .firstBucketCapBytes(8L * weights[1].length));
    }

    private static double[][] zeros() {
        return new double[][] {new double[HIDDEN * (PIXELS + 1)],
                               new double[CLASSES * (HIDDEN + 1)]};
    }

    /** A generator of random numbers, the same on every machine: splitmix64, by Sebastiano Vigna. */
    private static final class Random {
        private long state = SEED;

        long next() {
            state += 0x9e3779b97f4a7c15L;
            long z = (state ^ (state >>> 30)) * 0xbf58476d1ce4e5b9L;
            z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
            return z ^ (z >>> 31);
        }

        <T> void shuffle(List<T> list) {
            for (int i = list.size(); i > 1; i--) {
                list.set(i - 1, list.set((int) Long.remainderUnsigned(next(), i), list.get(i - 1)));
            }
        }
    }

    /** outputs[j] = bias[j] + sum of layer[j][i] * inputs[i]. */
    private static double[] apply(double[] layer, double[] inputs) {
        int width = inputs.length + 1;
        double[] outputs = new double[layer.length / width];
        for (int j = 0; j < outputs.length; j++) {
            outputs[j] = layer[j * width + inputs.length];
            for (int i = 0; i < inputs.length; i++) outputs[j] += layer[j * width + i] * inputs[i];
        }
        return outputs;
    }

    /** Adds to a layer's gradient what the derivatives by its outputs give. */
    private static void add(double[] gradient, double[] inputs, double[] byOutputs) {
        int width = inputs.length + 1;
        for (int j = 0; j < byOutputs.length; j++) {
            for (int i = 0; i < inputs.length; i++) {
                gradient[j * width + i] += byOutputs[j] * inputs[i];
            }
            gradient[j * width + inputs.length] += byOutputs[j];
        }
    }

    private static int highest(double[] scores) {
        int best = 0;
        for (int k = 1; k < scores.length; k++) if (scores[k] > scores[best]) best = k;
        return best;
    }

    private double[] hidden(Digit image) {
        double[] hidden = apply(weights[0], image.pixels);
        for (int j = 0; j < HIDDEN; j++) hidden[j] = Math.tanh(hidden[j]);
        return hidden;
    }

    private Activations forward(Digit image) {
        double[] hidden = hidden(image);
        double[] scores = apply(weights[1], hidden);
        double top = scores[highest(scores)]; // subtracted, so that exp does not overflow
        double total = 0;
        for (double score : scores) total += Math.exp(score - top);
        double loss = Math.log(total) + top - scores[image.label];
        for (int k = 0; k < CLASSES; k++) scores[k] = Math.exp(scores[k] - top) / total;
        scores[image.label] -= 1;
        return new Activations(hidden, scores, loss);
    }

    private double[] gradientByHidden(Activations of) {
        double[] byHidden = new double[HIDDEN];
        for (int j = 0; j < HIDDEN; j++) {
            for (int k = 0; k < CLASSES; k++) {
                byHidden[j] += of.scoreGradient[k] * weights[1][k * (HIDDEN + 1) + j];
            }
            byHidden[j] *= 1 - of.hidden[j] * of.hidden[j];
        }
        return byHidden;
    }

    /** The gradients of this rank's images, layer by layer. */
    private void backward(List<Digit> images, List<Activations> activations) {
        reducer.backward(true, () -> {
            for (int layer = 1; layer >= 0; layer--) {
                double[] sums = new double[weights[layer].length];
                for (int i = 0; i < images.size(); i++) {
                    Activations of = activations.get(i);
                    if (layer == 1) add(sums, of.hidden, of.scoreGradient);
                    if (layer == 0) add(sums, images.get(i).pixels, gradientByHidden(of));
                }
                reducer.gradient(layer).buffer().asDoubleBuffer().put(sums);
                reducer.markReady(layer);
            }
        });
    }

    /** This rank's part of a list. */
    private <T> List<T> share(List<T> all) {
        int rank = world.rank();
        int size = world.size();
        return all.subList(all.size() * rank / size, all.size() * (rank + 1) / size);
    }

    private double sumOverRanks(double value) {
        double[] sum = {value};
        world.allReduce(Tensor.of(sum), ReduceOp.SUM);
        return sum[0];
    }

    /** One step on one batch; the loss of this rank's images, summed. */
    private double trainBatch(List<Digit> batch) {
        List<Digit> images = share(batch);
        List<Activations> activations = images.stream().map(this::forward).toList();
        backward(images, activations);
        for (int layer = 0; layer < weights.length; layer++) {
            DoubleBuffer sums = reducer.gradient(layer).buffer().asDoubleBuffer();
            for (int i = 0; i < weights[layer].length; i++) {
                velocity[layer][i] = MOMENTUM * velocity[layer][i]
                    - LEARNING_RATE * sums.get(i) / batch.size();
                weights[layer][i] += velocity[layer][i];
            }
        }
        return activations.stream().mapToDouble(Activations::loss).sum();
    }

    /** One pass over the images, in a new order; the mean loss. */
    private double trainEpoch(List<Digit> images, Random random) {
        random.shuffle(images);
        double loss = 0;
        for (int start = 0; start < images.size(); start += BATCH) {
            loss += trainBatch(images.subList(start, Math.min(start + BATCH, images.size())));
        }
        return sumOverRanks(loss) / images.size();
    }

    /** How many per cent of the images the network gets right. */
    private double accuracy(List<Digit> images) {
        long right = share(images).stream()
                .filter(image -> highest(apply(weights[1], hidden(image))) == image.label).count();
        return 100 * sumOverRanks(right) / images.size();
    }

    private static List<Digit> read(String file) throws IOException {
        List<Digit> digits = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(file))) {
            String[] numbers = line.split(",");
            double[] pixels = new double[PIXELS];
            for (int i = 0; i < PIXELS; i++) pixels[i] = Integer.parseInt(numbers[i]) / 16.0;
            digits.add(new Digit(pixels, Integer.parseInt(numbers[PIXELS])));
        }
        return digits;
    }

    public static void main(String[] arguments) throws IOException {
        if (arguments.length != 1) throw new IllegalArgumentException("which file?");
        List<Digit> images = read(arguments[0]);
        Random random = new Random();
        random.shuffle(images);
        List<Digit> forTraining = images.subList(0, images.size() * 4 / 5);
        List<Digit> forTesting = images.subList(forTraining.size(), images.size());
        try (Group world = Tutti.initProcessGroup()) {
            TrainDigits training = new TrainDigits(world);
            double accuracy = 0;
            for (int epoch = 1; epoch <= EPOCHS; epoch++) {
                double loss = training.trainEpoch(forTraining, random);
                accuracy = training.accuracy(forTesting);
                if (world.rank() != 0) continue;
                System.out.printf(Locale.ROOT, "epoch %2d: loss %.6f, test accuracy %.2f %%%n",
                                  epoch, loss, accuracy);
            }
            if (world.rank() == 0) {
                System.out.printf(Locale.ROOT, "test accuracy: %.2f %%%n", accuracy);
            }
            training.reducer.close();
        }
    }
}
