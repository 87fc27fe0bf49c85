/* tutti/group.h: process groups. */
#ifndef TUTTI_GROUP_H
#define TUTTI_GROUP_H

#include <tutti/bytes.h>
#include <tutti/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The default group of all ranks, which tutti_init_process_group makes. This handle is never
 *  released. NULL is never a group. */
#define TUTTI_GROUP_WORLD ((tutti_group*)(uintptr_t)1)

/** The handle that a rank outside the new groups receives. Its rank and size are -1. Destroying and
 *  releasing it do nothing, and tutti_group_reconfigure takes it for no group. Every other call
 *  refuses it with TUTTI_ERR_INVALID_HANDLE. torch: GroupMember.NON_GROUP_MEMBER. */
#define TUTTI_GROUP_NON_MEMBER ((tutti_group*)(uintptr_t)2)

/** Options of a group; zero is every field's default. */
typedef struct tutti_group_options {
    uint32_t struct_size;  /**< sizeof the struct: the INIT macro or the init function sets it */
    uint32_t reproducible; /**< 1: sums of floating-point and complex numbers are exact and rounded
                                once, see tutti_group_is_reproducible; the same on all ranks. 0: the
                                fastest sums; for a mesh: as its group */
    int64_t timeout_ms;    /**< for making the group, and the default of its operations; 0:
                                1,800,000 (30 minutes) */
    tutti_device_type device_type; /**< with device_index the one device that this rank works on,
                                        see tutti_group_get_bound_device; TUTTI_CPU: none; for a
                                        mesh: that of its group */
    int32_t device_index;          /**< 0 for the CPU; each rank has its own */
} tutti_group_options;

/** Options with every field at its default. */
#define TUTTI_GROUP_OPTIONS_INIT \
    { sizeof(tutti_group_options), 0, 0, TUTTI_CPU, 0 }

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
TUTTI_API void tutti_group_options_init(tutti_group_options* options, size_t size);

/** Options of tutti_new_group and tutti_split_group; zero is every field's default. */
typedef struct tutti_new_group_options {
    uint32_t struct_size; /**< sizeof the struct: the INIT macro or the init function sets it */
    uint32_t use_local_synchronization; /**< 1: only the members of the new group make the call, and
                                             wait for each other */
    int64_t timeout_ms; /**< for making the group, and the default of its operations; 0: that of the
                             parent group */
    uint32_t reproducible; /**< TUTTI_AS_PARENT, TUTTI_REPRODUCIBLE or TUTTI_NOT_REPRODUCIBLE; the
                              same on all ranks that call */
    tutti_device_type device_type; /**< with device_index the device that the group is bound to;
                                        TUTTI_CPU: that of the parent group, if it has one */
    int32_t device_index;          /**< 0 with TUTTI_CPU; each rank has its own */
    uint32_t reserved;             /**< must be 0 */
} tutti_new_group_options;

/** Options with every field at its default. */
#define TUTTI_NEW_GROUP_OPTIONS_INIT \
    { sizeof(tutti_new_group_options), 0, 0, 0, TUTTI_CPU, 0, 0 }

/** `reproducible` of a group made from a parent group. */
enum {
    TUTTI_AS_PARENT = 0,       /**< as the parent */
    TUTTI_REPRODUCIBLE = 1,    /**< see tutti_group_is_reproducible */
    TUTTI_NOT_REPRODUCIBLE = 2 /**< the fastest sums */
};

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
TUTTI_API void tutti_new_group_options_init(tutti_new_group_options* options, size_t size);

