/* tutti/store.h: key-value stores, through which processes find each other and exchange small data.
 * A key is a NUL-terminated string of at most 8192 bytes, or the server's limit; a value is any
 * bytes. Every handle has a timeout (300 s unless set), which its calls use by default. Every call
 * may be made from any thread. A thread that waits does not delay the calls of other threads on the
 * same handle. Over TCP, set, append, multi_set and queue_push return once the message is sent; the
 * server sends no answer. If it refuses one of them, for instance because its memory is full, it
 * closes the connection. tutti_store_flush waits until the server has taken everything and reports
 * what it refused. Without a flush, the next call on the handle fails with TUTTI_ERR_STORE instead;
 * its message has the reason and names what may be lost. */
#ifndef TUTTI_STORE_H
#define TUTTI_STORE_H

#include <tutti/bytes.h>
#include <tutti/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Options of a call that may wait; zero is every field's default. */
typedef struct tutti_store_call_options {
    uint32_t struct_size; /**< sizeof the struct: the INIT macro or the init function sets it */
    uint32_t reserved;    /**< must be 0 */
    int64_t timeout_ms;   /**< TUTTI_DEFAULT_TIMEOUT: the handle's; TUTTI_NO_TIMEOUT: none */
} tutti_store_call_options;

/** Options with every field at its default. */
#define TUTTI_STORE_CALL_OPTIONS_INIT \
    { sizeof(tutti_store_call_options), 0, 0 }

/** Sets every field to its default, for callers that have no C macros.
 *  @param options  memory of the caller; NULL does nothing
 *  @param size     bytes of that memory, all of which are written: the caller's sizeof. An older
 *                  caller's is smaller than this library's, a newer one's larger. If it is below
 *                  8 or above 256, only struct_size is written, as 0, and calls refuse the
 *                  options
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  @since 0.1 */
TUTTI_API void tutti_store_call_options_init(tutti_store_call_options* options, size_t size);

/** Options of tutti_file_store_create, tutti_store_open and tutti_store_clone; zero is every
 *  field's default. */
typedef struct tutti_store_options {
    uint32_t struct_size; /**< sizeof the struct: the INIT macro or the init function sets it */
    uint32_t reserved;    /**< must be 0 */
    int64_t timeout_ms;   /**< how long creating the handle may take, and the new handle's timeout;
                             TUTTI_DEFAULT_TIMEOUT: 300,000, for a clone that of the handle it is
                             made from; TUTTI_NO_TIMEOUT: none */
} tutti_store_options;

/** Options with every field at its default. */
#define TUTTI_STORE_OPTIONS_INIT \
    { sizeof(tutti_store_options), 0, 0 }

/** Sets every field to its default, for callers that have no C macros.
 *  @param options  memory of the caller; NULL does nothing
 *  @param size     bytes of that memory; see tutti_store_call_options_init
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  @since 0.1 */
TUTTI_API void tutti_store_options_init(tutti_store_options* options, size_t size);

/** Creates a store that lives in this process only, for ranks that are threads.
 *  @param out_store  receives an owned store
 *  @param error      NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, OUT_OF_MEMORY
 *  Source:  torch.distributed.HashStore
 *  @since 0.1 */
TUTTI_API tutti_status tutti_hash_store_create(tutti_store** out_store, tutti_error* error);

/** Opens a store in a file that all processes can reach and lock (flock), in the layout of
 *  PyTorch's FileStore. Creates the file if it does not exist. The file is removed when the last of
 *  `world_size` stores is released. Remove a file that an earlier run left behind: its values would
 *  be taken for those of this run.
 *  @param path        path of the file, NUL-terminated; its folder must exist
 *  @param world_size  how many processes open the file, 1 or more; -1: not fixed, the file stays
 *  @param options     NULL: defaults
 *  @param out_store   receives an owned store
 *  @param error       NULL, or filled in if the call fails
 *  Blocks:  while others hold the file's lock, up to the timeout
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT; TIMEOUT (others hold the file's lock); STORE (the file cannot be
 *           opened or locked); OUT_OF_MEMORY
 *  Source:  torch.distributed.FileStore
 *  @since 0.1 */
TUTTI_API tutti_status tutti_file_store_create(const char* path, int32_t world_size,
                                               const tutti_store_options* options,
                                               tutti_store** out_store, tutti_error* error);

