/* tutti/group.h: process groups, from the first meeting of the ranks to the end. */
#ifndef TUTTI_GROUP_H
#define TUTTI_GROUP_H

#include <tutti/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The group of all ranks that tutti_init_process_group made; a handle that is never released.
 *  NULL is never a group. */
#define TUTTI_GROUP_WORLD ((tutti_group*)(uintptr_t)1)

/** What a rank that is in none of the new groups receives instead of one. It has no rank and no
 *  size (-1), destroying and releasing it do nothing, and every other call refuses it with
 *  TUTTI_ERR_INVALID_HANDLE. torch: GroupMember.NON_GROUP_MEMBER. */
#define TUTTI_GROUP_NON_MEMBER ((tutti_group*)(uintptr_t)2)

/** Options of a group; zero is every field's default. */
typedef struct tutti_group_options {
    uint32_t struct_size;
    uint32_t reproducible; /**< 1: sums of floating-point and complex numbers are exact and rounded
                              once, see tutti_is_reproducible; the same on all ranks. 0: the fastest
                              sums; of a mesh: as those of its group */
    int64_t timeout_ms;    /**< of making the group, and the default of its operations; 0: 1,800,000
                              (30 minutes) */
} tutti_group_options;

#define TUTTI_GROUP_OPTIONS_INIT \
    { sizeof(tutti_group_options), 0, 0 }

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
TUTTI_API void tutti_group_options_init(tutti_group_options* options, size_t size);

/** Options of tutti_new_group and tutti_split_group; zero is every field's default. */
typedef struct tutti_new_group_options {
    uint32_t struct_size;
    uint32_t use_local_synchronization; /**< 1: only the members of the new group call, and only
                                           they wait for each other */
    int64_t timeout_ms; /**< of making the group, and the default of its operations; 0: that of the
                           group it is made from */
    uint32_t reproducible; /**< TUTTI_AS_PARENT, TUTTI_REPRODUCIBLE or TUTTI_NOT_REPRODUCIBLE; the
                              same on all ranks that call */
    uint32_t reserved;     /**< must be 0 */
} tutti_new_group_options;

#define TUTTI_NEW_GROUP_OPTIONS_INIT \
    { sizeof(tutti_new_group_options), 0, 0, 0, 0 }

/** `reproducible` of a group that is made from another one. */
enum {
    TUTTI_AS_PARENT = 0,       /**< what the other group is */
    TUTTI_REPRODUCIBLE = 1,    /**< see tutti_is_reproducible */
    TUTTI_NOT_REPRODUCIBLE = 2 /**< the fastest sums */
};

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
TUTTI_API void tutti_new_group_options_init(tutti_new_group_options* options, size_t size);

/** Makes the default group, TUTTI_GROUP_WORLD: every rank calls this once, and all meet.
 *  @param backend      "gloo" (any hosts), "shm" (ranks of one host, by memory that all of them
 *                      see), "hierarchy" (any hosts, by memory inside each), "loopback" (ranks
 *                      that are threads); NULL, the same on all ranks: "shm" where all share
 *                      memory, "hierarchy" where some do, else "gloo"
 *  @param init_method  where to meet; NULL: "env://"
 *                      "env://": MASTER_ADDR (rank 0 may do without: it serves at every address
 *                        then), MASTER_PORT, RANK and WORLD_SIZE; without the last two what Open
 *                        MPI, PMI or Slurm tells;
 *                      "tcp://host:port": rank 0 serves there; an IPv6 address in brackets;
 *                      "file:///path": a file all can reach, not there before. A rank that is
 *                        taken there is refused: by another process, or by one of an earlier run
 *                        that ended without destroying its group, whose file must be removed.
 *                        What PyTorch left in a file, or its ranks, cannot be recognised
 *                      Any may end in ?rank=R&world_size=N&timeout=SECONDS, or some of them. What
 *                      is also an argument must agree; env:// asks no variable for it
 *  @param rank         0 to world_size - 1; -1: from the init method
 *  @param world_size   1 or more; -1: from the init method
 *  @param options      NULL: defaults; a timeout of 0 may come from the init method
 *  Blocks:  until all ranks have come, up to the timeout
 *  Threads: not while another thread starts or destroys the default group
 *  Fails:   INVALID_ARGUMENT (a missing or malformed variable or URL part is named; already
 *           initialised), TIMEOUT (names the ranks that are missing, and who was refused), NETWORK
 *           (also where nobody came to serve at the address of tcp:// or env://, which is rank 0
 *           mostly: it tells the attempts, "Connection refused"), STORE, UNSUPPORTED, MISMATCH
 *           (options.reproducible differs between the ranks), OUT_OF_MEMORY (too few descriptors
 *           or threads, or too little memory; names the rank and the limit)
 *  Source:  torch.distributed.init_process_group
 *  @since 0.1 */
