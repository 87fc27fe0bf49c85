/* tutti/store.h: key-value stores, where processes meet. A key is a NUL-terminated string of at
 * most 8192 bytes, a value any bytes. `timeout_ms` 0 is the store's own timeout (300 s unless
 * set), TUTTI_NO_TIMEOUT waits for ever. Every call may be made from any thread; a wait of one
 * thread does not delay the calls of another on the same handle.
 * Over TCP, set, append, multi_set and queue_push do not wait for an answer: what the server then
 * refuses, for instance because its memory is full, is told by the next call on that handle, which
 * fails with TUTTI_ERR_STORE, the reason, and what may be lost. */
#ifndef TUTTI_STORE_H
#define TUTTI_STORE_H

#include <tutti/bytes.h>
#include <tutti/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Makes a store that lives in this process only, for ranks that are threads.
 *  @param out_store  receives an owned store
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, OUT_OF_MEMORY
 *  Source:  torch.distributed.HashStore
 *  @since 0.1 */
TUTTI_API tutti_status tutti_hash_store_create(tutti_store** out_store, tutti_error* error);

/** Opens a store in a file that all processes can reach and lock (flock); PyTorch's FileStore
 *  layout. The file is made if it is not there, and removed when the last of `world_size` stores
 *  is released. A file that an earlier run left behind confuses the next one: remove it.
 *  @param path        of the file; its folder must exist
 *  @param world_size  how many processes will open it, 1 or more; -1: not fixed, the file stays
 *  @param out_store   receives an owned store
 *  Blocks:  while the file is locked by others
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, STORE (the file cannot be opened or locked)
 *  Source:  torch.distributed.FileStore
 *  @since 0.1 */
TUTTI_API tutti_status tutti_file_store_create(const char* path, int32_t world_size,
                                               tutti_store** out_store, tutti_error* error);

/** Options of tutti_tcp_store_create; zero is every field's default. The limits are the master's:
 *  its server keeps them, and clients are told and refuse by themselves what is beyond them. */
typedef struct tutti_tcp_store_options {
    uint32_t struct_size;
    uint32_t no_wait_for_workers; /**< 1: return without waiting for world_size clients */
    int64_t timeout_ms;    /**< of connecting, and of the store's calls from then on; 0: 300,000 */
    uint32_t multi_tenant; /**< 1: masters of one port in this process share the server, which
                                has the limits of the first; both must say so */
    uint32_t has_master_listen_fd; /**< 1: master_listen_fd is given */
    int32_t master_listen_fd;      /**< a TCP socket that is bound, for the master to serve at;
                                   duplicated, so the caller closes its own */
    int32_t max_connections;       /**< clients of tutti have one, and one for each waiting thread;
                                   0: 65,536, or 7/8 of the descriptors if those are fewer */
    int64_t max_key_bytes;         /**< of a key with its prefixes; 0: 8192, at most 1 MiB */
    int64_t max_value_bytes;       /**< 0: 1 GiB, at most 1 TiB; all keys and values of one call: as
                                   many, or 1 GiB if that is more */
    int64_t max_keys_per_request;  /**< 0: 131,072, at most 16,777,216 */
    int64_t max_memory_bytes; /**< that the server holds for keys, values and clients; 0: 4 GiB */
} tutti_tcp_store_options;