/** Makes the default group, TUTTI_GROUP_WORLD. Every rank calls this once. It returns when all
 *  ranks have called it. A process may have its standard input, output or error closed, as a daemon
 *  has: no descriptor of the library has their numbers, which stay free. Programs that the process
 *  executes inherit none of the library's descriptors.
 *  @param backend      how the ranks communicate, the same on all ranks; NULL chooses "shm" if all
 *                      ranks share memory, "hierarchy" if some do, else "tcp":
 *                      "tcp": TCP, any hosts;
 *                      "gloo": TCP by the Gloo library, any hosts;
 *                      "shm": shared memory, ranks of one host;
 *                      "hierarchy": shared memory inside each host, TCP between hosts;
 *                      "loopback": ranks that are threads of one process.
 *                      Another name: a backend that was registered, or one in a library
 *                      libtutti-NAME.so (tutti/ext.h).
 *                      A backend's settings follow its name as in a URL:
 *                      "name?setting=value&setting=value". The backends above have no settings.
 *                      A name stands for every type of device that the backend serves. A map names
 *                      one for each type: "cpu:gloo,cuda:other". Calls go by the device of their
 *                      buffers; barriers, objects and byte strings go to the CPU's. Without a
 *                      backend for the CPU the ranks choose one for these, and buffers of the CPU
 *                      are refused. CPU-only backends serve CUDA through host memory
 *  @param init_method  where the ranks meet; NULL: "env://":
 *                      "env://": at MASTER_ADDR and MASTER_PORT, with RANK and WORLD_SIZE. Without
 *                        the last two, the variables of Open MPI, PMI or Slurm count. Without
 *                        MASTER_ADDR, rank 0 serves at every address;
 *                      "tcp://host:port": rank 0 serves there; an IPv6 address is in brackets.
 *                        The store of an earlier group that is ending is waited out;
 *                      "file:///path": in a file that all ranks can reach. The file must not exist
 *                        before. A rank is refused if another process has its place, also one of an
 *                        earlier run that did not destroy its group: then remove the file.
 *                        Files and ranks of PyTorch are not recognised.
 *                      Each may end in ?rank=R&world_size=N&timeout=SECONDS, or a part of this. It
 *                      must agree with the arguments, and replaces the variables of env://
 *  @param description  name of the group in errors, copied; NULL: "world"
 *  @param rank         0 to world_size - 1; -1: from the init method
 *  @param world_size   1 or more; -1: from the init method
 *  @param options      NULL: defaults; a timeout of 0 may come from the init method
 *  @param error        NULL, or filled in if the call fails
 *  Blocks:  until all ranks are connected, up to the timeout
 *  Threads: not while another thread starts or destroys the default group
 *  Fails:   INVALID_ARGUMENT (names a missing or malformed variable or part of the URL; already
 *           initialised), TIMEOUT (names the missing ranks, and ranks that were refused), NETWORK
 *           (also if no process serves at the address of tcp:// or env://; shows each attempt),
 *           STORE, UNSUPPORTED (also: no device of the options' type is here), MISMATCH
 *           (options.reproducible differs between the ranks), OUT_OF_MEMORY (descriptors, threads
 *           or memory; names the rank and the limit)
 *  Source:  torch.distributed.init_process_group
 *  @since 0.1 */
TUTTI_API tutti_status tutti_init_process_group(const char* backend, const char* init_method,
                                                const char* description, int32_t rank,
                                                int32_t world_size,
                                                const tutti_group_options* options,
                                                tutti_error* error);

/** Makes the default group. Its ranks meet at a store that the caller provides.
 *  @param backend      as in tutti_init_process_group
 *  @param store        borrowed; kept alive by the group
 *  @param description  name of the group in errors, copied; NULL: "world"
 *  @param rank         0 to world_size - 1
 *  @param world_size   1 or more
 *  @param options      NULL: defaults
 *  @param error        NULL, or filled in if the call fails
 *  Blocks:  until all ranks are connected, up to the timeout
 *  Threads: not while another thread starts or destroys the default group
 *  Fails:   as tutti_init_process_group; INVALID_HANDLE
 *  Source:  torch.distributed.init_process_group(store=...)
 *  @since 0.1 */
TUTTI_API tutti_status tutti_init_process_group_with_store(const char* backend, tutti_store* store,
                                                           const char* description, int32_t rank,
                                                           int32_t world_size,
                                                           const tutti_group_options* options,
                                                           tutti_error* error);

/** Whether the default group exists in this process.
 *  @return 1 or 0
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  Source:  torch.distributed.is_initialized
 *  @since 0.1 */
TUTTI_API int32_t tutti_is_initialized(void);

