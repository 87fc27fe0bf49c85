/* tutti/ext.h: backends, stores and ways to meet from outside the library, as tables of C
 * functions. For their authors, in C or in what can declare C's structs; tutti/tutti.h does not
 * include it. A table is registered by a call, or exported by a library that is found by its name.
 * All structs may grow at their end: their `struct_size` says how long they are. */
#ifndef TUTTI_EXT_H
#define TUTTI_EXT_H

#include <tutti/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The version of all tables in this header. A library of another version is refused. */
#define TUTTI_EXT_VERSION ((uint32_t)1)

/** The set of one number, for the sets of tutti_backend_capabilities: join them with `|`. */
#define TUTTI_BIT(number) ((uint64_t)1 << (number))
/** The set of all numbers: every dtype, say. */
#define TUTTI_ALL_BITS (~(uint64_t)0)

/** The kind of a backend's call: the public function that was called. "The inputs of
 *  the ranks" are one for each rank, in the order of the ranks. */
typedef uint32_t tutti_call_kind;
enum {
    TUTTI_CALL_BROADCAST = 0,  /**< root: an input; others: an output */
    TUTTI_CALL_ALL_REDUCE = 1, /**< an input, an output */
    TUTTI_CALL_BARRIER = 2,    /**< no pieces */
    TUTTI_CALL_REDUCE = 3,     /**< an input; root: an output */
    TUTTI_CALL_ALL_GATHER = 4, /**< an input; the outputs of the ranks, of different sizes */
    TUTTI_CALL_ALL_GATHER_INTO_TENSOR = 5, /**< the same, and TUTTI_CALL_EVEN */
    TUTTI_CALL_GATHER = 6,                 /**< an input; root: outputs of the ranks, of one size */
    TUTTI_CALL_SCATTER = 7,                /**< an output; root: inputs of the ranks, of one size */
    TUTTI_CALL_REDUCE_SCATTER = 8, /**< the inputs of the ranks, of different sizes; an output */
    TUTTI_CALL_REDUCE_SCATTER_TENSOR = 9, /**< the same, and TUTTI_CALL_EVEN */
    TUTTI_CALL_ALL_TO_ALL = 10, /**< the inputs and outputs of the ranks, of different sizes */
    TUTTI_CALL_ALL_TO_ALL_SINGLE = 11, /**< the same; TUTTI_CALL_EVEN if no splits were given */
    TUTTI_CALL_COALESCED = 13,         /**< `calls`, one after the other or at once */
    TUTTI_CALL_SEND = 32,              /**< an input, for `peer` */
    TUTTI_CALL_RECEIVE = 33            /**< an output, from `peer`; -1: from any rank */
};

/** `flags` of a call. */
enum {
    TUTTI_CALL_EVEN = 1 /**< on every rank, the pieces of the ranks have one size, and follow each
                             other in memory */
};

/** Where the calls of a backend end. */
typedef uint32_t tutti_completion;
enum {
    TUTTI_COMPLETION_INLINE = 0,   /**< when `post` returns, on the thread that called it; messages,
                                        if it has them, as with POLLED, or, with
                                        TUTTI_BACKEND_CALLBACK_MESSAGES, as with CALLBACK */
    TUTTI_COMPLETION_CALLBACK = 1, /**< when the backend calls `finish`, on a thread of its own */
    TUTTI_COMPLETION_POLLED = 2,   /**< when the backend calls `finish` inside `test` */
    TUTTI_COMPLETION_STREAM = 3    /**< when the device has done what the backend has put on the
                                        call's stream: see `stream` and `enqueued` of the host. Not
                                        of a backend that serves the CPU */
};