TUTTI_API tutti_status tutti_init_process_group(const char* backend, const char* init_method,
                                                int32_t rank, int32_t world_size,
                                                const tutti_group_options* options,
                                                tutti_error* error);

/** Makes the default group, meeting at a store that the caller has.
 *  @param store  borrowed; kept alive by the group
 *  (the other parameters as in tutti_init_process_group, rank and world_size given)
 *  Blocks:  until all ranks have come, up to the timeout
 *  Threads: not while another thread starts or destroys the default group
 *  Fails:   as tutti_init_process_group; INVALID_HANDLE
 *  Source:  torch.distributed.init_process_group(store=...)
 *  @since 0.1 */
TUTTI_API tutti_status tutti_init_process_group_with_store(const char* backend, tutti_store* store,
                                                           int32_t rank, int32_t world_size,
                                                           const tutti_group_options* options,
                                                           tutti_error* error);

/** 1 if the default group exists in this process, else 0.
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  Source:  torch.distributed.is_initialized
 *  @since 0.1 */
TUTTI_API int32_t tutti_is_initialized(void);

/** Makes a group with no global state: several may live in one process, also several ranks of one
 *  group, as threads.
 *  @param backend     as in tutti_init_process_group
 *  @param store       borrowed, kept alive by the group; one set of ranks, one use: give further
 *                     groups a prefix store
 *  @param rank        0 to world_size - 1
 *  @param world_size  1 or more
 *  @param options     NULL: defaults
 *  @param out_group   receives an owned group
 *  Blocks:  until all ranks have come, up to the timeout
 *  Threads: any
 *  Fails:   as tutti_init_process_group; INVALID_HANDLE
 *  @since 0.1 */
TUTTI_API tutti_status tutti_group_create(const char* backend, tutti_store* store, int32_t rank,
                                          int32_t world_size, const tutti_group_options* options,
                                          tutti_group** out_group, tutti_error* error);

/** Makes a group of some of the ranks of another one. Every rank of `group` calls it with the same
 *  arguments and returns when all have; calls for one `group` must come in the same order on all
 *  its ranks, so only one thread at a time should make them. Ranks that called with different ranks
 *  or backends all get MISMATCH, which shows both sides, and `group` stays as it was. The ranks of
 *  the new group are numbered in the order of their ranks in `group`.
 *  @param group        the group to choose from; for torch's meaning TUTTI_GROUP_WORLD
 *  @param ranks        `count` ranks of `group`, each once, in any order; NULL: all of them
 *  @param count        1 or more; 0 if `ranks` is NULL
 *  @param backend      as in tutti_init_process_group; NULL: that of `group`
 *  @param description  what errors call the group, copied; NULL: its parent's name and a number
 *  @param options      NULL: defaults. With use_local_synchronization only the members call; then
 *                      groups that share ranks must be made in an order that all of them agree on
 *  @param out_group    receives an owned group, or TUTTI_GROUP_NON_MEMBER
 *  Blocks:  until all ranks have called and the members have met, up to the timeout
 *  Threads: any, one at a time for each `group`
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, UNSUPPORTED; MISMATCH; TIMEOUT (names the ranks that
 *           have not called); PEER_LOST (a rank died or left meanwhile); ABORTED, STORE, NETWORK
 *  Source:  torch.distributed.new_group
 *  @since 0.1 */
TUTTI_API tutti_status tutti_new_group(tutti_group* group, const int32_t* ranks, size_t count,
                                       const char* backend, const char* description,
                                       const tutti_new_group_options* options,
                                       tutti_group** out_group, tutti_error* error);

/** Makes several groups that share no rank out of one, in one step; every rank of `group` calls it
 *  with the same arguments and receives the group it is in.
 *  @param group        the group to split
 *  @param ranks        the ranks of `group` in the first new group, then those in the second, ...;
 *                      no rank twice, not necessarily all
 *  @param sizes        `split_count` numbers: how many ranks each new group has, 1 or more
 *  @param split_count  1 or more
 *  @param description  what errors call the groups, copied; NULL: their parent's name and a number
 *  @param options      NULL: defaults; use_local_synchronization must be 0
 *  @param out_group    receives an owned group, or TUTTI_GROUP_NON_MEMBER
 *  (all else as in tutti_new_group; the backend is that of `group`)
 *  Blocks:  until all ranks have called and the members have met, up to the timeout
 *  Threads: any, one at a time for each `group`
 *  Fails:   as tutti_new_group
 *  Source:  torch.distributed.split_group
 *  @since 0.1 */