/** Makes a group with no global state. A process can have several such groups, and several ranks of
 *  one group, as threads.
 *  @param backend     as in tutti_init_process_group
 *  @param store       borrowed, kept alive by the group. Use a store, or a prefix of it, for one
 *                     group only
 *  @param description name of the group in errors, copied; NULL: "unnamed"
 *  @param rank        0 to world_size - 1
 *  @param world_size  1 or more
 *  @param options     NULL: defaults
 *  @param out_group   receives an owned group
 *  @param error       NULL, or filled in if the call fails
 *  Blocks:  until all ranks are connected, up to the timeout
 *  Threads: any
 *  Fails:   as tutti_init_process_group; INVALID_HANDLE
 *  @since 0.1 */
TUTTI_API tutti_status tutti_group_create(const char* backend, tutti_store* store,
                                          const char* description, int32_t rank, int32_t world_size,
                                          const tutti_group_options* options,
                                          tutti_group** out_group, tutti_error* error);

/** Makes a group from some ranks of another one. Every rank of `group` calls it with the same
 *  arguments. It returns when all ranks have called it. All ranks must make such calls for one
 *  `group` in the same order, so only one thread at a time should make them. If the ranks'
 *  arguments differ, all get MISMATCH, which shows both sides, and `group` is not affected. The
 *  ranks of the new group are in the order of their ranks in `group`.
 *  @param group        the parent group; torch uses TUTTI_GROUP_WORLD
 *  @param ranks        `count` ranks of `group`, each once, in any order; NULL: all of them
 *  @param count        1 or more; 0 if `ranks` is NULL
 *  @param backend      as in tutti_init_process_group; NULL: that of `group`
 *  @param description  name of the group in errors, copied; NULL: the parent's name and a number
 *  @param options      NULL: defaults. With use_local_synchronization only the members make the
 *                      call; groups that share ranks must then be made in the same order
 *  @param out_group    receives an owned group, or TUTTI_GROUP_NON_MEMBER
 *  @param error        NULL, or filled in if the call fails
 *  Blocks:  until all ranks have called and the members are connected, up to the timeout
 *  Threads: any, one at a time for each `group`
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, UNSUPPORTED; MISMATCH; TIMEOUT (names the ranks that
 *           have not called); PEER_LOST (a rank died or left meanwhile); ABORTED, STORE, NETWORK
 *  Source:  torch.distributed.new_group
 *  @since 0.1 */
TUTTI_API tutti_status tutti_new_group(tutti_group* group, const int32_t* ranks, int64_t count,
                                       const char* backend, const char* description,
                                       const tutti_new_group_options* options,
                                       tutti_group** out_group, tutti_error* error);

/** Splits a group into several groups that share no rank. Every rank of `group` calls it with the
 *  same arguments, and receives the group that it is in.
 *  @param group        the group to split
 *  @param ranks        `count` ranks of `group`: those of the first new group, then those of the
 *                      second, ...; each rank at most once. The ranks of each new group are in the
 *                      order of their ranks in `group`
 *  @param count        the sum of `sizes`
 *  @param sizes        `split_count` numbers: the sizes of the new groups, 1 or more
 *  @param split_count  1 or more
 *  @param description  name of the groups in errors, copied; NULL: the parent's name and a number
 *  @param options      NULL: defaults; use_local_synchronization must be 0. The backend is that of
 *                      `group`
 *  @param out_group    receives an owned group, or TUTTI_GROUP_NON_MEMBER
 *  @param error        NULL, or filled in if the call fails
 *  Blocks:  until all ranks have called and the members are connected, up to the timeout
 *  Threads: any, one at a time for each `group`
 *  Fails:   as tutti_new_group
 *  Source:  torch.distributed.split_group
 *  @since 0.1 */
TUTTI_API tutti_status tutti_split_group(tutti_group* group, const int32_t* ranks, int64_t count,
                                         const int64_t* sizes, int64_t split_count,
                                         const char* description,
                                         const tutti_new_group_options* options,
                                         tutti_group** out_group, tutti_error* error);