/** Opens the store of a library `libtutti-NAME.so`, which tutti/ext.h describes.
 *  @param name       of the library: 1 to 32 of a-z, 0-9, - and _; NUL-terminated
 *  @param address    what the store is to open, in a form of its own; NUL-terminated; NULL: ""
 *  @param options    NULL: defaults
 *  @param out_store  receives an owned store
 *  @param error      NULL, or filled in if the call fails
 *  Blocks:  while the library is loaded, and as its store does, up to the timeout
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT; UNSUPPORTED (no such library, another version, no store in it);
 *           OUT_OF_MEMORY; whatever the store fails with
 *  Source:  a class derived from torch.distributed.Store
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_open(const char* name, const char* address,
                                        const tutti_store_options* options, tutti_store** out_store,
                                        tutti_error* error);

/** Options of tutti_tcp_store_create; zero is every field's default. The limits are the server's,
 *  so only the master sets them. The server tells them to its clients, which then refuse larger
 *  requests themselves. */
typedef struct tutti_tcp_store_options {
    uint32_t struct_size; /**< sizeof the struct: the INIT macro or the init function sets it */
    uint32_t no_wait_for_workers; /**< 1: return without waiting for world_size clients */
    int64_t timeout_ms;    /**< how long creating the handle may take, and the handle's timeout;
                                TUTTI_DEFAULT_TIMEOUT: 300,000; TUTTI_NO_TIMEOUT: none */
    uint32_t multi_tenant; /**< 1: masters of one port in this process share the server, which
                                has the limits of the first; both must set it */
    uint32_t has_master_listen_fd; /**< 1: master_listen_fd is given */
    int32_t master_listen_fd;      /**< a bound TCP socket for the master to serve at; it is
                                        duplicated, so the caller closes its own */
    int32_t max_connections;       /**< a client of tutti has one, and one for each waiting thread;
                                        0: 65,536, or 7/8 of the descriptors if those are fewer */
    int64_t max_key_bytes;         /**< of a key with its prefixes; 0: 8192, at most 1 MiB */
    int64_t max_value_bytes;       /**< 0: 1 GiB, at most 1 TiB; the keys and values of one call may
                                        together have as many, or 1 GiB if that is more */
    int64_t max_keys_per_request;  /**< 0: 131,072, at most 16,777,216 */
    int64_t max_memory_bytes; /**< that the server holds for keys, values and clients; 0: 4 GiB */
} tutti_tcp_store_options;

