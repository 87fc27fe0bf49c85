package tutti;

import static org.junit.jupiter.api.Assertions.*;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StoreTest {
    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static void everyCallWorks(Store store) {
        store.set("key", "välue");
        assertEquals("välue", store.getString("key"));
        store.append("key", bytes("!"));
        assertEquals("välue!", store.getString("key"));
        store.set("empty", new byte[0]);
        assertEquals(0, store.get("empty").length);
        assertEquals(5, store.add("counter", 5));
        assertEquals(3, store.add("counter", -2));
        assertTrue(store.check(List.of("key", "counter")));
        assertFalse(store.check(List.of("key", "missing")));
        store.await(List.of("key", "counter"), Duration.ofSeconds(5));
        assertEquals("new", store.compareSet("fresh", "", "new"));
        assertEquals("new", store.compareSet("fresh", "other", "newer"));
        store.multiSet(Map.of("a", bytes("1"), "b", new byte[0]));
        List<byte[]> values = store.multiGet(List.of("a", "b"));
        assertArrayEquals(bytes("1"), values.get(0));
        assertEquals(0, values.get(1).length);
        assertTrue(store.listKeys().containsAll(Set.of("a", "b", "key", "counter")));
        assertTrue(store.numKeys() >= 6);
        assertTrue(store.deleteKey("a"));
        assertFalse(store.deleteKey("a"));
        store.queuePush("queue", bytes("first"));
        store.queuePush("queue", bytes("second"));
        assertEquals(2, store.queueLength("queue"));
        assertArrayEquals(bytes("first"), store.queuePop("queue"));
        assertArrayEquals(bytes("second"), store.queuePop("queue", false));
        assertThrows(QueueEmptyException.class, () -> store.queuePop("queue", false));
        store.barrier("here", 1, null);
        assertTrue(store.hasExtendedApi());
        store.setTimeout(Duration.ofSeconds(7));
        assertEquals(Duration.ofSeconds(7), store.timeout());
        try (Store other = store.cloneStore()) {
            assertEquals("new", other.getString("fresh"));
        }
    }

    @Test
    void a_hash_store_does_everything() {
        try (HashStore store = new HashStore()) {
            everyCallWorks(store);
        }
    }

    @Test
    void a_file_store_does_everything(@TempDir Path folder) {
        Path path = folder.resolve("störe");
        try (FileStore store = new FileStore(path, -1)) {
            assertEquals(path, store.path());
            everyCallWorks(store);
        }
        assertTrue(Files.exists(path));
    }

    @Test
    void a_tcp_store_does_everything() {
        TCPStore.Options options = new TCPStore.Options().waitForWorkers(false)
                .timeout(Duration.ofSeconds(20)).maxConnections(16).maxKeyBytes(100)
                .maxValueBytes(1 << 20).maxKeysPerRequest(1000).maxMemoryBytes(1 << 24);
        try (TCPStore master = new TCPStore("127.0.0.1", 0, 2, true, options);
             TCPStore client = new TCPStore(master.host(), master.port(), 2, false, null)) {
            assertEquals("127.0.0.1", client.host());
            everyCallWorks(client);
            assertEquals("new", master.getString("fresh"));
            assertThrows(UsageException.class, () -> master.set("k".repeat(101), "too long"));
        }
    }

    @Test
    void a_prefix_store_shows_its_keys_only() {
        try (HashStore store = new HashStore();
             PrefixStore prefix = new PrefixStore("here", store)) {
            everyCallWorks(prefix);
            store.set("outside", "x");
            assertFalse(prefix.listKeys().contains("outside"));
            try (Store under = prefix.underlyingStore()) {
                assertEquals("x", under.getString("outside"));
                assertEquals("new", under.getString("here/fresh"));
            }
        }
    }

    @Test
    void the_store_of_a_library_does_what_others_do(@TempDir Path folder) {
        try (LibraryStore store = new LibraryStore("folder", folder.toString())) {
            everyCallWorks(store);
        }
        TuttiException missing = assertThrows(TuttiException.class,
                () -> new LibraryStore("pigeon", "", Duration.ofSeconds(1)));
        assertEquals(Status.UNSUPPORTED, missing.status());
        assertThrows(StoreException.class, () -> new LibraryStore("folder", "/nowhere/at/all"));
    }

    @Test
    void a_prefix_store_outlives_the_store_it_shows() {
        HashStore store = new HashStore();
        PrefixStore prefix = new PrefixStore("p", store);
        store.close();
        prefix.set("key", "value");
        assertEquals("value", prefix.getString("key"));
        prefix.close();
    }

    @Test
    void a_get_that_times_out_names_the_key() {
        try (HashStore store = new HashStore()) {
            store.setTimeout(Duration.ofMillis(30));
            TimeoutExpiredException expired =
                    assertThrows(TimeoutExpiredException.class, () -> store.get("nobody"));
            assertTrue(expired.getMessage().contains("nobody"), expired.getMessage());
            assertEquals(Status.TIMEOUT, expired.status());
        }
    }

    @Test
    void many_keys_go_in_one_call() {
        try (HashStore store = new HashStore()) {
            Map<String, byte[]> entries = new LinkedHashMap<>();
            for (int i = 0; i < 20_000; i++) entries.put("key " + i, bytes("value " + i));
            entries.put("large", new byte[3_000_000]);
            store.multiSet(entries);
            List<byte[]> values = store.multiGet(entries.keySet());
            for (int i = 0; i < 20_000; i++) assertArrayEquals(bytes("value " + i), values.get(i));
            assertEquals(3_000_000, values.get(20_000).length);
            assertTrue(store.check(entries.keySet()));
            assertEquals(20_001, store.listKeys().size());
        }
    }

    @Test
    void several_threads_wait_while_one_sets() throws Exception {
        try (HashStore store = new HashStore()) {
            Set<String> got = new TreeSet<>();
            Thread[] threads = new Thread[8];
            for (int i = 0; i < threads.length; i++) {
                String key = "key" + i;
                threads[i] = new Thread(() -> {
                    String value = store.getString(key);
                    synchronized (got) {
                        got.add(value);
                    }
                });
                threads[i].start();
            }
            for (int i = 0; i < threads.length; i++) store.set("key" + i, "value" + i);
            for (Thread thread : threads) thread.join();
            assertEquals(threads.length, got.size());
        }
    }

    @Test
    void bad_arguments_are_named() {
        HashStore store = new HashStore();
        UsageException nul = assertThrows(UsageException.class, () -> store.set("a\0b", "value"));
        assertTrue(nul.getMessage().startsWith("key: "), nul.getMessage());
        assertThrows(UsageException.class, () -> store.set(null, "value"));
        assertThrows(UsageException.class, () -> store.set("key", (byte[]) null));
        assertThrows(UsageException.class, () -> store.set("\ud800", "half a pair"));
        assertThrows(UsageException.class, () -> new FileStore(Path.of("x"), 0));
        store.close();
        store.close();
        UsageException closed = assertThrows(UsageException.class, () -> store.get("key"));
        assertEquals(Status.INVALID_HANDLE, closed.status());
    }

    @Test
    void a_wait_has_a_timeout_of_its_own() {
        try (HashStore store = new HashStore()) {
            Duration soon = Duration.ofMillis(10);
            assertThrows(TimeoutExpiredException.class, () -> store.get("never", soon));
            assertThrows(TimeoutExpiredException.class, () -> store.queuePop("never", soon));
            assertThrows(TimeoutExpiredException.class,
                         () -> store.multiGet(List.of("never"), soon));
            assertThrows(TimeoutExpiredException.class,
                         () -> store.await(List.of("never"), soon));
            assertThrows(TimeoutExpiredException.class, () -> store.barrier("nobody", 2, soon));
            try (Store other = store.cloneStore(soon)) {
                assertEquals(soon, other.timeout());
                assertThrows(TimeoutExpiredException.class, () -> other.get("never"));
            }
            store.flush(null);
        }
    }

    @Test
    void a_file_store_has_a_timeout(@TempDir Path folder) {
        try (FileStore store = new FileStore(folder.resolve("s"), -1, Duration.ofMillis(30))) {
            assertEquals(Duration.ofMillis(30), store.timeout());
            assertThrows(TimeoutExpiredException.class, () -> store.get("never"));
        }
    }

    /** A thread that waits for ever at a store, and how that ended. */
    private static final class Waiting extends Thread {
        private final Runnable wait;
        private TuttiException end;
        private boolean staysInterrupted;

        Waiting(Runnable wait) {
            this.wait = wait;
            start();
        }

        @Override
        public void run() {
            try {
                wait.run();
            } catch (TuttiException failure) {
                end = failure;
            }
            staysInterrupted = isInterrupted();
        }

        /** Until it is in C, waiting for a key or about to. */
        void untilItGets() {
            while (java.util.Arrays.stream(getStackTrace())
                           .noneMatch(call -> call.getMethodName().equals("tutti_store_get"))) {
                Thread.onSpinWait();
            }
        }

        Status end() throws InterruptedException {
            join();
            return end == null ? Status.OK : end.status();
        }
    }

    private static List<Consumer<Store>> waits() {
        Duration none = Tutti.NO_TIMEOUT;
        return List.of(store -> store.get("never", none), store -> store.queuePop("none", none),
                       store -> store.multiGet(List.of("never"), none),
                       store -> store.await(List.of("never"), none),
                       store -> store.barrier("nobody" + Thread.currentThread().getId(), 2, none));
    }

    private static void interrupting(Store store) throws InterruptedException {
        for (Consumer<Store> wait : waits()) {
            Waiting waiting = new Waiting(() -> wait.accept(store));
            waiting.interrupt();
            assertEquals(Status.ABORTED, waiting.end());
            assertTrue(waiting.staysInterrupted);
        }
        Waiting before = new Waiting(() -> {
            Thread.currentThread().interrupt();
            store.get("never", Tutti.NO_TIMEOUT);
        });
        assertEquals(Status.ABORTED, before.end());
        for (Consumer<Store> wait : waits()) {
            Waiting waiting = new Waiting(() -> wait.accept(store));
            while (waiting.isAlive()) store.interrupt();
            assertEquals(Status.ABORTED, waiting.end());
            assertFalse(waiting.staysInterrupted);
        }
        store.set("still", "there");
        assertEquals("there", store.getString("still"));
    }

    @Test
    void an_interrupted_thread_stops_waiting() throws InterruptedException {
        try (HashStore store = new HashStore();
             PrefixStore prefix = new PrefixStore("p", store);
             TCPStore tcp = new TCPStore("127.0.0.1", 0, 1, true, null)) {
            interrupting(store);
            interrupting(prefix);
            interrupting(tcp);
        }
    }

    @Test
    void interrupting_one_thread_leaves_the_waits_of_others() throws InterruptedException {
        try (HashStore store = new HashStore()) {
            String[] got = new String[2];
            Waiting one = new Waiting(() -> got[0] = store.getString("key"));
            Waiting other = new Waiting(() -> {
                got[1] = new String(store.get("key", Duration.ofHours(1)), StandardCharsets.UTF_8);
            });
            one.untilItGets();
            other.untilItGets();
            for (int i = 0; i < 50; i++) {
                Waiting meant = new Waiting(() -> store.get("never", Tutti.NO_TIMEOUT));
                meant.interrupt();
                assertEquals(Status.ABORTED, meant.end());
            }
            store.set("key", "value");
            assertEquals(Status.OK, one.end());
            assertEquals(Status.OK, other.end());
            assertArrayEquals(new String[] {"value", "value"}, got);
        }
    }

    @Test
    void what_one_waits_for_again_has_the_rest_of_its_time() throws InterruptedException {
        try (HashStore store = new HashStore()) {
            Waiting waiting = new Waiting(() -> store.get("never", Duration.ofMillis(50)));
            while (waiting.isAlive()) tutti.raw.Raw.tutti_store_interrupt(store.handle(), 0);
            assertEquals(Status.TIMEOUT, waiting.end());
        }
    }

    @Test
    void closing_a_store_ends_the_waits_at_it() throws InterruptedException {
        Status end;
        do {
            HashStore store = new HashStore();
            Waiting waiting = new Waiting(() -> store.get("never", Duration.ofSeconds(5)));
            waiting.untilItGets();
            store.close();
            end = waiting.end();
        } while (end == Status.TIMEOUT); // it was in C, and about to wait
        assertEquals(Status.INVALID_HANDLE, end);
    }

    @Test
    void two_objects_of_one_store_share_its_interruptions() throws InterruptedException {
        try (HashStore store = new HashStore(); PrefixStore prefix = new PrefixStore("p", store);
             Store same = prefix.underlyingStore()) {
            Waiting waiting = new Waiting(() -> store.get("never", Tutti.NO_TIMEOUT));
            while (waiting.isAlive()) same.interrupt();
            assertEquals(Status.ABORTED, waiting.end());
        }
    }
}
