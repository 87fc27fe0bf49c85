package tutti;

import static tutti.raw.RawConstants.*;

import java.time.Duration;
import java.util.Map;
import java.util.function.BiConsumer;
import tutti.raw.Callbacks;
import tutti.raw.Memory;
import tutti.raw.Raw;

/** The start of a program, its default group, and facts about the library. */
public final class Tutti {
    /** For timeouts: as long as it may take. */
    public static final Duration NO_TIMEOUT = Duration.ofMillis(Long.MAX_VALUE);

    private static final DebugLevel[] DEBUG_LEVELS = DebugLevel.values();
    private static final LogLevel[] LOG_LEVELS = LogLevel.values();

    private Tutti() {}

    /** Makes the default group by environment variables, as tuttirun, torchrun, mpirun and srun set
     *  them, with the best backend for where the ranks are. */
    public static Group initProcessGroup() {
        return initProcessGroup(null, null, -1, -1, null);
    }

    /** Makes the default group; every rank calls this once, and all meet.
     *  @param backend     "tcp", "gloo", "shm", "hierarchy", "loopback"; null: the best one
     *  @param initMethod  "env://", "tcp://host:port" or "file:///path", each maybe with
     *                     ?rank=R&amp;world_size=N&amp;timeout=SECONDS; null: "env://"
     *  @param rank        0 to worldSize - 1; -1: from the init method
     *  @param worldSize   1 or more; -1: from the init method
     *  @param options     null: defaults
     *  @return the default group; closing it ends it, and all that were made from it */
    public static Group initProcessGroup(String backend, String initMethod, int rank, int worldSize,
                                         GroupOptions options) {
        try (Arena arena = Arena.open()) {
            arena.check(Raw.tutti_init_process_group(
                    arena.string("backend", backend), arena.string("initMethod", initMethod),
                    GroupOptions.description(arena, options), rank, worldSize,
                    GroupOptions.struct(arena, options), arena.error()));
            return world();
        }
    }

    /** Makes the default group, meeting at a store that the program has (torch's store=).
     *  @param backend  as in {@link #initProcessGroup}
     *  @param options  null: defaults */
    public static Group initProcessGroupWithStore(String backend, Store store, int rank,
                                                  int worldSize, GroupOptions options) {
        store.act((arena, handle) -> Raw.tutti_init_process_group_with_store(
                arena.string("backend", backend), handle, GroupOptions.description(arena, options),
                rank, worldSize, GroupOptions.struct(arena, options), arena.error()));
        return world();
    }

    /** The default group; its calls fail while there is none. */
    public static Group world() {
        return new Group(Core.WORLD);
    }

    /** The text by which other processes reach this one in {@link Group#reconfigure}: pass it to them
     *  in any way, for instance by a store or a file. It stays the same until the process ends. The
     *  first call opens a port. */
    public static String reconfigureHandle() {
        return Bytes.text(Handle.make((arena, out) -> Raw.tutti_get_reconfigure_handle(
                out, arena.error())));
    }

    /** Whether the default group exists. */
    public static boolean isInitialized() {
        return Raw.tutti_is_initialized() != 0;
    }

    /** How many groups this process is in: the default group and those made from it. */
    public static int groupCount() {
        return Raw.tutti_get_pg_count();
    }

    /** The version of the loaded library, for instance "0.1.0". */
    public static String version() {
        return Memory.string(Raw.tutti_version_string());
    }

    /** The version as one number: major * 10000 + minor * 100 + patch. */
    public static int versionNumber() {
        return Raw.tutti_version();
    }

    /** Whether a group can be made with the backend of this name; case is ignored. */
    public static boolean isBackendAvailable(String name) {
        try (Arena arena = Arena.open()) {
            return Raw.tutti_is_backend_available(arena.string("name", name)) != 0;
        }
    }

    /** Does nothing if a group can be made with the backend of this name, else throws why not. */
    public static void checkBackendAvailable(String name) {
        try (Arena arena = Arena.open()) {
            arena.check(Raw.tutti_check_backend_available(arena.string("name", name),
                                                          arena.error()));
        }
    }

    /** The backend that torch would choose for a device, "cpu" or "cuda:1"; null for others. */
    public static String defaultBackendForDevice(String device) {
        try (Arena arena = Arena.open()) {
            return Memory.string(Raw.tutti_get_default_backend_for_device(
                    arena.string("device", device)));
        }
    }

    /** Whether torchrun or tuttirun started this process. */
    public static boolean isTorchelasticLaunched() {
        return Raw.tutti_is_torchelastic_launched() != 0;
    }

    /** The debug level of this process. */
    public static DebugLevel debugLevel() {
        return DEBUG_LEVELS[Raw.tutti_get_debug_level()];
    }

    /** Sets the debug level of this process. */
    public static void setDebugLevel(DebugLevel level) {
        try (Arena arena = Arena.open()) {
            arena.check(Raw.tutti_set_debug_level(level.ordinal(), arena.error()));
        }
    }

    /** Sets the debug level to what TORCH_DISTRIBUTED_DEBUG said when the process began. */
    public static void setDebugLevelFromEnv() {
        try (Arena arena = Arena.open()) {
            arena.check(Raw.tutti_set_debug_level_from_env(arena.error()));
        }
    }

    /** All settings of the library, by name. Each has "value", "source" ("default", "environment",
     *  "call", or "unknown" for a variable that begins with TUTTI_ and is none), and "default",
     *  "variable" or "nearest" where they apply. */
    @SuppressWarnings("unchecked") // a map of maps of strings it is, by tutti/debug.h
    public static Map<String, Map<String, String>> settings() {
        try (Arena arena = Arena.open()) {
            long out = arena.slot();
            arena.check(Raw.tutti_get_settings(out, arena.error()));
            try (Value value = Value.owned(arena.getLong(out))) {
                return (Map<String, Map<String, String>>) value.get();
            }
        }
    }

    /** Sends the log to a callback instead of stderr. It is called on a thread of the library, one
     *  line at a time.
     *  @param level     lines up to this level are passed on
     *  @param callback  null: stderr again, and the environment's level */
    public static synchronized void setLogCallback(LogLevel level,
                                                   BiConsumer<LogLevel, String> callback) {
        long user = callback == null ? 0 : Callbacks.register(
                (Callbacks.Log) (code, line) -> callback.accept(LOG_LEVELS[code], line));
        try (Arena arena = Arena.open()) {
            int status = Raw.tutti_set_log_callback(
                    callback == null ? 0 : Callbacks.logFunction(), user,
                    callback == null ? 0 : Callbacks.releaseFunction(),
                    level == null ? 0 : level.ordinal(), arena.error());
            if (status != TUTTI_OK) Callbacks.remove(user);
            arena.check(status);
        }
    }
}