TUTTI_API tutti_status tutti_split_group(tutti_group* group, const int32_t* ranks,
                                         const int32_t* sizes, size_t split_count,
                                         const char* description,
                                         const tutti_new_group_options* options,
                                         tutti_group** out_group, tutti_error* error);
/** An all-gather of the caller's own means, with which ranks meet: MPI_Allgather of MPI_BYTE, for
 *  instance. Every rank gives `size` bytes and receives those of all ranks.
 *  @param input   `size` bytes of this rank; borrowed until the callback returns
 *  @param output  receives world_size times `size` bytes, in the order of the ranks
 *  @param size    the same on every rank
 *  @param user    what tutti_group_create_with_allgather was given
 *  @return TUTTI_OK, or the status with which the making of the group shall fail */
typedef tutti_status (*tutti_allgather_callback)(const void* input, void* output, size_t size,
                                                 void* user);

/** Makes a group as tutti_group_create does, without a store: for programs that have MPI or other
 *  means to reach each other. Rank 0 serves a store at a free port, for as long as its group
 *  lives, and the callback tells the others where: at every address of its host, or the first of
 *  TUTTI_SOCKET_IFNAME, or TUTTI_STORE_BIND.
 *  @param backend     as in tutti_init_process_group
 *  @param callback    called once, by this thread, before this returns; not called if an argument
 *                     is refused
 *  @param user        handed to the callback as it is
 *  @param rank        0 to world_size - 1, the rank that the callback's all-gather knows, too
 *  @param world_size  1 or more
 *  @param options     NULL: defaults; the timeout does not end the callback
 *  @param out_group   receives an owned group
 *  Blocks:  until all ranks have come, up to the timeout
 *  Threads: any
 *  Fails:   as tutti_group_create; what the callback returned; INVALID_ARGUMENT (its output is not
 *           what the ranks gave), MISMATCH (they disagree on world_size)
 *  @since 0.1 */
TUTTI_API tutti_status tutti_group_create_with_allgather(
    const char* backend, tutti_allgather_callback callback, void* user, int32_t rank,
    int32_t world_size, const tutti_group_options* options, tutti_group** out_group,
    tutti_error* error);

/** Ends a group: finished sends arrive, operations still running end with TUTTI_ERR_ABORTED,
 *  connections are closed. Every rank calls it; a rank does not wait for the others. The handle
 *  stays to be released, except for TUTTI_GROUP_WORLD, which has no release. After a failure this
 *  is how to end a group, too. TUTTI_GROUP_WORLD, and a group from tutti_group_create, take all
 *  groups with them that were made from them; a group that was made from another ends alone.
 *  @param group  borrowed
 *  Blocks:  for the running operations to let go of their buffers, milliseconds; up to two seconds
 *           if a receiver does not take what was sent
 *  Threads: any
 *  Fails:   INVALID_HANDLE (no group, or destroyed before)
 *  Source:  torch.distributed.destroy_process_group
 *  @since 0.1 */
TUTTI_API tutti_status tutti_destroy_process_group(tutti_group* group, tutti_error* error);

/** This process's rank in the group; -1 if it has none or the group is not valid.
 *  @param group  borrowed
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never: gives -1
 *  Source:  torch.distributed.get_rank
 *  @since 0.1 */
TUTTI_API int32_t tutti_get_rank(tutti_group* group);

/** How many ranks the group has; -1 if it is not valid.
 *  @param group  borrowed
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never: gives -1
 *  Source:  torch.distributed.get_world_size
 *  @since 0.1 */
TUTTI_API int32_t tutti_get_world_size(tutti_group* group);

/** The name of the group's backend, for instance "shm", also where it was chosen.
 *  @param group  borrowed
 *  @return a static string; NULL if the group is not valid
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never: gives NULL
 *  Source:  torch.distributed.get_backend
 *  @since 0.1 */
TUTTI_API const char* tutti_get_backend(tutti_group* group);

