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

/** Options of a group; zero is every field's default. */
typedef struct tutti_group_options {
    uint32_t struct_size;
    uint32_t reserved;  /**< must be 0 */
    int64_t timeout_ms; /**< of making the group, and the default of its operations; 0: 1,800,000
                           (30 minutes) */
} tutti_group_options;

#define TUTTI_GROUP_OPTIONS_INIT \
    { sizeof(tutti_group_options), 0, 0 }

/** Sets every field to its default, for callers that have no C macros.
 *  @param options  memory of the caller; NULL does nothing
 *  @param size     bytes of that memory: the caller's sizeof
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  @since 0.1 */
TUTTI_API void tutti_group_options_init(tutti_group_options* options, size_t size);

/** Makes the default group, TUTTI_GROUP_WORLD: every rank calls this once, and all meet.
 *  @param backend      "gloo", "loopback" (ranks that are threads), or NULL: chosen for the CPU
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
 *           initialised), TIMEOUT (names the ranks that are missing), NETWORK, STORE, UNSUPPORTED
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
 *  is how to end a group, too.
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

/** The name of the group's backend, for instance "gloo".
 *  @param group  borrowed
 *  @return a static string; NULL if the group is not valid
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never: gives NULL
 *  Source:  torch.distributed.get_backend
 *  @since 0.1 */
TUTTI_API const char* tutti_get_backend(tutti_group* group);

/** Gives the handle back; a group that was not destroyed is ended in the background as by
 *  tutti_destroy_process_group.
 *  @param group  owned until now; NULL, TUTTI_GROUP_WORLD and stale handles are ignored
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  @since 0.1 */
TUTTI_API void tutti_group_release(tutti_group* group);

#ifdef __cplusplus
}
#endif

#endif
