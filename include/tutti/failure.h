/* tutti/failure.h: going on after a rank has died, and ending a group's calls. */
#ifndef TUTTI_FAILURE_H
#define TUTTI_FAILURE_H

#include <tutti/group.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Flags of tutti_shrink_group, with torch's numbers. */
enum {
    TUTTI_SHRINK_DEFAULT = 0, /**< running calls of the group go on until the new group is made */
    TUTTI_SHRINK_ABORT = 1    /**< running calls of the group end first, on all ranks */
};

/** Options of tutti_shrink_group; zero is every field's default. */
typedef struct tutti_shrink_options {
    uint32_t struct_size; /**< sizeof the struct: the INIT macro or the init function sets it */
    uint32_t min_size;    /**< the fewest ranks that the new group may have: if fewer are left, none
                               is made. The highest of all ranks counts. 0: 1 */
    int64_t timeout_ms;   /**< for making the group; 0: the group's timeout */
} tutti_shrink_options;

/** Options with every field at its default. */
#define TUTTI_SHRINK_OPTIONS_INIT \
    { sizeof(tutti_shrink_options), 0, 0 }

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
TUTTI_API void tutti_shrink_options_init(tutti_shrink_options* options, size_t size);

/** Makes a group of those ranks of `group` that are alive. It works whether or not `group` has
 *  failed, needs no store, and survives deaths during the call, also of rank 0. Every rank that is
 *  alive and not excluded calls it. They all get the same group, or all get an error and may call
 *  again. The ranks keep their order. Afterwards calls on `group` fail with ABORTED, on excluded
 *  ranks as well. Everything works in the new group: calls, groups made from it, meshes, reducers,
 *  and further shrinking. It ends at the latest with the first group of all, the default group or
 *  one from tutti_group_create. If `group` is that one, destroy it last; else destroy it any time.
 *  @param group             the group to shrink
 *  @param ranks_to_exclude  `count` ranks of `group` that shall not be members though they may be
 *                           alive; the same on all ranks that call. Ranks that died or left are
 *                           excluded anyway. NULL: none
 *  @param count             0 or more; 0 if `ranks_to_exclude` is NULL
 *  @param shrink_flags      TUTTI_SHRINK_DEFAULT or TUTTI_SHRINK_ABORT, which is a failure of the
 *                           group, so that a healthy one is not refused
 *  @param description       name of the new group in errors, copied; NULL: that of `group`, and the
 *                           new size
 *  @param options           NULL: defaults
 *  @param out_group         receives an owned group; NULL if `group` is TUTTI_GROUP_WORLD:
 *                           TUTTI_GROUP_WORLD is the new group then, and the old one ends with it
 *  @param error             NULL, or filled in if the call fails
 *  Blocks:  until all ranks that are alive and not excluded have called, up to the timeout, and 10
 *           seconds longer if the coordinator does not answer
 *  Threads: any, one at a time for each `group`
 *  Fails:   INVALID_ARGUMENT (also: no rank of a healthy group is lost or excluded),
 *           INVALID_HANDLE; ABORTED (on a rank that the others exclude or took for dead; fewer
 *           ranks than min_size are left; `group` was shrunk before, or destroyed meanwhile);
 *           MISMATCH (the ranks exclude different ones, or call different functions; arguments of
 *           a rank were refused; this rank made another such call before, which timed out here and
 *           counts on the others: call again); TIMEOUT (names the ranks that have not called);
 *           UNSUPPORTED (ranks of another library); errors of opening the new group's backend
 *  Source:  torch.distributed.distributed_c10d.shrink_group
 *  @since 0.1 */
TUTTI_API tutti_status tutti_shrink_group(tutti_group* group, const int32_t* ranks_to_exclude,
                                          int64_t count, uint32_t shrink_flags,
                                          const char* description,
                                          const tutti_shrink_options* options,
                                          tutti_group** out_group, tutti_error* error);

/** Agrees on a value among the ranks of `group` that are alive: the bits that all of them have set.
 *  It works whether or not `group` has failed, and survives deaths during the call. Every rank that
 *  is alive calls it, and all get the same value, which counts the flags of each of them, and maybe
 *  those of a rank that died meanwhile. Ranks use it to decide together whether a step succeeded
 *  everywhere.
 *  @param group       borrowed
 *  @param flags       the bits that this rank sets; receives those that all have set
 *  @param timeout_ms  0: the group's timeout
 *  @param error       NULL, or filled in if the call fails
 *  Blocks:  until all ranks that are alive have called, up to the timeout, and 10 seconds longer if
 *           the coordinator does not answer
 *  Threads: any, one at a time for each `group`, in one order with tutti_shrink_group
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE; ABORTED (on a rank that the others took for dead;
 *           `group` was shrunk or destroyed); MISMATCH (as with tutti_shrink_group); TIMEOUT (names
 *           the ranks that have not called); UNSUPPORTED (ranks of another library)
 *  @since 0.1 */
TUTTI_API tutti_status tutti_group_agree(tutti_group* group, uint64_t* flags, int64_t timeout_ms,
                                         tutti_error* error);