/** Whether the group was made with `reproducible`. In such a group tutti_all_reduce, tutti_reduce,
 *  tutti_reduce_scatter and tutti_reduce_scatter_tensor give SUM of float16, bfloat16, float32,
 *  float64 and of complex numbers' two parts as the exact sum of what all ranks contribute, rounded
 *  once to nearest even: the same bits with every backend, whatever the sizes, the order of the
 *  ranks, and how tutti_all_reduce_addends spreads the addends over them. AVG is this sum divided
 *  once; PREMUL_SUM rounds each product, then the sum. Infinities, NaN (always the positive quiet
 *  one) and -0 are as in plain sums; what overflows is the exact sum alone. PRODUCT of
 *  floating-point numbers and functions of callers are done rank by rank in ascending order: the
 *  same with every backend and size, but not if ranks are renumbered. All other ops have one result
 *  anyway, in any group. Threads must agree on rounding mode and subnormals, as usual.
 *  @param group  borrowed
 *  @return 1 or 0; -1 if the group is not valid
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never: gives -1
 *  @since 0.1 */
TUTTI_API int32_t tutti_is_reproducible(tutti_group* group);

/** A rank of the group, from its number among all ranks: those of TUTTI_GROUP_WORLD or of the group
 *  from tutti_group_create that the group was made from.
 *  @param group        borrowed
 *  @param global_rank  rank in the group that all began with
 *  @return the rank in `group`; -1 if it is not a member, or the group is not valid
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never: gives -1
 *  Source:  torch.distributed.get_group_rank
 *  @since 0.1 */
TUTTI_API int32_t tutti_get_group_rank(tutti_group* group, int32_t global_rank);

/** The number among all ranks of a rank of the group; the reverse of tutti_get_group_rank.
 *  @param group       borrowed
 *  @param group_rank  rank in `group`
 *  @return the global rank; -1 if there is no such rank, or the group is not valid
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never: gives -1
 *  Source:  torch.distributed.get_global_rank
 *  @since 0.1 */
TUTTI_API int32_t tutti_get_global_rank(tutti_group* group, int32_t group_rank);

/** The global ranks of a group's members, in the order of their ranks in the group.
 *  @param group      borrowed
 *  @param out_ranks  receives tutti_get_world_size(group) numbers
 *  @param count      how many `out_ranks` has room for
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (too little room), INVALID_HANDLE
 *  Source:  torch.distributed.get_process_group_ranks
 *  @since 0.1 */
TUTTI_API tutti_status tutti_get_process_group_ranks(tutti_group* group, int32_t* out_ranks,
                                                     size_t count, tutti_error* error);

/** Sets the timeout of the group's operations from the next one on, and of making groups from it.
 *  Each rank sets its own.
 *  @param group       borrowed
 *  @param timeout_ms  above 0, or TUTTI_NO_TIMEOUT
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE
 *  Source:  torch.distributed.distributed_c10d._set_pg_timeout
 *  @since 0.1 */
TUTTI_API tutti_status tutti_set_timeout(tutti_group* group, int64_t timeout_ms,
                                         tutti_error* error);

/** How many groups a process is in: the default group and those made from it that were not
 *  destroyed; 0 without a default group.
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  Source:  torch.distributed.get_pg_count
 *  @since 0.1 */
TUTTI_API int32_t tutti_get_pg_count(void);

/** The backend that torch would choose for tensors on a device.
 *  @param device  "cpu", "cuda" or "xpu", with or without an index ("cuda:1")
 *  @return "gloo", "nccl" or "xccl", a static string; NULL for any other device. Whether this build
 *          has it, tutti_is_backend_available tells
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never: gives NULL
 *  Source:  torch.distributed.get_default_backend_for_device
 *  @since 0.1 */
TUTTI_API const char* tutti_get_default_backend_for_device(const char* device);

/** 1 if torchrun, or tuttirun, started this process: TORCHELASTIC_RUN_ID is set; else 0.
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  Source:  torch.distributed.is_torchelastic_launched
 *  @since 0.1 */
TUTTI_API int32_t tutti_is_torchelastic_launched(void);

/** Gives the handle back; a group that was not destroyed is ended in the background as by
 *  tutti_destroy_process_group, one that other groups were made from once they have ended.
 *  @param group  owned until now; NULL, TUTTI_GROUP_WORLD, TUTTI_GROUP_NON_MEMBER and stale
 *                handles are ignored
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  @since 0.1 */
TUTTI_API void tutti_group_release(tutti_group* group);

#ifdef __cplusplus
}
#endif

#endif