/** `flags` of tutti_backend_capabilities. */
enum {
    TUTTI_BACKEND_USER_FUNCTIONS = 1, /**< it reduces with functions of the program */
    TUTTI_BACKEND_REPRODUCIBLE = 2,   /**< it reduces as groups with `reproducible` ask for: all
                                           inputs of an element at once, by the host's `reduce` */
    TUTTI_BACKEND_PLAIN_MESSAGES = 4, /**< its messages have tag 0, and go from one rank to another
                                           one, which both name */
    TUTTI_BACKEND_HIGH_PRIORITY = 8,  /**< STREAM: the stream that the host makes for it goes before
                                           others of the device */
    TUTTI_BACKEND_FOREIGN_PEERS = 16, /**< ranks of the group may be of another library, which the
                                           backend meets by itself in the place's store: that has
                                           the group's keys without a prefix of the backend's, and
                                           all_gather fails. It is the only backend of the group.
                                           Nobody tells the host about those ranks: `finish` with
                                           TUTTI_ERR_PEER_LOST names one that is lost. `split` and
                                           `left` are not called */
    TUTTI_BACKEND_CALLBACK_MESSAGES = 32 /**< INLINE: its messages end when it calls `finish`, on a
                                              thread of its own */
};

/** A backend's abilities. The host refuses other calls before anything moves, with UNSUPPORTED and
 *  the backend's name. What has no kind here, byte strings, objects and memory of
 *  tutti_memory_alloc, goes by a backend of the host's own beside it. The ranks compare these when
 *  they meet. Zeroed when `describe` is called. */
typedef struct tutti_backend_capabilities {
    uint32_t struct_size;        /**< of the host's struct: write no further */
    tutti_completion completion; /**< of all calls, but for INLINE's messages */
    uint64_t devices;            /**< set of tutti_device_type */
    uint64_t kinds;              /**< set of tutti_call_kind; messages: SEND and RECEIVE */
    uint64_t dtypes;             /**< set of tutti_dtype: what it moves */
    uint64_t flags;              /**< TUTTI_BACKEND_USER_FUNCTIONS, ... */
    uint64_t ops[32]; /**< for each dtype the set of tutti_reduce_op that it reduces. An op that the
                           dtype does not have may be in the set */
} tutti_backend_capabilities;

/** Memory of a call, on the call's device. Borrowed until the call ends. */
typedef struct tutti_piece {
    void* data;    /**< of an input: only read. May be NULL if count is 0 */
    int64_t count; /**< elements of the call's dtype, 0 or more */
} tutti_piece;

/** A call for a backend. The host owns it, and all it points to, until the call has ended; until
 *  then it stays where it is, and its values are constant. The host has checked the arguments. An
 *  output may be the same memory as an input of this rank; there is no other overlap. */
typedef struct tutti_backend_call {
    uint32_t struct_size; /**< of the host's struct */
    tutti_call_kind kind; /**< what the call is */
    uint64_t sequence;    /**< of a collective: 1, 2, ..., the same on all ranks; of a message: 0 */
    tutti_dtype dtype;    /**< of all pieces */
    uint32_t element_size; /**< bytes of an element */
    tutti_reduce_op op;    /**< of a reduction: TUTTI_SUM to TUTTI_PREMUL_SUM, or a larger number: a
                               function of the program, which the host's `reduce` calls */
    int32_t root;          /**< of a collective that has one; else -1 */
    int32_t peer;          /**< of a message: the other rank */
    int32_t tag;           /**< of a message: those of another tag are not for it */
    uint32_t flags;        /**< TUTTI_CALL_EVEN */
    tutti_device_type device_type;                 /**< where the pieces are */
    int32_t device_index;                          /**< which of them */
    const tutti_piece* inputs;                     /**< `input_count` pieces */
    int64_t input_count;                           /**< see tutti_call_kind */
    const tutti_piece* outputs;                    /**< `output_count` pieces */
    int64_t output_count;                          /**< see tutti_call_kind */
    const struct tutti_backend_call* const* calls; /**< COALESCED: `call_count` collectives, of no
                                                        overlap; they end with this call */
    int64_t call_count;                            /**< 0 or more */
    const void* fingerprint; /**< what all ranks must have called alike, the same bytes if they did.
                                  A backend may compare them; the host's `mismatch` words it */
    size_t fingerprint_size; /**< bytes, the same in all calls */
    int64_t timeout_ms;      /**< left when it was posted; -1: no limit. The host watches it, and
                                  calls `abort`, or of a message `cancel` */
    void* backend_data;      /**< the backend's own, NULL when posted */
    void* host_data;         /**< the host's own */
} tutti_backend_call;

typedef struct tutti_backend_place tutti_backend_place;