#define TUTTI_TCP_STORE_OPTIONS_INIT \
    { sizeof(tutti_tcp_store_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/** Sets every field to its default, for callers that have no C macros.
 *  @param options  memory of the caller; NULL does nothing
 *  @param size     bytes of that memory, all of which are written: the caller's sizeof. Of an older
 *                  caller it is smaller than this library's, of a newer one larger. A size below 8
 *                  or above 256 is no options struct's: only struct_size is written, as 0, and
 *                  calls refuse the options
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  @since 0.1 */
TUTTI_API void tutti_tcp_store_options_init(tutti_tcp_store_options* options, size_t size);

/** Connects to a store served over TCP, and serves it if this process is the master. Speaks
 *  PyTorch 2's protocol, so either side may be PyTorch.
 *  @param host        name or address of the master
 *  @param port        0 to 65535; 0 on the master: any free one, or the one of master_listen_fd
 *                     (tutti_tcp_store_port)
 *  @param world_size  how many clients will come, the master's own included; -1: not fixed
 *  @param is_master   1: serve the store here, else 0
 *  @param options     NULL: defaults
 *  @param out_store   receives an owned store; the service ends with the master's and its clones
 *  Blocks:  until connected, and the master of a fixed world_size until all clients have come; up
 *           to the timeout
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT; NETWORK (cannot resolve, listen or connect: names host, port and
 *           each attempt's reason); STORE (the server has as many connections as it may); TIMEOUT
 *           (says how many of how many clients came)
 *  Source:  torch.distributed.TCPStore
 *  @since 0.1 */
TUTTI_API tutti_status tutti_tcp_store_create(const char* host, int32_t port, int32_t world_size,
                                              int32_t is_master,
                                              const tutti_tcp_store_options* options,
                                              tutti_store** out_store, tutti_error* error);

/** The port a TCP store is served at.
 *  @param store     borrowed; a TCP store
 *  @param out_port  receives the port
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_HANDLE, INVALID_ARGUMENT (not a TCP store)
 *  Source:  torch.distributed.TCPStore.port
 *  @since 0.1 */
TUTTI_API tutti_status tutti_tcp_store_port(tutti_store* store, int32_t* out_port,
                                            tutti_error* error);

/** The host of a TCP store, as it was given to tutti_tcp_store_create.
 *  @param store     borrowed; a TCP store
 *  @param out_host  receives owned bytes: the host's name or address
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_HANDLE, INVALID_ARGUMENT (not a TCP store)
 *  Source:  torch.distributed.TCPStore.host
 *  @since 0.1 */
TUTTI_API tutti_status tutti_tcp_store_host(tutti_store* store, tutti_bytes** out_host,
                                            tutti_error* error);

/** The path of a file store's file, absolute.
 *  @param store     borrowed; a file store
 *  @param out_path  receives owned bytes
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_HANDLE, INVALID_ARGUMENT (not a file store)
 *  Source:  torch.distributed.FileStore.path
 *  @since 0.1 */
TUTTI_API tutti_status tutti_file_store_path(tutti_store* store, tutti_bytes** out_path,
                                             tutti_error* error);

/** Makes a view of a store that puts `prefix` and "/" before every key.
 *  @param prefix     NUL-terminated
 *  @param store      borrowed; kept alive by the new store
 *  @param out_store  receives an owned store
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE
 *  Source:  torch.distributed.PrefixStore
 *  @since 0.1 */
TUTTI_API tutti_status tutti_prefix_store_create(const char* prefix, tutti_store* store,
                                                 tutti_store** out_store, tutti_error* error);

/** The store whose keys a prefix store shows.
 *  @param store      borrowed; a prefix store
 *  @param out_store  receives an owned handle of the very store it was made from: a timeout that
 *                    is set here is set there too
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_HANDLE, INVALID_ARGUMENT (not a prefix store)
 *  Source:  torch.distributed.PrefixStore.underlying_store
 *  @since 0.1 */
TUTTI_API tutti_status tutti_prefix_store_underlying_store(tutti_store* store,
                                                           tutti_store** out_store,
                                                           tutti_error* error);

/** Makes another handle of the same store, with a timeout of its own and, for a TCP store,
 *  connections of its own. Threads may share a handle too; with clones they do not take turns.
 *  @param store      borrowed
 *  @param out_store  receives an owned store, its timeout as the other's is now
 *  Blocks:  for a connection to a TCP store, up to the store's timeout
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, STORE, NETWORK, TIMEOUT
 *  Source:  torch.distributed.Store.clone
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_clone(tutti_store* store, tutti_store** out_store,
                                         tutti_error* error);

/** Stores a value under a key; an old value is replaced.
 *  @param value  `size` bytes, copied; may be NULL if size is 0
 *  Blocks:  for a message to the store
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, STORE, NETWORK, TIMEOUT
 *  Source:  torch.distributed.Store.set
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_set(tutti_store* store, const char* key, const void* value,
                                       size_t size, tutti_error* error);

/** Reads the value of a key; waits until there is one.
 *  @param out_value  receives owned bytes
 *  Blocks:  until the key is set, up to the store's timeout
 *  Threads: any
 *  Fails:   TIMEOUT (names the key), INVALID_ARGUMENT, INVALID_HANDLE, STORE, NETWORK
 *  Source:  torch.distributed.Store.get
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_get(tutti_store* store, const char* key, tutti_bytes** out_value,
                                       tutti_error* error);

/** Adds to a counter and returns its new value; a key that is not there counts as 0. The value is
 *  kept as decimal text.
 *  @param amount     may be negative or 0
 *  @param out_value  receives the new value
 *  Blocks:  for a message to the store and back
 *  Threads: any
 *  Fails:   STORE (the value is not a number), INVALID_ARGUMENT, INVALID_HANDLE, NETWORK, TIMEOUT
 *  Source:  torch.distributed.Store.add
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_add(tutti_store* store, const char* key, int64_t amount,
                                       int64_t* out_value, tutti_error* error);

/** Appends bytes to the value of a key; a key that is not there counts as empty.
 *  @param value  `size` bytes, copied; may be NULL if size is 0
 *  Blocks:  for a message to the store
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, STORE, NETWORK, TIMEOUT
 *  Source:  torch.distributed.Store.append
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_append(tutti_store* store, const char* key, const void* value,
                                          size_t size, tutti_error* error);

/** Whether all of several keys are there.
 *  @param keys       `count` strings, 0 or more
 *  @param out_found  receives 1 if all are there, else 0
 *  Blocks:  for a message to the store and back
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, STORE, NETWORK, TIMEOUT
 *  Source:  torch.distributed.Store.check
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_check(tutti_store* store, const char* const* keys, size_t count,
                                         int32_t* out_found, tutti_error* error);

/** Waits until all of several keys are there.
 *  @param keys        `count` strings, 0 or more
 *  @param timeout_ms  0: the store's
 *  Blocks:  until all are there, up to the timeout
 *  Threads: any
 *  Fails:   TIMEOUT (names the keys), INVALID_ARGUMENT, INVALID_HANDLE, STORE, NETWORK
 *  Source:  torch.distributed.Store.wait
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_wait(tutti_store* store, const char* const* keys, size_t count,
                                        int64_t timeout_ms, tutti_error* error);

/** Sets a key to `desired` if its value is `expected`, or if it is not there and `expected` is
 *  empty; returns the value the key has afterwards. A key that is not there while `expected` is
 *  not empty stays so, and `expected` is returned.
 *  @param expected   `expected_size` bytes; may be NULL if that is 0
 *  @param desired    `desired_size` bytes, copied; may be NULL if that is 0
 *  @param out_value  receives owned bytes
 *  Blocks:  for a message to the store and back
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, STORE, NETWORK, TIMEOUT
 *  Source:  torch.distributed.Store.compare_set
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_compare_set(tutti_store* store, const char* key,
                                               const void* expected, size_t expected_size,
                                               const void* desired, size_t desired_size,
                                               tutti_bytes** out_value, tutti_error* error);

/** Removes a key.
 *  @param out_deleted  receives 1 if it was there, else 0
 *  Blocks:  for a message to the store and back
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, STORE, NETWORK, TIMEOUT
 *  Source:  torch.distributed.Store.delete_key
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_delete_key(tutti_store* store, const char* key,
                                              int32_t* out_deleted, tutti_error* error);

/** Reads several values at once; waits until all keys are there.
 *  @param keys        `count` strings, 0 or more
 *  @param out_values  receives `count` owned bytes, in the order of the keys; untouched on
 *                     failure
 *  Blocks:  until all are there, up to the store's timeout
 *  Threads: any
 *  Fails:   TIMEOUT (names the keys), INVALID_ARGUMENT, INVALID_HANDLE, STORE, NETWORK
 *  Source:  torch.distributed.Store.multi_get
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_multi_get(tutti_store* store, const char* const* keys,
                                             size_t count, tutti_bytes** out_values,
                                             tutti_error* error);

/** Stores several values at once.
 *  @param keys    `count` strings, 0 or more
 *  @param values  `count` pointers to values, copied; one may be NULL if its size is 0
 *  @param sizes   `count` sizes in bytes
 *  Blocks:  for a message to the store
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, STORE, NETWORK, TIMEOUT
 *  Source:  torch.distributed.Store.multi_set
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_multi_set(tutti_store* store, const char* const* keys,
                                             const void* const* values, const size_t* sizes,
                                             size_t count, tutti_error* error);

/** Puts a value at the end of a queue; a queue that is not there is made. tutti_store_check and
 *  tutti_store_wait find a queue that is not empty. What set, get and their kin do with the key of
 *  a queue is not defined.
 *  @param value  `size` bytes, copied; may be NULL if size is 0
 *  Blocks:  for a message to the store
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, STORE, NETWORK, TIMEOUT; UNSUPPORTED (a server of
 *           PyTorch without queues: an older one, or one built without libuv)
 *  Source:  torch.distributed.Store.queue_push
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_queue_push(tutti_store* store, const char* key,
                                              const void* value, size_t size, tutti_error* error);

/** Takes the first value out of a queue. Each value is given to one caller alone. Who times out has
 *  taken none: the answer of a request under way is waited for, up to a second beyond the timeout;
 *  a store that says nothing for so long may have given a value that nobody gets.
 *  @param block      1: wait until there is a value; 0: fail if there is none
 *  @param out_value  receives owned bytes
 *  Blocks:  if `block` is 1 until there is a value, up to the store's timeout; else for a message
 *           to the store and back
 *  Threads: any
 *  Fails:   QUEUE_EMPTY (`block` is 0), TIMEOUT (names the key), INVALID_ARGUMENT, INVALID_HANDLE,
 *           STORE, NETWORK, UNSUPPORTED (as tutti_store_queue_push)
 *  Source:  torch.distributed.Store.queue_pop
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_queue_pop(tutti_store* store, const char* key, int32_t block,
                                             tutti_bytes** out_value, tutti_error* error);

/** How many values a queue holds; 0 if there is no such queue.
 *  @param out_length  receives the number
 *  Blocks:  for a message to the store and back
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, STORE, NETWORK, TIMEOUT, UNSUPPORTED (as
 *           tutti_store_queue_push)
 *  Source:  torch.distributed.Store.queue_len
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_queue_len(tutti_store* store, const char* key,
                                             int64_t* out_length, tutti_error* error);

/** The keys that are there, in no order; of a prefix store those with its prefix, without it.
 *  Queues are not among them, nor keys with a NUL in them, which only other programs can set.
 *  @param out_keys   receives owned bytes: each key and a NUL behind it
 *  @param out_count  receives how many keys these are
 *  Blocks:  for a message to the store and back
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, STORE, NETWORK, TIMEOUT; UNSUPPORTED (an older
 *           server of PyTorch)
 *  Source:  torch.distributed.Store.list_keys
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_list_keys(tutti_store* store, tutti_bytes** out_keys,
                                             int64_t* out_count, tutti_error* error);

/** Waits until `world_size` callers have come to the barrier of this key. What each has written
 *  before is there for all afterwards. A barrier serves once: who comes later passes at once, and
 *  who gave up at a time-out may have come.
 *  @param key         a fresh one for each barrier
 *  @param world_size  how many callers; the same for all
 *  @param timeout_ms  0: the store's
 *  Blocks:  until all have come, up to the timeout
 *  Threads: any
 *  Fails:   TIMEOUT (names the key), INVALID_ARGUMENT, INVALID_HANDLE, STORE, NETWORK; UNSUPPORTED
 *           (an older server of PyTorch)
 *  Source:  torch.distributed.Store.barrier
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_barrier(tutti_store* store, const char* key, int32_t world_size,
                                           int64_t timeout_ms, tutti_error* error);

/** Whether append, multi_get and multi_set work on this store; they do on every store of tutti.
 *  @param out_has  receives 1 if they do, else 0
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE
 *  Source:  torch.distributed.Store.has_extended_api
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_has_extended_api(tutti_store* store, int32_t* out_has,
                                                    tutti_error* error);

/** How many keys there are; in a TCP store that waited for its workers one more, "init/".
 *  @param out_count  receives the number
 *  Blocks:  for a message to the store and back
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, STORE, NETWORK, TIMEOUT
 *  Source:  torch.distributed.Store.num_keys
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_num_keys(tutti_store* store, int64_t* out_count,
                                            tutti_error* error);

/** Sets the timeout that calls on this handle use by default.
 *  @param timeout_ms  above 0, or TUTTI_NO_TIMEOUT
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE
 *  Source:  torch.distributed.Store.set_timeout
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_set_timeout(tutti_store* store, int64_t timeout_ms,
                                               tutti_error* error);

/** The timeout that calls on this handle use by default.
 *  @param out_timeout_ms  receives milliseconds, or TUTTI_NO_TIMEOUT
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE
 *  Source:  torch.distributed.Store.timeout
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_get_timeout(tutti_store* store, int64_t* out_timeout_ms,
                                               tutti_error* error);

/** Gives the store back; groups and prefix stores made from it keep what they need. Connections
 *  and files are closed in the background; a process that exits waits up to a second for that.
 *  @param store  owned until now; NULL and stale handles are ignored
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  @since 0.1 */
TUTTI_API void tutti_store_release(tutti_store* store);

#ifdef __cplusplus
}
#endif

#endif
