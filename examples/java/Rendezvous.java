import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import tutti.PrefixStore;
import tutti.Store;
import tutti.TCPStore;

/** Workers meet at a store, without a group: each takes a number, writes its address under that
 *  number, and reads the addresses of all.
 *
 *  <pre>tuttirun --nproc-per-node 4 java -cp tutti.jar:examples.jar Rendezvous</pre> */
public final class Rendezvous {
    private Rendezvous() {}

    /** One of the variables that tuttirun sets. */
    private static String variable(String name) {
        String value = System.getenv(name);
        if (value == null) throw new IllegalStateException(name + " is not set: use tuttirun");
        return value;
    }

    private static void meet(Store store, int size) {
        long number = store.add("arrived", 1);
        store.set("address/" + number, "worker " + number);
        List<String> keys = new ArrayList<>();
        for (int i = 1; i <= size; i++) keys.add("address/" + i);
        List<String> addresses = new ArrayList<>();
        for (byte[] address : store.multiGet(keys)) { // waits until all are there
            addresses.add(new String(address, StandardCharsets.UTF_8));
        }
        System.out.println("worker " + number + " met " + size + ": "
                           + String.join(", ", addresses));
    }

    public static void main(String[] arguments) {
        int port = Integer.parseInt(variable("MASTER_PORT"));
        // tuttirun serves the store, and for longer than the workers live.
        try (TCPStore server = new TCPStore(variable("MASTER_ADDR"), port, -1, false, null);
             PrefixStore store = new PrefixStore("rendezvous", server)) {
            meet(store, Integer.parseInt(variable("WORLD_SIZE")));
        }
    }
}