/** Bytes of a key or a value. */
typedef struct tutti_slice {
    const void* data; /**< `size` bytes, any; may be NULL if size is 0 */
    size_t size;      /**< 0 or more */
} tutti_slice;

/** Takes a result of a store, once for each value; copies it. Never blocks.
 *  @param to     the `to` beside it
 *  @param data   `size` bytes, borrowed
 *  @param size   0 or more */
typedef void (*tutti_give_function)(void* to, const void* data, size_t size);

/** A store. The functions are called from any thread, several at the same time, also while one of
 *  them waits; not after `close`. They return TUTTI_OK or a failure, of which they may write the
 *  message, rank and errno into `error`, which is initialised. They must not throw, longjmp,
 *  end their thread or use the handle that they serve. Each is atomic. */
typedef struct tutti_store_table {
    uint32_t struct_size; /**< sizeof(tutti_store_table) */
    uint32_t version;     /**< TUTTI_EXT_VERSION */
    const char* name;     /**< in errors: letters, digits, - and _ */
    void* user;           /**< for `open` */

    /** Opens a store: only of a table in a library, where it must not be NULL; others get their
     *  store with tutti_store_create_user. `address` is what the program gave, "" for nothing. */
    tutti_status (*open)(void* user, const char* address, int64_t timeout_ms, void** out_store,
                         tutti_error* error);
    /** The last handle has gone, and nothing else is called any more. NULL: nothing to do. */
    void (*close)(void* store);

    /** Sets a value, which may be there. */
    tutti_status (*set)(void* store, const tutti_slice* key, const tutti_slice* value,
                        tutti_error* error);
    /** Gives the value; TUTTI_ERR_TIMEOUT if the key is not there in that time, 0 ms or more. It
     *  may say so earlier: the host asks again until the time of its caller is up. */
    tutti_status (*get)(void* store, const tutti_slice* key, int64_t timeout_ms,
                        tutti_give_function give, void* to, tutti_error* error);
    /** Adds to the value, a decimal number in text; one that is not there is 0. A value
     *  that is no number, and a sum beyond 64 bits: TUTTI_ERR_STORE. */
    tutti_status (*add)(void* store, const tutti_slice* key, int64_t amount, int64_t* out_sum,
                        tutti_error* error);
    /** Until all `count` keys are there, as `get`. */
    tutti_status (*wait)(void* store, const tutti_slice* keys, size_t count, int64_t timeout_ms,
                         tutti_error* error);
    /** Whether all `count` keys are there: 1 or 0. */
    tutti_status (*check)(void* store, const tutti_slice* keys, size_t count, int32_t* out_all,
                          tutti_error* error);
    /** Sets `desired` if the value is `expected`, or if the key is not there and `expected` is
     *  empty; out_was_set: 1 or 0. Gives the value afterwards, nothing if the key is not there. */
    tutti_status (*compare_set)(void* store, const tutti_slice* key, const tutti_slice* expected,
                                const tutti_slice* desired, int32_t* out_was_set,
                                tutti_give_function give, void* to, tutti_error* error);
    /** Removes the key; 1 if it was there, else 0. */
    tutti_status (*delete_key)(void* store, const tutti_slice* key, int32_t* out_deleted,
                               tutti_error* error);

    /** Appends to the value; one that is not there is empty. NULL: by compare_set. */
    tutti_status (*append)(void* store, const tutti_slice* key, const tutti_slice* value,
                           tutti_error* error);
    /** Gives each key. NULL: UNSUPPORTED, as is the number of keys. */
    tutti_status (*list_keys)(void* store, tutti_give_function give, void* to, tutti_error* error);
} tutti_store_table;

/** What the host does for a backend. All functions may be called from any thread, and none blocks
 *  unless it says so. */
