/* tutti/collectives.h: operations that every rank of a group calls, in the same order. With
 * `work` NULL a call returns when the result is there. With a `work` it starts the operation and
 * returns at once; the buffers are borrowed until the work is done. */
#ifndef TUTTI_COLLECTIVES_H
#define TUTTI_COLLECTIVES_H

#include <tutti/group.h>
#include <tutti/work.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Options of a collective or a message; zero is every field's default. */
typedef struct tutti_call_options {
    uint32_t struct_size;
    uint32_t reserved;  /**< must be 0 */
    int64_t timeout_ms; /**< 0: the group's */
} tutti_call_options;

#define TUTTI_CALL_OPTIONS_INIT \
    { sizeof(tutti_call_options), 0, 0 }

/** Sets every field to its default, for callers that have no C macros.
 *  @param options  memory of the caller; NULL does nothing
 *  @param size     bytes of that memory: the caller's sizeof
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  @since 0.1 */
TUTTI_API void tutti_call_options_init(tutti_call_options* options, size_t size);

/** Copies the buffer of one rank to all ranks.
 *  @param group      TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param buffer     read on `group_src`, written on the others; same count and dtype on every
 *                    rank; borrowed until done
 *  @param group_src  group rank of the source, the same on every rank
 *  @param options    NULL: defaults
 *  @param work       NULL: return when done; else receives an owned work at once
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, UNSUPPORTED now; MISMATCH, PEER_LOST, TIMEOUT,
 *           ABORTED through the work
 *  Source:  torch.distributed.broadcast
 *  @since 0.1 */
TUTTI_API tutti_status tutti_broadcast(tutti_group* group, const tutti_buffer* buffer,
                                       int32_t group_src, const tutti_call_options* options,
                                       tutti_work** work, tutti_error* error);

/** Reduces all ranks' inputs, element by element; every rank receives the result in `output`. The
 *  result is bitwise identical on all ranks.
 *  @param group   TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param input   `count` elements, same count and dtype on every rank; NULL: taken from `output`
 *  @param output  as many elements of the same dtype; both borrowed until done; must not overlap
 *                 `input` unless they are the same memory
 *  @param op      any op the dtype allows (MIN, MAX, PRODUCT: not complex; BAND, BOR, BXOR:
 *                 integers and bool; AVG: floating point and complex, the sum divided once)
 *  @param options NULL: defaults
 *  @param work    NULL: return when done; else receives an owned work at once
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, UNSUPPORTED now; MISMATCH, PEER_LOST, TIMEOUT,
 *           ABORTED through the work
 *  Source:  torch.distributed.all_reduce
 *  @since 0.1 */
TUTTI_API tutti_status tutti_all_reduce(tutti_group* group, const tutti_buffer* input,
                                        const tutti_buffer* output, tutti_reduce_op op,
                                        const tutti_call_options* options, tutti_work** work,
                                        tutti_error* error);

/** Returns when every rank of the group has called it.
 *  @param group   TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param options NULL: defaults
 *  @param work    NULL: return when done; else receives an owned work at once
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE now; MISMATCH, PEER_LOST, TIMEOUT, ABORTED through
 *           the work
 *  Source:  torch.distributed.barrier
 *  @since 0.1 */
TUTTI_API tutti_status tutti_barrier(tutti_group* group, const tutti_call_options* options,
                                     tutti_work** work, tutti_error* error);

#ifdef __cplusplus
}
#endif

#endif
