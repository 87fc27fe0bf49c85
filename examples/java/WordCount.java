import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import tutti.Group;
import tutti.ReduceOp;
import tutti.Tensor;
import tutti.Tutti;

/** Counts the words of a text: each rank those of its lines, into a map; the maps are objects that
 *  travel between the ranks. In a first step each rank gets, of every rank, the words that begin
 *  with its share of the letters, and adds them up; in a second one rank 0 gets the sums. What is
 *  printed is the same with any number of ranks.
 *
 *  <pre>tuttirun --nproc-per-node 4 java -cp tutti.jar:examples.jar WordCount FILE</pre> */
public final class WordCount {
    private static final int SHOWN = 10;

    private WordCount() {}

    /** The words of the lines that are this rank's: every size-th one. */
    private static Map<String, Long> count(List<String> lines, int rank, int size) {
        Map<String, Long> counts = new TreeMap<>();
        for (int i = rank; i < lines.size(); i += size) {
            for (String word : lines.get(i).toLowerCase().split("\\P{L}+")) {
                if (!word.isEmpty()) counts.merge(word, 1L, Long::sum);
            }
        }
        return counts;
    }

    /** The map, split by the rank that sums a word up. */
    private static List<Map<String, Long>> split(Map<String, Long> counts, int size) {
        List<Map<String, Long>> parts = new ArrayList<>();
        for (int i = 0; i < size; i++) parts.add(new TreeMap<>());
        counts.forEach((word, n) -> parts.get(word.charAt(0) % size).put(word, n));
        return parts;
    }

    private static void add(Map<String, Long> sums, Object counts) {
        ((Map<?, ?>) counts).forEach((word, n) -> sums.merge((String) word, (Long) n, Long::sum));
    }

    /** Every rank's counts of this rank's words, added up. */
    private static Map<String, Long> exchange(Group world, List<Map<String, Long>> parts) {
        Map<String, Long> sums = new TreeMap<>();
        for (int rank = 0; rank < world.size(); rank++) {
            List<Object> received = world.gatherObject(parts.get(rank), rank);
            if (received != null) received.forEach(counts -> add(sums, counts));
        }
        return sums;
    }

    private static void print(Map<String, Long> counts, long words) {
        System.out.println(words + " words, " + counts.size() + " different ones");
        Comparator<Map.Entry<String, Long>> order = Map.Entry.comparingByValue();
        counts.entrySet().stream()
              .sorted(order.reversed().thenComparing(Map.Entry.comparingByKey())).limit(SHOWN)
              .forEach(entry -> System.out.println(entry.getValue() + " " + entry.getKey()));
    }

    public static void main(String[] arguments) throws IOException {
        if (arguments.length != 1) throw new IllegalArgumentException("which file?");
        List<String> lines = Files.readAllLines(Path.of(arguments[0]));
        try (Group world = Tutti.initProcessGroup()) {
            Map<String, Long> mine = count(lines, world.rank(), world.size());
            long[] words = {mine.values().stream().mapToLong(Long::longValue).sum()};
            world.allReduce(Tensor.of(words), ReduceOp.SUM);

            Map<String, Long> sums = exchange(world, split(mine, world.size()));
            List<Object> all = world.gatherObject(sums, 0);
            if (all == null) return;
            Map<String, Long> counts = new TreeMap<>();
            all.forEach(part -> add(counts, part));
            print(counts, words[0]);
        }
    }
}