/** An all-gather that the caller provides, for instance MPI_Allgather of MPI_BYTE. Every rank
 *  contributes `size` bytes and receives those of all ranks.
 *  @param input   `size` bytes of this rank; borrowed until the callback returns
 *  @param output  receives world_size times `size` bytes, in the order of the ranks
 *  @param size    the same on every rank
 *  @param user    the `user` of tutti_group_create_with_allgather
 *  @param error   initialised; a message that the callback writes here becomes part of the error
 *  @return TUTTI_OK, or the status with which making the group fails */
typedef tutti_status (*tutti_allgather_callback)(const void* input, void* output, size_t size,
                                                 void* user, tutti_error* error);

/** Makes a group as tutti_group_create, without a store, for programs that have MPI or another way
 *  to communicate. Rank 0 serves a store at a free port while its group exists, and the callback
 *  tells the other ranks its address. The store listens at every address of the host, or the first
 *  of TUTTI_SOCKET_IFNAME, or TUTTI_STORE_BIND.
 *  @param backend     as in tutti_init_process_group
 *  @param callback    called once, by this thread, before this returns; not called if an argument
 *                     is refused
 *  @param user        passed to the callback unchanged
 *  @param description name of the group in errors, copied; NULL: "unnamed"
 *  @param rank        0 to world_size - 1, also the rank in the callback's all-gather
 *  @param world_size  1 or more
 *  @param options     NULL: defaults; the timeout does not end the callback
 *  @param out_group   receives an owned group
 *  @param error       NULL, or filled in if the call fails
 *  Blocks:  until all ranks are connected, up to the timeout
 *  Threads: any
 *  Fails:   as tutti_group_create; the status that the callback returned; INVALID_ARGUMENT (its
 *           output differs from the ranks' inputs), MISMATCH (the ranks pass different world sizes)
 *  @since 0.1 */
TUTTI_API tutti_status tutti_group_create_with_allgather(
    const char* backend, tutti_allgather_callback callback, void* user, const char* description,
    int32_t rank, int32_t world_size, const tutti_group_options* options, tutti_group** out_group,
    tutti_error* error);

/** Options of tutti_destroy_process_group; zero is every field's default. */
typedef struct tutti_destroy_options {
    uint32_t struct_size; /**< sizeof the struct: the INIT macro or the init function sets it */
    uint32_t reserved;    /**< must be 0 */
    int64_t timeout_ms;   /**< time for what was sent to be delivered; 0: 2,000 */
} tutti_destroy_options;

/** Options with every field at its default. */
#define TUTTI_DESTROY_OPTIONS_INIT \
    { sizeof(tutti_destroy_options), 0, 0 }

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
TUTTI_API void tutti_destroy_options_init(tutti_destroy_options* options, size_t size);

/** Ends a group. What was sent is delivered, running operations end with TUTTI_ERR_ABORTED, and
 *  connections are closed. Every rank calls it, also after a failure. A rank does not wait for the
 *  others. You still release the handle, except for TUTTI_GROUP_WORLD. Destroying
 *  TUTTI_GROUP_WORLD, or a group from tutti_group_create, also ends all groups that were made from
 *  it. A group that was made from another ends alone.
 *  @param group    borrowed
 *  @param options  NULL: defaults
 *  @param error    NULL, or filled in if the call fails
 *  Blocks:  until running operations have stopped using their buffers, which takes milliseconds; up
 *           to the timeout if a receiver does not read what was sent
 *  Threads: any
 *  Fails:   INVALID_HANDLE (not a group, or already destroyed)
 *  Source:  torch.distributed.destroy_process_group
 *  @since 0.1 */
TUTTI_API tutti_status tutti_destroy_process_group(tutti_group* group,
                                                   const tutti_destroy_options* options,
                                                   tutti_error* error);

/** This process's rank in the group.
 *  @param group  borrowed
 *  @return 0 or more; -1 if the process has no rank in it or the group is not valid
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never: gives -1
 *  Source:  torch.distributed.get_rank
 *  @since 0.1 */
TUTTI_API int32_t tutti_get_rank(tutti_group* group);