typedef struct tutti_backend_host {
    uint32_t struct_size; /**< of the host's struct */
    uint32_t version;     /**< of the host */

    /** Ends a call, once; the call and its pieces are gone then. Hold no lock that `abort` takes:
     *  the host may call `abort` and `post` from within. `source`: the rank that a message came
     *  from; else -1. `error`: message, rank at fault and errno of a failure; NULL: nothing is
     *  known. The message is a plain reason ("connection closed"): the host adds operation, group
     *  and rank. A collective that fails ends the group. */
    void (*finish)(const tutti_backend_call* call, tutti_status status, int32_t source,
                   const tutti_error* error);
    /** Gives `size` bytes, any number, and receives those of all ranks at `output`, in their order;
     *  `size` is the same on all. Only inside `open` and `split`, on all ranks in one order.
     *  Blocks until all have called it, or one of them failed. */
    tutti_status (*all_gather)(const tutti_backend_place* place, const void* input, size_t size,
                               void* output, tutti_error* error);
    /** First step of a reduction, for each rank on its own: output[i] is what this rank brings, of
     *  PREMUL_SUM its input times its factor. `output` may be `input`. */
    void (*reduce_begin)(const tutti_backend_call* call, const void* input, void* output,
                         int64_t count);
    /** output[i] = inputs[0][i] op inputs[1][i] op ..., of what ranks bring, in the order of the
     *  ranks. `output` may be one of the inputs. Sums of float16 and bfloat16 are rounded once if
     *  all ranks' are given at once. Fails if a function of the program does. */
    tutti_status (*reduce)(const tutti_backend_call* call, const void* const* inputs,
                           int32_t input_count, void* output, int64_t count, tutti_error* error);
    /** Last step, once for each element of the result: AVG divides by the number of ranks, unless
     *  `reduce` has done it, as it does for float16 and bfloat16. */
    void (*reduce_end)(const tutti_backend_call* call, void* data, int64_t count);
    /** Words the error of two ranks whose fingerprints differ; `theirs` is the one of `peer`.
     *  Returns TUTTI_ERR_MISMATCH, to give to `finish` with the error. */
    tutti_status (*mismatch)(const tutti_backend_call* call, int32_t peer, const void* theirs,
                             tutti_error* error);
    /** STREAM: gives the stream of a call, right before the backend puts something of the call on
     *  it; what comes there from now on comes after what the caller's stream had before the call,
     *  and after what this backend enqueued before. Not always the same stream: it may be the
     *  caller's, and then a graph may be made of what comes there. */
    tutti_status (*stream)(const tutti_backend_call* call, void** out_stream, tutti_error* error);
    /** STREAM: all of the call is on its stream, in the place of `finish`. The call is not the
     *  backend's any more, and ends when the device has done it. Calls back nothing. */
    void (*enqueued)(const tutti_backend_call* call);
    /** STREAM, inside `split`: whether all calls that this backend has enqueued have ended; 1 or 0.
     */
    tutti_status (*all_ended)(const tutti_backend_place* place, int32_t* out_ended,
                              tutti_error* error);
    /** Between a call with 1 and one with 0, on one thread: no fork comes, and no descriptor that
     *  is opened has a number below 3, which may be free because the program has closed it. Short.
     */
    void (*opening)(int32_t begins);
    /** Inside that: a descriptor that has been opened, which a child of fork is to close. Nothing
     *  is to be said when it is closed. */
    void (*opened)(int32_t descriptor);
} tutti_backend_host;

/** Where a backend is opened: one rank of a group. Valid during `open` or `split`; `host`, `store`
 *  and `store_table` until `close` returns. */
struct tutti_backend_place {
    uint32_t struct_size;                 /**< of the host's struct */
    int32_t rank;                         /**< 0 to size - 1 */
    int32_t size;                         /**< 1 or more */
    tutti_device_type device_type;        /**< the first that it is to serve */
    int32_t device_index;                 /**< that the group is bound to, or 0 */
    int32_t is_bound;                     /**< 1: to that device; 0: to none */
    const char* group;                    /**< unique, and the same on all ranks */
    const char* settings;                 /**< what follows its name: "a=b&c=d"; "": nothing */
    int64_t timeout_ms;                   /**< for opening; -1: no limit */
    const tutti_backend_host* host;       /**< functions of the host */
    const tutti_store_table* store_table; /**< of the store where the ranks met. Its keys here are
                                               those of this backend in this group alone. Beside
                                               what must not be NULL it has nothing; its compare_set
                                               says out_was_set, too, if the value was `desired`
                                               before */
    void* store;     /**< for the functions of store_table; they fail once its server is gone. NULL:
                          the group has no store */
    void* host_data; /**< the host's own */
    const char* group_name; /**< by which errors name the group, for people: any text, which another
                                 group may have as well; "": of no group */
    const char* address;    /**< numeric, of this host: where the other ranks reach this one, if the
                                 backend makes connections of its own; NULL: that is not known */
    int32_t first_port;     /**< it listens at one from here ... */
    int32_t last_port;      /**< ... to here, both included; 0: at any */
};