/** Ends the group on all its ranks: running calls end, and later ones fail, with ABORTED and the
 *  reason. A rank that has found that the group cannot go on frees the others from calls in which
 *  they would wait for it. The group can then be shrunk.
 *  @param group   borrowed
 *  @param reason  copied into the others' errors; NULL: none
 *  @param error   NULL, or filled in if the call fails
 *  Blocks:  never; the others learn of it within milliseconds
 *  Threads: any
 *  Fails:   INVALID_HANDLE; UNSUPPORTED (ranks of another library). It does nothing if the group
 *           has failed before
 *  @since 0.1 */
TUTTI_API tutti_status tutti_group_revoke(tutti_group* group, const char* reason,
                                          tutti_error* error);

/** Ends the calls of this rank on the group, with ABORTED. It waits for no other rank; as always, a
 *  buffer is the caller's again when its call or work has ended, which takes milliseconds. The
 *  other ranks' calls fail as with tutti_group_revoke, as soon as they learn of it. In a group with
 *  ranks of another library, none of the others is told; they find the connections of this rank
 *  closed once it destroys the group.
 *  @param group  borrowed
 *  @param error  NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_HANDLE. It does nothing if the group has failed before
 *  Source:  torch.distributed.ProcessGroup.abort
 *  @since 0.1 */
TUTTI_API tutti_status tutti_group_abort(tutti_group* group, tutti_error* error);

/** A work that ends when the group cannot go on: its error says why, and names the rank. So a
 *  program learns of a death without a call on the group, for instance by tutti_work_wait_any with
 *  its own works, or by tutti_work_then. If the group is destroyed first, it ends with ABORTED.
 *  @param group     borrowed; may have failed: then the work has ended
 *  @param out_work  receives an owned work
 *  @param error     NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, OUT_OF_MEMORY
 *  Source:  torch.distributed.ProcessGroup._get_backend(...).get_error
 *  @since 0.1 */
TUTTI_API tutti_status tutti_group_failure(tutti_group* group, tutti_work** out_work,
                                           tutti_error* error);

/** The text by which other processes reach this one in tutti_group_reconfigure: pass it to them in
 *  any way, for instance by a store or a file. It stays the same until the process ends. The first
 *  call opens a port at which the process then serves a store, as rank 0 of a group does: at every
 *  address of the host, or the first of TUTTI_SOCKET_IFNAME, or TUTTI_STORE_BIND.
 *  @param out_handle  receives owned bytes: ASCII, without spaces
 *  @param error       NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (also: malformed environment), NETWORK, OUT_OF_MEMORY
 *  Source:  torch.distributed.distributed_c10d._get_reconfigure_handle
 *  @since 0.1 */
TUTTI_API tutti_status tutti_get_reconfigure_handle(tutti_bytes** out_handle, tutti_error* error);

/** Makes a group of the processes whose handles are listed: those that are left of `group`, and new
 *  ones. So a group shrinks, grows or replaces its dead in one call. Each listed process makes the
 *  call, with the same list, `backend` and reproducibility, whether it had a group or not. The
 *  group is made if all of them have called; so, of a network that is cut in two, no two parts make
 *  a group with one list. No rank of an older group is needed, and no store. If the call fails,
 *  `group` is as before; call again with a new id. A process that ends during the call fails it for
 *  all that still wait; those that had the group already find that it has failed.
 *  @param group        the group that is replaced: calls on it fail with ABORTED afterwards; still
 *                      destroy and release it, and the groups made from it. TUTTI_GROUP_NON_MEMBER:
 *                      none. TUTTI_GROUP_WORLD: the new group becomes the default group, whether
 *                      or not this process had one; the old one is released
 *  @param id           names this membership: a number with which none of the listed processes has
 *                      called before
 *  @param handles      `count` texts of tutti_get_reconfigure_handle, in the order of the new
 *                      ranks; each process once, also this one
 *  @param count        1 or more
 *  @param backend      as in tutti_init_process_group
 *  @param description  name of the group in errors, copied; NULL: "world" or "unnamed"
 *  @param options      NULL: defaults
 *  @param out_group    receives an owned group; NULL if `group` is TUTTI_GROUP_WORLD
 *  @param error        NULL, or filled in if the call fails
 *  Blocks:  until all listed processes are connected, up to the timeout
 *  Threads: any; with TUTTI_GROUP_WORLD not while another thread starts or destroys the default
 *           group
 *  Fails:   as tutti_group_create; INVALID_ARGUMENT (also: a handle that is none, or occurs twice;
 *           this process is not listed; it has used the id before), MISMATCH (processes list
 *           different ones; shows both), PEER_LOST and NETWORK (name a listed process that has
 *           ended), TIMEOUT (names those that have not called). The rank of an error is the index
 *           in `handles`
 *  Source:  torch.distributed.distributed_c10d._reconfigure
 *  @since 0.1 */
TUTTI_API tutti_status tutti_group_reconfigure(tutti_group* group, uint64_t id,
                                               const char* const* handles, int64_t count,
                                               const char* backend, const char* description,
                                               const tutti_group_options* options,
                                               tutti_group** out_group, tutti_error* error);

#ifdef __cplusplus
}
#endif

#endif