/** The number of ranks of the group.
 *  @param group  borrowed
 *  @return 1 or more; -1 if the group is not valid
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never: gives -1
 *  Source:  torch.distributed.get_world_size
 *  @since 0.1 */
TUTTI_API int32_t tutti_get_world_size(tutti_group* group);

/** The name of the group's backend, for instance "shm", also if tutti chose it.
 *  @param group  borrowed
 *  @return a static string; NULL if the group is not valid
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never: gives NULL
 *  Source:  torch.distributed.get_backend
 *  @since 0.1 */
TUTTI_API const char* tutti_get_backend(tutti_group* group);

/** The name of the backend that serves the group's buffers on a type of device.
 *  @param group        borrowed
 *  @param device_type  TUTTI_CPU, TUTTI_CUDA or TUTTI_XPU
 *  @return a static string; NULL if the group is not valid, or refuses such buffers
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never: gives NULL
 *  Source:  torch.distributed.ProcessGroup._get_backend
 *  @since 0.1 */
TUTTI_API const char* tutti_get_backend_for_device(tutti_group* group,
                                                   tutti_device_type device_type);

/** The group's backends by type of device, for instance "cpu:gloo,cuda:gloo", with the settings of
 *  each. tutti_init_process_group takes such a text.
 *  @param group       borrowed
 *  @param out_config  receives owned bytes: UTF-8
 *  @param error       NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE
 *  Source:  torch.distributed.get_backend_config
 *  @since 0.1 */
TUTTI_API tutti_status tutti_get_backend_config(tutti_group* group, tutti_bytes** out_config,
                                                tutti_error* error);

/** Whether the group was made with `reproducible`. In such a group, tutti_all_reduce, tutti_reduce,
 *  tutti_reduce_scatter and tutti_reduce_scatter_tensor compute SUM of floating-point and complex
 *  numbers exactly and round it once to nearest even. The bits are the same with every backend,
 *  number of elements and order of ranks, and for every distribution of the buffers of
 *  tutti_all_reduce_addends over the ranks. AVG is this sum, divided once. PREMUL_SUM rounds each
 *  product, then the sum. Infinities, NaN (always the positive quiet one) and -0 are as in plain
 *  sums; only the exact sum can overflow. PRODUCT of floating-point numbers and callers' functions
 *  are applied in ascending order of the ranks: their bits are the same with every backend and
 *  number of elements, but not if ranks are renumbered. All other ops have only one result, in any
 *  group. All threads must use the same rounding mode and handling of subnormals.
 *  @param group  borrowed
 *  @return 1 or 0; -1 if the group is not valid
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never: gives -1
 *  @since 0.1 */
TUTTI_API int32_t tutti_group_is_reproducible(tutti_group* group);

/** The one device that this rank works on in the group: that of the options with which the group,
 *  or the group that it was made from, was made. A call whose buffers are on another device of that
 *  type is refused. Buffers in memory of the CPU may be used all the same.
 *  @param group             borrowed
 *  @param out_device_type   receives the type; TUTTI_CPU if the group is bound to no device
 *  @param out_device_index  receives the number of the device; 0 if there is none
 *  @param error             NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE
 *  Source:  the device_id of torch.distributed.init_process_group, which torch keeps as
 *           ProcessGroup.bound_device_id
 *  @since 0.1 */
TUTTI_API tutti_status tutti_group_get_bound_device(tutti_group* group,
                                                    tutti_device_type* out_device_type,
                                                    int32_t* out_device_index, tutti_error* error);

/** Converts a global rank to a rank of the group. Global ranks are those of TUTTI_GROUP_WORLD, or
 *  of the group from tutti_group_create that the group was made from.
 *  @param group        borrowed
 *  @param global_rank  rank among all ranks, from 0
 *  @return the rank in `group`; -1 if it is not a member, or the group is not valid
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never: gives -1
 *  Source:  torch.distributed.get_group_rank
 *  @since 0.1 */
TUTTI_API int32_t tutti_get_group_rank(tutti_group* group, int32_t global_rank);