/** A backend. The functions return TUTTI_OK or a failure, of which they may write the message, rank
 *  and errno into `error`, which is initialised. They must not throw, longjmp, end their thread or
 *  call functions that wait for the same group. `backend` is what `open` or `split` gave. */
typedef struct tutti_backend_table {
    uint32_t struct_size; /**< sizeof(tutti_backend_table) */
    uint32_t version;     /**< TUTTI_EXT_VERSION */
    const char* name;     /**< by which programs name it: 1 to 32 of a-z, 0-9, - and _ */
    void* user;           /**< for `describe` and `open` */

    /** Says what it can do, with these settings. Any thread, often; does not block. A setting that
     *  it does not have: TUTTI_ERR_INVALID_ARGUMENT. */
    tutti_status (*describe)(void* user, const char* settings,
                             tutti_backend_capabilities* out_capabilities, tutti_error* error);
    /** Opens it, on all ranks of a group at the same time, also of a group of one. May block until
     *  the timeout. Several groups may open at the same time. */
    tutti_status (*open)(void* user, const tutti_backend_place* place, void** out_backend,
                         tutti_error* error);
    /** Ends it. All calls have ended, and no function is called any more. Must not block for long.
     */
    void (*close)(void* backend);
    /** Starts a call. Collectives: one at a time, in an order that all ranks share; returns without
     *  waiting for another rank, unless the completion is INLINE. Messages: from any thread at any
     *  time, and posts to one rank with one tag arrive in their order. A failure means that the
     *  call never began: `finish` is not called then. INLINE: the result is that of the call. */
    tutti_status (*post)(void* backend, tutti_backend_call* call, tutti_error* error);
    /** POLLED, messages of INLINE that are not CALLBACK_MESSAGES, and STREAM if it is not NULL
     *  there: makes progress without
     *  waiting, and calls `finish` for what has ended, or `enqueued`; 1 if anything has moved, else
     *  0. One call at a time, on any thread, also at the same time as all others. */
    int32_t (*test)(void* backend);
    /** All calls end soon, with this status, and what is posted later fails with it; only the first
     *  abort counts. The calls end in here or, of POLLED, in `test`, which is called on; of STREAM,
     *  those that are on the stream when the device is done with them, which is to be soon. An
     *  INLINE post under way on another thread returns; its caller waits until it does, and if the
     *  status is TUTTI_ERR_TIMEOUT, its failure may name the rank that it waited for. Any thread,
     *  also within `finish` and before the end of any group. A backend whose calls do not end
     *  within 5 seconds is given up: the calls fail, their memory may be in use, and `close` is
     *  never called. */
    void (*abort)(void* backend, tutti_status status, const char* why);

    /** That rank has left the group: calls that need it fail with TUTTI_ERR_PEER_LOST. Deaths are
     *  the host's to notice; it calls `abort`. Any thread; NULL: nothing happens. */
    void (*left)(void* backend, int32_t rank);
    /** This rank is about to leave: what it sent arrives. May block for a second. NULL: nothing
     *  happens. */
    void (*leave)(void* backend);
    /** Ends a message that nobody can receive, or that has not come: its `finish` is called in here
     *  or soon, with any failure, and 1 is returned; 0 if it has begun to move, or just ended; -1
     *  if it cannot end alone. Called when the time of a message is up, or the program cancels a
     *  receive. Any thread. NULL: as if it returned -1, and then a message whose time is up makes
     *  the host abort the backend. */
    int32_t (*cancel)(void* backend, const tutti_backend_call* call);
    /** Messages that this thread posts between a call with 1 and one with 0 are to be under way at
     *  the same time: none waits for another one of them. NULL: none ever does. */
    void (*together)(void* backend, int32_t begins);
    /** STREAM: whether its calls go on as they should; a failure ends the group.
     *  TUTTI_ERR_PEER_LOST with rank -1: a rank is lost, and the backend does not know which one;
     *  the host finds out, and aborts the backend. Called now and then while calls are there, as
     *  `test`. NULL: they do. */
    tutti_status (*check)(void* backend, tutti_error* error);
    /** Makes the backends of groups that are made of ranks of this group, in the place of `open`:
     *  where all ranks of this group make the new ones together, with this backend and the same
     *  settings. Called on all ranks of this group, also on those that are in no new one, in one
     *  order, once for all new groups; one call at a time. Calls of this group may be under way,
     *  and all other functions but `close` may be called meanwhile. May block until the timeout,
     *  but fails soon after `abort`. What it gives is a backend of its own: of the two, either may
     *  be aborted or closed first.
     *  `color`: which of the new groups this rank is in, 0 or more; -1: none, and nothing is given.
     *  `place`: as for `open`, of the new group, in which its rank orders this rank; of color -1
     *  rank is -1, size 0, and there is no store. Its `all_gather` is one of all ranks of this
     *  group, not of the new one. The rank in an error is one of this group.
     *  A failure of one rank fails on all: their all_gather fails, and what they have made is
     *  aborted and closed. TUTTI_ERR_UNSUPPORTED, from all ranks alike: not now, and the new groups
     *  `open`. NULL: as if it always said so; but all ranks of a group have it, or none. */
    tutti_status (*split)(void* backend, const tutti_backend_place* place, int32_t color,
                          void** out_backend, tutti_error* error);
    /** Allocates memory of a device that the calls of this backend are faster with, for
     *  tutti_memory_alloc: `bytes`, 1 or more, aligned to 256, with anything in it. On this rank
     *  alone. Any thread; may block, but not for another rank. A failure, whatever it is: the
     *  host asks the driver of the device. NULL: as if it always failed; but all ranks of a group
     *  have it, or none. */
    tutti_status (*alloc_memory)(void* backend, tutti_device_type device_type, int32_t device_index,
                                 int64_t bytes, void** out_memory, tutti_error* error);
    /** All ranks have memory of alloc_memory, of as many bytes each, and are about to use it in
     *  calls. Called on all ranks, in one order with the collectives; messages may come meanwhile.
     *  May block until the timeout, but fails soon after `abort`. `place`: as for `split` of color
     *  -1; its `all_gather` is one of all ranks of this group. A failure ends the group. NULL:
     *  nothing happens; but all ranks of a group have it, or none. */
    tutti_status (*share_memory)(void* backend, const tutti_backend_place* place, void* memory,
                                 tutti_error* error);
    /** Frees memory of alloc_memory: the program has released it, and no call uses it. Once for
     *  each, also after `close`. Any thread; may block for a device, but not for another rank. Not
     *  NULL if there is alloc_memory.
     *  @param user  of the table */
    void (*free_memory)(void* user, void* memory);
} tutti_backend_table;

