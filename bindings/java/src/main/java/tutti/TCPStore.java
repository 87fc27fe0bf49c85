package tutti;

import static tutti.raw.RawConstants.*;

import java.time.Duration;
import tutti.raw.Raw;

/** A store that one process serves over TCP; it speaks PyTorch 2's protocol, so either side may be
 *  PyTorch. */
public final class TCPStore extends Store {
    /** Options of a TCP store; what is not set is the default. The limits are the master's. */
    public static final class Options {
        private boolean waitForWorkers = true;
        private long timeoutMs;
        private boolean multiTenant;
        private Integer masterListenFd;
        private int maxConnections;
        private long maxKeyBytes;
        private long maxValueBytes;
        private long maxKeysPerRequest;
        private long maxMemoryBytes;

        /** Every option at its default. */
        public Options() {}

        /** Whether the master waits for worldSize clients; it does if this is not set. */
        public Options waitForWorkers(boolean wait) {
            waitForWorkers = wait;
            return this;
        }

        /** The timeout of connecting, and of the store's calls from then on; 300 seconds by
         * default. */
        public Options timeout(Duration timeout) {
            timeoutMs = Arena.timeout(timeout);
            return this;
        }

        /** Masters of one port in this process share the server; both must say so. */
        public Options multiTenant(boolean share) {
            multiTenant = share;
            return this;
        }

        /** A TCP socket that is bound, for the master to serve at; duplicated. */
        public Options masterListenFd(int descriptor) {
            masterListenFd = descriptor;
            return this;
        }

        /** The most clients. */
        public Options maxConnections(int connections) {
            maxConnections = connections;
            return this;
        }

        /** The most bytes of a key with its prefixes; 8192 by default. */
        public Options maxKeyBytes(long bytes) {
            maxKeyBytes = bytes;
            return this;
        }

        /** The most bytes of a value; 1 GiB by default. */
        public Options maxValueBytes(long bytes) {
            maxValueBytes = bytes;
            return this;
        }

        /** The most keys of one call; 131,072 by default. */
        public Options maxKeysPerRequest(long keys) {
            maxKeysPerRequest = keys;
            return this;
        }

        /** The most bytes that the server holds; 4 GiB by default. */
        public Options maxMemoryBytes(long bytes) {
            maxMemoryBytes = bytes;
            return this;
        }

        private long struct(Arena arena) {
            long struct = arena.take(sizeof_tutti_tcp_store_options);
            Raw.tutti_tcp_store_options_init(struct, sizeof_tutti_tcp_store_options);
            arena.putInt(struct + tutti_tcp_store_options_no_wait_for_workers,
                         waitForWorkers ? 0 : 1);
            arena.putLong(struct + tutti_tcp_store_options_timeout_ms, timeoutMs);
            arena.putInt(struct + tutti_tcp_store_options_multi_tenant, multiTenant ? 1 : 0);
            if (masterListenFd != null) {
                arena.putInt(struct + tutti_tcp_store_options_has_master_listen_fd, 1);
                arena.putInt(struct + tutti_tcp_store_options_master_listen_fd, masterListenFd);
            }
            arena.putInt(struct + tutti_tcp_store_options_max_connections, maxConnections);
            arena.putLong(struct + tutti_tcp_store_options_max_key_bytes, maxKeyBytes);
            arena.putLong(struct + tutti_tcp_store_options_max_value_bytes, maxValueBytes);
            arena.putLong(struct + tutti_tcp_store_options_max_keys_per_request, maxKeysPerRequest);
            arena.putLong(struct + tutti_tcp_store_options_max_memory_bytes, maxMemoryBytes);
            return struct;
        }
    }

    /** Connects to a store, and serves it if this process is the master; returns when connected,
     *  and on the master of a fixed worldSize when all clients have come.
     *  @param host       name or address of the master
     *  @param port       on the master 0: any free one ({@link #port})
     *  @param worldSize  how many clients will come, the master's own included; -1: not fixed
     *  @param isMaster   whether to serve it here
     *  @param options    null: defaults */
    public TCPStore(String host, int port, int worldSize, boolean isMaster, Options options) {
        super(make((arena, out) -> Raw.tutti_tcp_store_create(
                arena.text("host", host), port, worldSize, isMaster ? 1 : 0,
                options == null ? 0 : options.struct(arena), out, arena.error())));
    }

    /** The port that the store is served at. */
    public int port() {
        return (int) number((arena, store, out) -> Raw.tutti_tcp_store_port(
                store, out, arena.error()));
    }

    /** The host, as it was given. */
    public String host() {
        return Bytes.text(number((arena, store, out) -> Raw.tutti_tcp_store_host(
                store, out, arena.error())));
    }
}