/** Converts a rank of the group to a global rank; the reverse of tutti_get_group_rank.
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
 *  @param count      room in `out_ranks`
 *  @param error      NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (too little room), INVALID_HANDLE
 *  Source:  torch.distributed.get_process_group_ranks
 *  @since 0.1 */
TUTTI_API tutti_status tutti_get_process_group_ranks(tutti_group* group, int32_t* out_ranks,
                                                     int64_t count, tutti_error* error);

/** Sets the default timeout of the group's next operations, and of making groups from it. Each rank
 *  sets its own.
 *  @param group       borrowed
 *  @param timeout_ms  above 0, or TUTTI_NO_TIMEOUT
 *  @param error       NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE
 *  Source:  torch.distributed.distributed_c10d._set_pg_timeout
 *  @since 0.1 */
TUTTI_API tutti_status tutti_group_set_timeout(tutti_group* group, int64_t timeout_ms,
                                               tutti_error* error);

/** The default timeout of the group's operations.
 *  @param group           borrowed
 *  @param out_timeout_ms  receives milliseconds, or TUTTI_NO_TIMEOUT
 *  @param error           NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE
 *  Source:  torch.distributed.distributed_c10d._get_default_timeout
 *  @since 0.1 */
TUTTI_API tutti_status tutti_group_get_timeout(tutti_group* group, int64_t* out_timeout_ms,
                                               tutti_error* error);

/** The name of the group in errors: its description, or the name that it got without one.
 *  @param group     borrowed
 *  @param out_name  receives owned bytes: UTF-8
 *  @param error     NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE
 *  Source:  torch.distributed.ProcessGroup.group_name, ProcessGroup.group_desc
 *  @since 0.1 */
TUTTI_API tutti_status tutti_group_get_name(tutti_group* group, tutti_bytes** out_name,
                                            tutti_error* error);

/** Makes another handle of the same group, so that each part of a program can release its own.
 *  @param group      borrowed; TUTTI_GROUP_NON_MEMBER gives itself
 *  @param out_group  receives an owned group. A handle of TUTTI_GROUP_WORLD stays valid after the
 *                    default group has been destroyed, but refers to that destroyed group
 *  @param error      NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, OUT_OF_MEMORY
 *  @since 0.1 */
TUTTI_API tutti_status tutti_group_retain(tutti_group* group, tutti_group** out_group,
                                          tutti_error* error);

/** The ranks of the group that are known to be lost, because they died or were silent for too long.
 *  Ranks that destroyed the group are not included.
 *  @param group      borrowed
 *  @param out_ranks  receives up to `capacity` ranks of `group`, ascending
 *  @param capacity   room in `out_ranks`; the size of the group is enough
 *  @param out_count  receives the number of lost ranks, which may exceed `capacity`
 *  @param error      NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE
 *  @since 0.1 */
TUTTI_API tutti_status tutti_get_failed_ranks(tutti_group* group, int32_t* out_ranks,
                                              int64_t capacity, int64_t* out_count,
                                              tutti_error* error);

/** The number of groups that this process is in: the default group and the groups made from it,
 *  without destroyed ones.
 *  @return 1 or more; 0 without a default group
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  Source:  torch.distributed.get_pg_count
 *  @since 0.1 */
TUTTI_API int32_t tutti_get_pg_count(void);

/** The backend that torch would choose for tensors on a device.
 *  @param device  "cpu", "cuda" or "xpu", with or without an index ("cuda:1")
 *  @return "gloo", "nccl" or "xccl", a static string; NULL for any other device. This build may not
 *          have that backend: see tutti_is_backend_available
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never: gives NULL
 *  Source:  torch.distributed.get_default_backend_for_device
 *  @since 0.1 */
TUTTI_API const char* tutti_get_default_backend_for_device(const char* device);

/** Whether torchrun or tuttirun started this process: TORCHELASTIC_RUN_ID is set.
 *  @return 1 or 0
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  Source:  torch.distributed.is_torchelastic_launched
 *  @since 0.1 */
TUTTI_API int32_t tutti_is_torchelastic_launched(void);

/** Releases the handle. If the group was not destroyed, it ends in the background as with
 *  tutti_destroy_process_group; if other groups were made from it, after they have ended.
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