/** Options with every field at its default. */
#define TUTTI_TCP_STORE_OPTIONS_INIT \
    { sizeof(tutti_tcp_store_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/** Sets every field to its default, for callers that have no C macros.
 *  @param options  memory of the caller; NULL does nothing
 *  @param size     bytes of that memory; see tutti_store_call_options_init
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  @since 0.1 */
TUTTI_API void tutti_tcp_store_options_init(tutti_tcp_store_options* options, size_t size);

/** Connects to a store served over TCP; the master serves it as well. Speaks PyTorch 2's protocol,
 *  so either side may be PyTorch.
 *  @param host        name or address of the master, NUL-terminated
 *  @param port        0 to 65535; 0 on the master: any free port, or that of master_listen_fd
 *                     (tutti_tcp_store_port tells which)
 *  @param world_size  how many clients connect, the master's own included; -1: not fixed
 *  @param is_master   1: serve the store in this process, else 0
 *  @param options     NULL: defaults
 *  @param out_store   receives an owned store; the server runs until the master's store and its
 *                     clones are released
 *  @param error       NULL, or filled in if the call fails
 *  Blocks:  until connected, and on the master with a fixed world_size until all clients have
 *           connected; up to the timeout
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT; NETWORK (cannot resolve, listen or connect: names host, port and
 *           each attempt's reason); STORE (the server has no connection left); TIMEOUT (says how
 *           many of the clients have connected); OUT_OF_MEMORY
 *  Source:  torch.distributed.TCPStore
 *  @since 0.1 */
TUTTI_API tutti_status tutti_tcp_store_create(const char* host, int32_t port, int32_t world_size,
                                              int32_t is_master,
                                              const tutti_tcp_store_options* options,
                                              tutti_store** out_store, tutti_error* error);

/** The port at which a TCP store is served.
 *  @param store     borrowed; a TCP store
 *  @param out_port  receives the port
 *  @param error     NULL, or filled in if the call fails
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
 *  @param error     NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_HANDLE, INVALID_ARGUMENT (not a TCP store)
 *  Source:  torch.distributed.TCPStore.host
 *  @since 0.1 */
TUTTI_API tutti_status tutti_tcp_store_host(tutti_store* store, tutti_bytes** out_host,
                                            tutti_error* error);

/** The absolute path of a file store's file.
 *  @param store     borrowed; a file store
 *  @param out_path  receives owned bytes
 *  @param error     NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_HANDLE, INVALID_ARGUMENT (not a file store)
 *  Source:  torch.distributed.FileStore.path
 *  @since 0.1 */
TUTTI_API tutti_status tutti_file_store_path(tutti_store* store, tutti_bytes** out_path,
                                             tutti_error* error);

/** Creates a view of a store that puts `prefix` and "/" before every key. The view is a handle of
 *  its own: it starts with the timeout of `store`; interrupting one does not interrupt the other.
 *  @param store      borrowed; the new store keeps it alive
 *  @param prefix     NUL-terminated
 *  @param out_store  receives an owned store
 *  @param error      NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE
 *  Source:  torch.distributed.PrefixStore
 *  @since 0.1 */
TUTTI_API tutti_status tutti_prefix_store_create(tutti_store* store, const char* prefix,
                                                 tutti_store** out_store, tutti_error* error);

/** The store whose keys a prefix store shows.
 *  @param store      borrowed; a prefix store
 *  @param out_store  receives another owned handle of the store that the prefix store was created
 *                    from. Both stand for one store: they share its timeout and its interruptions
 *  @param error      NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_HANDLE, INVALID_ARGUMENT (not a prefix store)
 *  Source:  torch.distributed.PrefixStore.underlying_store
 *  @since 0.1 */
TUTTI_API tutti_status tutti_prefix_store_underlying_store(tutti_store* store,
                                                           tutti_store** out_store,
                                                           tutti_error* error);

/** Creates another handle of the same store, with a timeout of its own and, for a TCP store,
 *  connections of its own. Threads can share one handle, but over TCP they then take turns on its
 *  connection; with clones they do not.
 *  @param store      borrowed
 *  @param options    NULL: defaults
 *  @param out_store  receives an owned store
 *  @param error      NULL, or filled in if the call fails
 *  Blocks:  until connected to a TCP store, up to the timeout
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, STORE, NETWORK, TIMEOUT, OUT_OF_MEMORY; ABORTED
 *           (`store` was interrupted)
 *  Source:  torch.distributed.Store.clone
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_clone(tutti_store* store, const tutti_store_options* options,
                                         tutti_store** out_store, tutti_error* error);

/** Stores a value under a key, replacing an old value.
 *  @param store  borrowed
 *  @param key    NUL-terminated
 *  @param value  `size` bytes, copied; may be NULL if size is 0
 *  @param size   bytes of the value
 *  @param error  NULL, or filled in if the call fails
 *  Blocks:  for a message to the store
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, STORE, NETWORK, TIMEOUT
 *  Source:  torch.distributed.Store.set
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_set(tutti_store* store, const char* key, const void* value,
                                       size_t size, tutti_error* error);

/** Reads the value of a key; waits until the key is set.
 *  @param store      borrowed
 *  @param key        NUL-terminated
 *  @param options    NULL: defaults
 *  @param out_value  receives owned bytes
 *  @param error      NULL, or filled in if the call fails
 *  Blocks:  until the key is set, up to the timeout
 *  Threads: any
 *  Fails:   TIMEOUT (names the key), ABORTED (interrupted), INVALID_ARGUMENT, INVALID_HANDLE,
 *           STORE, NETWORK, OUT_OF_MEMORY
 *  Source:  torch.distributed.Store.get
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_get(tutti_store* store, const char* key,
                                       const tutti_store_call_options* options,
                                       tutti_bytes** out_value, tutti_error* error);

/** Adds to a counter and returns its new value; a missing key counts as 0. The counter is stored as
 *  decimal text.
 *  @param store      borrowed
 *  @param key        NUL-terminated
 *  @param amount     may be negative or 0
 *  @param out_value  receives the new value
 *  @param error      NULL, or filled in if the call fails
 *  Blocks:  for a message to the store and back
 *  Threads: any
 *  Fails:   STORE (the value is not a number, or does not fit into 64 bits), INVALID_ARGUMENT,
 *           INVALID_HANDLE, NETWORK, TIMEOUT
 *  Source:  torch.distributed.Store.add
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_add(tutti_store* store, const char* key, int64_t amount,
                                       int64_t* out_value, tutti_error* error);

/** Appends bytes to the value of a key; a missing key counts as empty.
 *  @param store  borrowed
 *  @param key    NUL-terminated
 *  @param value  `size` bytes, copied; may be NULL if size is 0
 *  @param size   bytes to append
 *  @param error  NULL, or filled in if the call fails
 *  Blocks:  for a message to the store
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, STORE, NETWORK, TIMEOUT
 *  Source:  torch.distributed.Store.append
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_append(tutti_store* store, const char* key, const void* value,
                                          size_t size, tutti_error* error);

/** Tells whether all of several keys exist.
 *  @param store      borrowed
 *  @param keys       `count` NUL-terminated strings; may be NULL if count is 0
 *  @param count      number of keys, 0 or more
 *  @param out_found  receives 1 if all exist, else 0
 *  @param error      NULL, or filled in if the call fails
 *  Blocks:  for a message to the store and back
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, STORE, NETWORK, TIMEOUT
 *  Source:  torch.distributed.Store.check
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_check(tutti_store* store, const char* const* keys, int64_t count,
                                         int32_t* out_found, tutti_error* error);

/** Waits until all of several keys exist.
 *  @param store    borrowed
 *  @param keys     `count` NUL-terminated strings; may be NULL if count is 0
 *  @param count    number of keys, 0 or more
 *  @param options  NULL: defaults
 *  @param error    NULL, or filled in if the call fails
 *  Blocks:  until all keys exist, up to the timeout
 *  Threads: any
 *  Fails:   TIMEOUT (names the keys), ABORTED (interrupted), INVALID_ARGUMENT, INVALID_HANDLE,
 *           STORE, NETWORK, OUT_OF_MEMORY
 *  Source:  torch.distributed.Store.wait
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_wait(tutti_store* store, const char* const* keys, int64_t count,
                                        const tutti_store_call_options* options,
                                        tutti_error* error);

/** Sets a key to `desired` if its value is `expected`, or if it is missing and `expected` is empty;
 *  returns the value that the key has afterwards. A key that is missing while `expected` is not
 *  empty stays missing, and `expected` is returned.
 *  @param store          borrowed
 *  @param key            NUL-terminated
 *  @param expected       `expected_size` bytes; may be NULL if that is 0
 *  @param expected_size  bytes of the expected value
 *  @param desired        `desired_size` bytes, copied; may be NULL if that is 0
 *  @param desired_size   bytes of the desired value
 *  @param out_value      receives owned bytes
 *  @param error          NULL, or filled in if the call fails
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
 *  @param store        borrowed
 *  @param key          NUL-terminated
 *  @param out_deleted  receives 1 if the key existed, else 0
 *  @param error        NULL, or filled in if the call fails
 *  Blocks:  for a message to the store and back
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, STORE, NETWORK, TIMEOUT
 *  Source:  torch.distributed.Store.delete_key
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_delete_key(tutti_store* store, const char* key,
                                              int32_t* out_deleted, tutti_error* error);

/** Reads several values in one request; waits until all keys exist.
 *  @param store       borrowed
 *  @param keys        `count` NUL-terminated strings; may be NULL if count is 0
 *  @param count       number of keys, 0 or more
 *  @param options     NULL: defaults
 *  @param out_values  receives `count` owned bytes, in the order of the keys; untouched on failure
 *  @param error       NULL, or filled in if the call fails
 *  Blocks:  until all keys exist, up to the timeout
 *  Threads: any
 *  Fails:   TIMEOUT (names the keys), ABORTED (interrupted), INVALID_ARGUMENT, INVALID_HANDLE,
 *           STORE, NETWORK, OUT_OF_MEMORY
 *  Source:  torch.distributed.Store.multi_get
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_multi_get(tutti_store* store, const char* const* keys,
                                             int64_t count, const tutti_store_call_options* options,
                                             tutti_bytes** out_values, tutti_error* error);

/** Stores several values in one request.
 *  @param store   borrowed
 *  @param keys    `count` NUL-terminated strings; may be NULL if count is 0
 *  @param values  `count` pointers to values, copied; a pointer may be NULL if its size is 0
 *  @param sizes   `count` sizes in bytes
 *  @param count   number of keys, 0 or more
 *  @param error   NULL, or filled in if the call fails
 *  Blocks:  for a message to the store
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, STORE, NETWORK, TIMEOUT
 *  Source:  torch.distributed.Store.multi_set
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_multi_set(tutti_store* store, const char* const* keys,
                                             const void* const* values, const size_t* sizes,
                                             int64_t count, tutti_error* error);

/** Adds a value to the end of a queue, creating the queue if it is missing. tutti_store_check and
 *  tutti_store_wait find queues that are not empty. Other calls on the key of a queue, such as set
 *  and get, have no defined result.
 *  @param store  borrowed
 *  @param key    NUL-terminated; names the queue
 *  @param value  `size` bytes, copied; may be NULL if size is 0
 *  @param size   bytes of the value
 *  @param error  NULL, or filled in if the call fails
 *  Blocks:  for a message to the store
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, STORE, NETWORK, TIMEOUT; UNSUPPORTED (a server of
 *           PyTorch without queues: an older one, or one built without libuv)
 *  Source:  torch.distributed.Store.queue_push
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_queue_push(tutti_store* store, const char* key,
                                              const void* value, size_t size, tutti_error* error);

/** Takes the first value out of a queue. Each value goes to one caller. A call that times out or is
 *  interrupted first waits up to a second for the answer to a request under way, and succeeds if
 *  that brings a value. Else it takes none; but if no answer comes in that second, a value that the
 *  server has taken out of the queue is lost.
 *  @param store      borrowed
 *  @param key        NUL-terminated; names the queue
 *  @param block      1: wait until there is a value; 0: fail if there is none
 *  @param options    NULL: defaults
 *  @param out_value  receives owned bytes
 *  @param error      NULL, or filled in if the call fails
 *  Blocks:  if `block` is 1 until there is a value, up to the timeout; else for a message to the
 *           store and back
 *  Threads: any
 *  Fails:   QUEUE_EMPTY (`block` is 0), TIMEOUT (names the key), ABORTED (interrupted),
 *           INVALID_ARGUMENT, INVALID_HANDLE, STORE, NETWORK, OUT_OF_MEMORY, UNSUPPORTED (as
 *           tutti_store_queue_push)
 *  Source:  torch.distributed.Store.queue_pop
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_queue_pop(tutti_store* store, const char* key, int32_t block,
                                             const tutti_store_call_options* options,
                                             tutti_bytes** out_value, tutti_error* error);

/** The number of values in a queue; 0 if there is no such queue.
 *  @param store       borrowed
 *  @param key         NUL-terminated; names the queue
 *  @param out_length  receives the number of values
 *  @param error       NULL, or filled in if the call fails
 *  Blocks:  for a message to the store and back
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, STORE, NETWORK, TIMEOUT, UNSUPPORTED (as
 *           tutti_store_queue_push)
 *  Source:  torch.distributed.Store.queue_len
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_queue_len(tutti_store* store, const char* key,
                                             int64_t* out_length, tutti_error* error);

/** Lists the keys of a store, in no particular order. A prefix store lists the keys behind its
 *  prefix, without the prefix. Queues are not listed, nor are keys that contain a NUL, which only
 *  other programs can set.
 *  @param store      borrowed
 *  @param out_keys   receives owned bytes: each key, followed by a NUL
 *  @param out_count  receives the number of keys
 *  @param error      NULL, or filled in if the call fails
 *  Blocks:  for a message to the store and back
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, STORE, NETWORK, TIMEOUT; UNSUPPORTED (an older
 *           server of PyTorch)
 *  Source:  torch.distributed.Store.list_keys
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_list_keys(tutti_store* store, tutti_bytes** out_keys,
                                             int64_t* out_count, tutti_error* error);

/** Waits until `world_size` callers have reached the barrier of this key. What each of them wrote
 *  before is visible to all of them afterwards. A barrier works once: later callers return
 *  immediately. A caller that timed out or was interrupted may still have been counted.
 *  @param store       borrowed
 *  @param key         NUL-terminated; a new one for each barrier
 *  @param world_size  number of callers, 1 or more; the same for all
 *  @param options     NULL: defaults
 *  @param error       NULL, or filled in if the call fails
 *  Blocks:  until all callers have reached it, up to the timeout
 *  Threads: any
 *  Fails:   TIMEOUT (names the key), ABORTED (interrupted), INVALID_ARGUMENT, INVALID_HANDLE,
 *           STORE, NETWORK, OUT_OF_MEMORY; UNSUPPORTED (an older server of PyTorch)
 *  Source:  torch.distributed.Store.barrier
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_barrier(tutti_store* store, const char* key, int32_t world_size,
                                           const tutti_store_call_options* options,
                                           tutti_error* error);

/** Waits until the server has taken everything that was sent on this handle without an answer: by
 *  set, append, multi_set and queue_push, of any thread. Fails if something sent since the last
 *  flush was refused or may be lost, even if another call has reported that already. Flushing a
 *  prefix store flushes the store behind it. Hash and file stores have nothing to flush.
 *  @param store    borrowed
 *  @param options  NULL: defaults
 *  @param error    NULL, or filled in if the call fails
 *  Blocks:  for a message to the store and back, up to the timeout; never if nothing is outstanding
 *  Threads: any
 *  Fails:   STORE (the server's reason, and what may be lost; it is reported once), TIMEOUT and
 *           ABORTED (interrupted; flush again to learn the outcome), INVALID_ARGUMENT,
 *           INVALID_HANDLE, OUT_OF_MEMORY
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_flush(tutti_store* store,
                                         const tutti_store_call_options* options,
                                         tutti_error* error);

/** Ends the calls that are waiting on this handle at this moment: get, multi_get, wait, queue_pop,
 *  barrier, flush and clone. They fail with ABORTED, unless what they wait for arrives in the same
 *  moment. Later calls work as before; a call that another thread is about to make counts as later.
 *  Other handles of the same store are not affected: not its clones, nor prefix stores created from
 *  this handle, nor, if this is a prefix store, the store behind it. Groups that use the store are
 *  not affected either. Over TCP a call first waits up to a second for an answer under way.
 *  @param store  borrowed
 *  @param error  NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_HANDLE
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_interrupt(tutti_store* store, tutti_error* error);

/** Tells whether append, multi_get and multi_set work on this store; every store of tutti has them.
 *  @param store    borrowed
 *  @param out_has  receives 1 if they work, else 0
 *  @param error    NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE
 *  Source:  torch.distributed.Store.has_extended_api
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_has_extended_api(tutti_store* store, int32_t* out_has,
                                                    tutti_error* error);

/** The number of keys in a store, of all prefixes; a TCP store that waited for its workers has one
 *  more, "init/".
 *  @param store      borrowed
 *  @param out_count  receives the number of keys
 *  @param error      NULL, or filled in if the call fails
 *  Blocks:  for a message to the store and back
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, STORE, NETWORK, TIMEOUT
 *  Source:  torch.distributed.Store.num_keys
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_num_keys(tutti_store* store, int64_t* out_count,
                                            tutti_error* error);

/** Sets the timeout that calls on this handle use by default.
 *  @param store       borrowed
 *  @param timeout_ms  milliseconds above 0, or TUTTI_NO_TIMEOUT
 *  @param error       NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE
 *  Source:  torch.distributed.Store.set_timeout
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_set_timeout(tutti_store* store, int64_t timeout_ms,
                                               tutti_error* error);

/** The timeout that calls on this handle use by default.
 *  @param store           borrowed
 *  @param out_timeout_ms  receives milliseconds, or TUTTI_NO_TIMEOUT
 *  @param error           NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE
 *  Source:  torch.distributed.Store.timeout
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_get_timeout(tutti_store* store, int64_t* out_timeout_ms,
                                               tutti_error* error);

/** Releases the handle; groups and prefix stores created from it keep what they need. Connections
 *  and files are closed in the background; a process that exits waits up to a second for that.
 *  @param store  owned until now; NULL and released handles are ignored
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  @since 0.1 */
TUTTI_API void tutti_store_release(tutti_store* store);

#ifdef __cplusplus
}
#endif

#endif
