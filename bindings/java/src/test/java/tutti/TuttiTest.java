package tutti;

import static org.junit.jupiter.api.Assertions.*;

import java.net.Socket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tutti.raw.Callbacks;
import tutti.raw.RawConstants;

class TuttiTest {
    @Test
    void the_library_tells_about_itself() {
        assertTrue(Tutti.version().matches("\\d+\\.\\d+\\.\\d+"), Tutti.version());
        assertTrue(Tutti.versionNumber() >= 100);
        assertTrue(Tutti.isBackendAvailable("GLOO"));
        assertFalse(Tutti.isBackendAvailable("pigeon"));
        assertFalse(Tutti.isBackendAvailable(null));
        Tutti.checkBackendAvailable("gloo");
        TuttiException why = assertThrows(TuttiException.class,
                () -> Tutti.checkBackendAvailable("pigeon"));
        assertEquals(Status.UNSUPPORTED, why.status());
        assertTrue(why.getMessage().contains("libtutti-pigeon.so"), why.getMessage());
        assertEquals("nccl", Tutti.defaultBackendForDevice("cuda:1"));
        assertNull(Tutti.defaultBackendForDevice("abacus"));
        assertEquals(System.getenv("TORCHELASTIC_RUN_ID") != null, Tutti.isTorchelasticLaunched());
    }

    @Test
    void the_default_group_begins_and_ends(@TempDir Path folder) {
        assertFalse(Tutti.isInitialized());
        assertEquals(-1, Tutti.world().rank());
        assertNull(Tutti.world().backend());
        String method = "file://" + folder.resolve("meet");
        try (Group world = Tutti.initProcessGroup("gloo", method, 0, 1, null)) {
            assertTrue(Tutti.isInitialized());
            assertEquals("gloo", world.backend(DeviceType.CPU));
            assertNull(world.backend(DeviceType.XPU));
            assertEquals("cpu:gloo,cuda:gloo", world.backendConfig());
            assertEquals(1, Tutti.groupCount());
            world.barrier();
            Tutti.world().barrier();
            assertThrows(UsageException.class, Tutti::initProcessGroup);
        }
        assertFalse(Tutti.isInitialized());
        GroupOptions options = new GroupOptions().timeout(Duration.ofSeconds(20));
        try (HashStore store = new HashStore();
             Group world = Tutti.initProcessGroupWithStore(null, store, 0, 1, options);
             Mesh mesh = Mesh.init(new int[] {1}, "all")) {
            assertEquals(1, mesh.size());
            assertEquals(0, world.rank());
        }
        assertThrows(UsageException.class, () -> Tutti.world().barrier());
    }

    @Test
    void everything_says_what_it_is() {
        Ranks.run(1, group -> {
            assertEquals("rank 0 of 1 (loopback)", group.toString());
            Work<Integer> work = group.irecv(Ranks.doubles(0), 0, 0);
            assertEquals("recv, running", work.toString());
            group.isend(Ranks.doubles(0), 0, 0).await();
            work.await();
            assertEquals("recv, done", work.toString());
            work.close();
            assertEquals("closed work", work.toString());
            Group closed = group.newGroup(0);
            closed.close();
            assertEquals("closed group", closed.toString());
            try (ReduceOp op = ReduceOp.user("longest", Math::hypot)) {
                assertEquals("MAX longest", ReduceOp.MAX + " " + op);
            }
        });
    }

    @Test
    void the_debug_level_is_the_processs() {
        DebugLevel before = Tutti.debugLevel();
        Tutti.setDebugLevel(DebugLevel.DETAIL);
        assertEquals(DebugLevel.DETAIL, Tutti.debugLevel());
        Tutti.setDebugLevelFromEnv();
        Tutti.setDebugLevel(before);
    }

    @Test
    void settings_have_values_and_sources() {
        Map<String, String> level = Tutti.settings().get("TORCH_DISTRIBUTED_DEBUG");
        assertEquals("OFF", level.get("default"));
        assertNotNull(level.get("value"));
        assertNotNull(level.get("source"));
    }

    @Test
    void the_log_goes_to_a_callback() throws Exception {
        int before = Callbacks.count();
        CountDownLatch warned = new CountDownLatch(1);
        Tutti.setLogCallback(LogLevel.WARNING, (level, line) -> {
            if (level == LogLevel.WARNING && !line.isEmpty()) warned.countDown();
        });
        TCPStore.Options options = new TCPStore.Options().waitForWorkers(false);
        try (TCPStore store = new TCPStore("127.0.0.1", 0, 1, true, options);
             Socket stranger = new Socket("127.0.0.1", store.port())) {
            stranger.getOutputStream().write("GET / HTTP/1.0\r\n\r\n".getBytes());
            assertTrue(warned.await(60, TimeUnit.SECONDS));
        }
        Tutti.setLogCallback(LogLevel.OFF, null);
        while (Callbacks.count() > before) Thread.onSpinWait(); // ends when it is let go
    }

    @Test
    void enumerations_have_the_numbers_of_the_headers() {
        assertEquals(RawConstants.TUTTI_DEBUG_DETAIL, DebugLevel.DETAIL.ordinal());
        assertEquals(RawConstants.TUTTI_LOG_TRACE, LogLevel.TRACE.ordinal());
        assertEquals(RawConstants.TUTTI_OBJECT_ARRAY, Value.Kind.ARRAY.ordinal());
        assertEquals(RawConstants.TUTTI_OBJECT_UINT64, Value.Kind.UINT64.ordinal());
        for (Status status : Status.values()) {
            assertEquals(status, Status.of(status.code()));
            String name = tutti.raw.Memory.string(tutti.raw.Raw.tutti_status_name(status.code()));
            assertEquals(name.replace("TUTTI_ERR_", "").replace("TUTTI_", ""), status.name());
        }
        for (DType dtype : DType.values()) {
            assertEquals(tutti.raw.Raw.tutti_dtype_size(dtype.code()), dtype.size());
        }
    }

    @Test
    void an_exception_has_the_status_and_the_cause_of_the_system() {
        TCPStore.Options options = new TCPStore.Options().timeout(Duration.ofMillis(50));
        TuttiException failure = assertThrows(TuttiException.class,
            () -> new TCPStore("127.0.0.1", 1, 1, false, options));
        assertEquals(Status.NETWORK, failure.status());
        assertEquals(NetworkException.class, failure.getClass());
        assertEquals(111, failure.errno());
        assertEquals(-1, failure.rank());
    }
}