/** How a process of the default group meets the others: the init method that the program gave, and
 *  what becomes of it. Valid during `meet`. */
typedef struct tutti_rendezvous {
    uint32_t struct_size;   /**< of the host's struct */
    int32_t rank;           /**< in: what the program or the URL says, -1: neither; out: 0 to
                                 world_size - 1 */
    int32_t world_size;     /**< in: likewise; out: 1 or more, the same on all ranks */
    uint32_t reserved;      /**< must be 0 */
    const char* url;        /**< as the program gave it */
    const char* address;    /**< what stands between "://" and "?" */
    const char* parameters; /**< "a=b&c=d": those of the URL but rank, world_size and timeout */
    int64_t timeout_ms;     /**< for meeting; -1: no limit. The store's calls get it as well */
    tutti_store* store; /**< out: where the ranks meet; the host takes this handle over. The same
                                 store on all ranks, and no earlier group has met there */
    const tutti_store_table* store_table; /**< out, without `store`: a store of functions, as for
                                               tutti_store_create_user; stays for good */
    void* opened;                         /**< out: for the functions of `store_table` */
} tutti_rendezvous;

/** Ways to meet of one's own: a scheme of init methods, as "tcp" in "tcp://host:port". */
typedef struct tutti_rendezvous_table {
    uint32_t struct_size; /**< sizeof(tutti_rendezvous_table) */
    uint32_t version;     /**< TUTTI_EXT_VERSION */
    const char* name;     /**< the scheme: 1 to 32 of a-z, 0-9, - and _ */
    void* user;           /**< for `meet` */

    /** Finds the store, and the rank and world size if they are not known. It need not wait for
     *  other ranks: the making of the group does. A parameter that it does not have, or an address
     *  that is malformed: TUTTI_ERR_INVALID_ARGUMENT. May block until the timeout, on the thread
     *  that calls tutti_init_process_group. Returns TUTTI_OK or a failure, of which it may write
     *  the message, rank and errno into `error`, which is initialised; then it keeps what it has
     *  written into `rendezvous`. It must not throw, longjmp or end its thread. */
    tutti_status (*meet)(void* user, tutti_rendezvous* rendezvous, tutti_error* error);
} tutti_rendezvous_table;

