/* tutti/memory.h: memory for the data of collectives and messages, which the ranks of one host read
 * where it is. Any other will do for every call; with this, calls are faster where ranks are on one
 * host. */
#ifndef TUTTI_MEMORY_H
#define TUTTI_MEMORY_H

#include <tutti/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Gives every rank of the group memory that the others of its host can read. Collectives and
 *  messages of this group whose data lie in it, on all ranks that give data, are read from there
 *  instead of being copied first: sums are made straight from everybody's inputs. The memory of
 *  several calls may be used together, and parts of it; where one rank gives other memory, or the
 *  ranks are not on one host, the call is as it is with any memory. For other groups it is that,
 *  too.
 *  All ranks of the group call it, in the same order as its collectives. If it fails, no rank has
 *  got memory, and the group goes on unless the error says otherwise.
 *  The memory is all zero, there at once (its pages are taken now, not when first touched) and
 *  aligned to 4096 bytes. It stays until tutti_free, also after the group's end. A child of fork
 *  does not have it.
 *  @param group   TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param bytes   how many; may differ between ranks, and be 0
 *  @param memory  receives it, never NULL; to be given to tutti_free
 *  Blocks:  until all ranks have called, up to the group's timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   INVALID_ARGUMENT, also while calls are gathered; INVALID_HANDLE; OUT_OF_MEMORY, naming
 *           a rank that can have none, or the one that wants most if together they want more
 *           than their host, or the limit of their control group, leaves; MISMATCH, PEER_LOST,
 *           TIMEOUT, ABORTED
 *  @since 0.1 */
TUTTI_API tutti_status tutti_alloc(tutti_group* group, size_t bytes, void** memory,
                                   tutti_error* error);

/** Gives memory of tutti_alloc back, for every rank's good: other ranks need not call it, and its
 *  pages are free at once. No operation may be using the memory.
 *  @param memory  of tutti_alloc; NULL does nothing
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT if it is not from tutti_alloc, or was given back
 *  @since 0.1 */
TUTTI_API tutti_status tutti_free(void* memory, tutti_error* error);

#ifdef __cplusplus
}
#endif

#endif /* TUTTI_MEMORY_H */
