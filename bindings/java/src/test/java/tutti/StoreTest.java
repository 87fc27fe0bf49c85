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
}