/** The entry of a library: `name` in `libtutti-name.so`. */
typedef struct tutti_module {
    uint32_t struct_size;                     /**< sizeof(tutti_module) */
    uint32_t version;                         /**< TUTTI_EXT_VERSION */
    const tutti_backend_table* backend;       /**< of the same name; NULL: it has none */
    const tutti_store_table* store;           /**< of the same name; NULL: it has none */
    const tutti_rendezvous_table* rendezvous; /**< of the same name; NULL: it has none */
} tutti_module;

/** The one symbol of such a library, TUTTI_MODULE_SYMBOL: a function that returns its module,
 *  constant and for good. A library that can be of several versions returns that of the host, if it
 *  has it. The library is never unloaded. Searched for by the name of a backend, store or scheme
 *  that is not known otherwise, in this order:
 *    1. the file that the variable TUTTI_NAME_MODULE names, by an absolute path: NAME in
 *       capitals, with _ for -; if the variable is set, nowhere else;
 *    2. libtutti-NAME.so beside libtutti.so;
 *    3. libtutti-NAME.so where the system finds libraries.
 *  @param host_version  the host's TUTTI_EXT_VERSION */
typedef const tutti_module* (*tutti_module_function)(uint32_t host_version);

/** The name of that function. */
#define TUTTI_MODULE_SYMBOL "tutti_module_get"

/** Registers a backend under its name, for all groups of this process that are made later, until
 *  the end of the process.
 *  @param table  read during the call; what its pointers lead to must stay for good
 *  @param error  NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (an entry that is missing, a name that is wrong or taken);
 *           UNSUPPORTED (another version, or a size that no version has)
 *  Source:  torch.distributed.Backend.register_backend
 *  @since 0.1 */
TUTTI_API tutti_status tutti_backend_register(const tutti_backend_table* table, tutti_error* error);

/** Registers a scheme of init methods, for tutti_init_process_group until the end of the process.
 *  @param table  read during the call; what its pointers lead to must stay for good
 *  @param error  NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (an entry that is missing, a name that is wrong or taken);
 *           UNSUPPORTED (another version, or a size that no version has)
 *  Source:  torch.distributed.rendezvous.register_rendezvous_handler
 *  @since 0.1 */
TUTTI_API tutti_status tutti_rendezvous_register(const tutti_rendezvous_table* table,
                                                 tutti_error* error);

/** Makes a store of functions of the caller. They are not called after the last use of the handle
 *  and its clones, when `close` of the table is called.
 *  @param table      read during the call; `open` is not called
 *  @param store      passed to the functions
 *  @param out_store  receives an owned store; its timeout is that of other stores
 *  @param error      NULL, or filled in if the call fails, which leaves `store` to the caller
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (an entry that is missing); UNSUPPORTED (another version, or a size
 *           that no version has); OUT_OF_MEMORY
 *  Source:  torch.distributed.Store, derived from
 *  @since 0.1 */
TUTTI_API tutti_status tutti_store_create_user(const tutti_store_table* table, void* store,
                                               tutti_store** out_store, tutti_error* error);

#ifdef __cplusplus
}
#endif

#endif
