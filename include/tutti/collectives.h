/* tutti/collectives.h: operations that every rank of a group calls, in the same order. With
 * `work` NULL a call returns when the result is there. With a `work` it starts the operation and
 * returns at once; the buffers are borrowed until the work is done.
 * Lists of buffers hold one buffer for each rank, in rank order; all buffers of a call have one
 * dtype. An output must have no memory in common with another output or an input, except where a
 * call says that it works in place. */
#ifndef TUTTI_COLLECTIVES_H
#define TUTTI_COLLECTIVES_H

#include <tutti/group.h>
#include <tutti/reduce_op.h>
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
 *  @param size     bytes of that memory, all of which are written: the caller's sizeof. Of an older
 *                  caller it is smaller than this library's, of a newer one larger. A size below 8
 *                  or above 256 is no options struct's: only struct_size is written, as 0, and
 *                  calls refuse the options
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
 *                 integers and bool; AVG: floating point and complex, the sum divided once), or one
 *                 that tutti/reduce_op.h has made
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

/** Adds all buffers that the ranks contribute, each as many as it has; every rank receives the sum
 *  in `output`, or with AVG the sum divided once by the number of all buffers. So a program whose
 *  addends are spread over 1, 2 or 8 ranks gets the same bits from each: the exact sum of all of
 *  them, rounded once (tutti_is_reproducible). Integers and bool are added as by tutti_all_reduce.
 *  @param group       a group that was made with `reproducible`
 *  @param inputs      `input_count` buffers, each with the dtype and as many elements as `output`;
 *                     one of them may be `output` itself; NULL if there are none
 *  @param input_count 0 to 2048; ranks may differ. If no rank has any, the result is 0
 *  @param output      same count and dtype on every rank; all borrowed until done
 *  @param op          TUTTI_SUM or TUTTI_AVG
 *  @param options     NULL: defaults
 *  @param work        NULL: return when done; else receives an owned work at once
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   INVALID_ARGUMENT (also if the group is not reproducible), INVALID_HANDLE, UNSUPPORTED
 *           now; MISMATCH, PEER_LOST, TIMEOUT, ABORTED through the work
 *  @since 0.1 */
TUTTI_API tutti_status tutti_all_reduce_addends(tutti_group* group, const tutti_buffer* inputs,
                                                size_t input_count, const tutti_buffer* output,
                                                tutti_reduce_op op,
                                                const tutti_call_options* options,
                                                tutti_work** work, tutti_error* error);

/** Reduces all ranks' inputs, element by element; `group_dst` alone receives the result. No other
 *  rank's memory is written.
 *  @param group     TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param input     `count` elements, same count and dtype on every rank; NULL: taken from
 *                   `output`
 *  @param output    as many elements of the same dtype, written on `group_dst` only, where it may
 *                   be `input` itself; other ranks that give `input` may leave it NULL; borrowed
 *                   until done
 *  @param op        any op the dtype allows, as for tutti_all_reduce
 *  @param group_dst group rank of the destination, the same on every rank
 *  @param options   NULL: defaults
 *  @param work      NULL: return when done; else receives an owned work at once
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, UNSUPPORTED now; MISMATCH, PEER_LOST, TIMEOUT,
 *           ABORTED through the work
 *  Source:  torch.distributed.reduce
 *  @since 0.1 */
TUTTI_API tutti_status tutti_reduce(tutti_group* group, const tutti_buffer* input,
                                    const tutti_buffer* output, tutti_reduce_op op,
                                    int32_t group_dst, const tutti_call_options* options,
                                    tutti_work** work, tutti_error* error);

/** Every rank receives every rank's input, which may differ in count.
 *  @param group        TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param input        as many elements as `outputs[rank]`; NULL: taken from there, where it
 *                      may also be given as it is
 *  @param outputs      one buffer for each rank, receives what that rank gave; the counts are the
 *                      same on every rank; borrowed until done
 *  @param output_count the number of ranks
 *  @param options      NULL: defaults
 *  @param work         NULL: return when done; else receives an owned work at once
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, UNSUPPORTED now; MISMATCH, PEER_LOST, TIMEOUT,
 *           ABORTED through the work
 *  Source:  torch.distributed.all_gather
 *  @since 0.1 */
TUTTI_API tutti_status tutti_all_gather(tutti_group* group, const tutti_buffer* input,
                                        const tutti_buffer* outputs, size_t output_count,
                                        const tutti_call_options* options, tutti_work** work,
                                        tutti_error* error);

/** Every rank receives every rank's input, one after the other in one buffer.
 *  @param group   TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param input   `count` elements, same count and dtype on every rank; NULL: taken from this
 *                 rank's place in `output`, where it may also be given as it is
 *  @param output  ranks × `count` elements; both borrowed until done
 *  @param options NULL: defaults
 *  @param work    NULL: return when done; else receives an owned work at once
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, UNSUPPORTED now; MISMATCH, PEER_LOST, TIMEOUT,
 *           ABORTED through the work
 *  Source:  torch.distributed.all_gather_into_tensor
 *  @since 0.1 */
TUTTI_API tutti_status tutti_all_gather_into_tensor(tutti_group* group, const tutti_buffer* input,
                                                    const tutti_buffer* output,
                                                    const tutti_call_options* options,
                                                    tutti_work** work, tutti_error* error);

/** `group_dst` receives every rank's input.
 *  @param group        TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param input        `count` elements, same count and dtype on every rank; on `group_dst` NULL:
 *                      taken from `outputs[group_dst]`, where it may also be given as it is
 *  @param outputs      on `group_dst` one buffer of `count` elements for each rank; elsewhere NULL;
 *                      borrowed until done
 *  @param output_count on `group_dst` the number of ranks; elsewhere 0
 *  @param group_dst    group rank of the destination, the same on every rank
 *  @param options      NULL: defaults
 *  @param work         NULL: return when done; else receives an owned work at once
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, UNSUPPORTED now; MISMATCH, PEER_LOST, TIMEOUT,
 *           ABORTED through the work
 *  Source:  torch.distributed.gather
 *  @since 0.1 */
TUTTI_API tutti_status tutti_gather(tutti_group* group, const tutti_buffer* input,
                                    const tutti_buffer* outputs, size_t output_count,
                                    int32_t group_dst, const tutti_call_options* options,
                                    tutti_work** work, tutti_error* error);

/** Every rank receives its piece of what `group_src` has.
 *  @param group       TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param inputs      on `group_src` one buffer of `count` elements for each rank; elsewhere NULL
 *  @param input_count on `group_src` the number of ranks; elsewhere 0
 *  @param output      `count` elements, same count and dtype on every rank; on `group_src` NULL:
 *                     its piece stays in `inputs[group_src]`, which may also be given as `output`;
 *                     all borrowed until done
 *  @param group_src   group rank of the source, the same on every rank
 *  @param options     NULL: defaults
 *  @param work        NULL: return when done; else receives an owned work at once
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, UNSUPPORTED now; MISMATCH, PEER_LOST, TIMEOUT,
 *           ABORTED through the work
 *  Source:  torch.distributed.scatter
 *  @since 0.1 */
TUTTI_API tutti_status tutti_scatter(tutti_group* group, const tutti_buffer* inputs,
                                     size_t input_count, const tutti_buffer* output,
                                     int32_t group_src, const tutti_call_options* options,
                                     tutti_work** work, tutti_error* error);

/** Reduces the ranks' lists of inputs, buffer by buffer; each rank receives the result of the
 *  buffer that has its place in the list. The buffers may differ in count.
 *  @param group       TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param inputs      one buffer for each rank; the counts are the same on every rank
 *  @param input_count the number of ranks
 *  @param output      as many elements as `inputs[rank]`, which it may be itself; all borrowed
 *                     until done
 *  @param op          any op the dtype allows, as for tutti_all_reduce
 *  @param options     NULL: defaults
 *  @param work        NULL: return when done; else receives an owned work at once
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, UNSUPPORTED now; MISMATCH, PEER_LOST, TIMEOUT,
 *           ABORTED through the work
 *  Source:  torch.distributed.reduce_scatter
 *  @since 0.1 */
TUTTI_API tutti_status tutti_reduce_scatter(tutti_group* group, const tutti_buffer* inputs,
                                            size_t input_count, const tutti_buffer* output,
                                            tutti_reduce_op op, const tutti_call_options* options,
                                            tutti_work** work, tutti_error* error);

/** Reduces all ranks' inputs and leaves to each rank its part of the result.
 *  @param group   TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param input   ranks × `count` elements, same count and dtype on every rank
 *  @param output  `count` elements; may be this rank's part of `input` itself; both borrowed until
 *                 done
 *  @param op      any op the dtype allows, as for tutti_all_reduce
 *  @param options NULL: defaults
 *  @param work    NULL: return when done; else receives an owned work at once
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, UNSUPPORTED now; MISMATCH, PEER_LOST, TIMEOUT,
 *           ABORTED through the work
 *  Source:  torch.distributed.reduce_scatter_tensor
 *  @since 0.1 */
TUTTI_API tutti_status tutti_reduce_scatter_tensor(tutti_group* group, const tutti_buffer* input,
                                                   const tutti_buffer* output, tutti_reduce_op op,
                                                   const tutti_call_options* options,
                                                   tutti_work** work, tutti_error* error);

/** Every rank gives every rank a buffer; the buffers may differ in count.
 *  @param group        TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param inputs       `inputs[r]` goes to rank r, whose `outputs[rank]` has as many elements;
 *                      NULL: `outputs` are also the inputs (this takes as much memory again)
 *  @param input_count  the number of ranks, or 0 if `inputs` is NULL
 *  @param outputs      `outputs[r]` receives what rank r gave to this one; all borrowed until done
 *  @param output_count the number of ranks
 *  @param options      NULL: defaults
 *  @param work         NULL: return when done; else receives an owned work at once
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, UNSUPPORTED now; MISMATCH, PEER_LOST, TIMEOUT,
 *           ABORTED through the work
 *  Source:  torch.distributed.all_to_all
 *  @since 0.1 */
TUTTI_API tutti_status tutti_all_to_all(tutti_group* group, const tutti_buffer* inputs,
                                        size_t input_count, const tutti_buffer* outputs,
                                        size_t output_count, const tutti_call_options* options,
                                        tutti_work** work, tutti_error* error);

/** Every rank gives every rank a piece of one buffer and receives the pieces in another one, in
 *  rank order. Either all ranks give split sizes (one list or both), or none does.
 *  @param group              TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param input              the pieces for rank 0, 1, …; NULL: taken from `output`, which may also
 *                            be given as it is (this takes as much memory again)
 *  @param input_split_sizes  elements of each piece of `input`, in all as many as it has; NULL:
 *                            equal pieces
 *  @param input_split_count  the number of ranks, or 0 if `input_split_sizes` is NULL
 *  @param output             receives the pieces of rank 0, 1, …; both borrowed until done
 *  @param output_split_sizes as `input_split_sizes`, for `output`; both lists are read during the
 *                            call
 *  @param output_split_count the number of ranks, or 0 if `output_split_sizes` is NULL
 *  @param options            NULL: defaults
 *  @param work               NULL: return when done; else receives an owned work at once
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, UNSUPPORTED now; MISMATCH, PEER_LOST, TIMEOUT,
 *           ABORTED through the work
 *  Source:  torch.distributed.all_to_all_single
 *  @since 0.1 */
TUTTI_API tutti_status tutti_all_to_all_single(tutti_group* group, const tutti_buffer* input,
                                               const int64_t* input_split_sizes,
                                               size_t input_split_count, const tutti_buffer* output,
                                               const int64_t* output_split_sizes,
                                               size_t output_split_count,
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

/** A barrier that says who is missing: if not all ranks have come within the timeout, rank 0 fails
 *  with TIMEOUT and names the missing, all others with ABORTED and the same sentence. For looking
 *  into a program that hangs: rank 0 speaks with every other rank.
 *  @param group          TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param wait_all_ranks 0: the first missing rank is named; 1: all of them
 *  @param options        NULL: defaults
 *  Blocks:  up to the timeout; other ranks than 0 up to the timeout for rank 0 to come, and then
 *           until it has decided
 *  Threads: any; calls take effect in arrival order
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, MISMATCH, PEER_LOST, TIMEOUT, ABORTED
 *  Source:  torch.distributed.monitored_barrier
 *  @since 0.1 */
TUTTI_API tutti_status tutti_monitored_barrier(tutti_group* group, int32_t wait_all_ranks,
                                               const tutti_call_options* options,
                                               tutti_error* error);

/** From here to tutti_coalescing_end the collectives of the group are gathered instead of done: a
 *  call checks its arguments, must have `work` NULL and no timeout of its own, and returns at once;
 *  its buffers are borrowed until the end is done. Any collectives but tutti_monitored_barrier, the
 *  same ones in the same order on every rank; messages are not affected.
 *  @param group TUTTI_GROUP_WORLD or a group this process is a member of
 *  Blocks:  never
 *  Threads: any; calls of all threads are gathered
 *  Fails:   INVALID_HANDLE; INVALID_ARGUMENT if the group's calls are being gathered already
 *  Source:  torch.distributed._coalescing_manager
 *  @since 0.1 */
TUTTI_API tutti_status tutti_coalescing_begin(tutti_group* group, tutti_error* error);

/** Does what was gathered since tutti_coalescing_begin, as one operation. Calls that follow each
 *  other and are alike (tutti_all_reduce, tutti_all_gather_into_tensor or
 *  tutti_reduce_scatter_tensor of one dtype and op) share their messages while they are short.
 *  @param group   TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param options NULL: defaults
 *  @param work    NULL: return when done; else receives an owned work at once
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   INVALID_ARGUMENT if nothing is being gathered, INVALID_HANDLE now; MISMATCH, PEER_LOST,
 *           TIMEOUT, ABORTED through the work
 *  Source:  torch.distributed._coalescing_manager
 *  @since 0.1 */
TUTTI_API tutti_status tutti_coalescing_end(tutti_group* group, const tutti_call_options* options,
                                            tutti_work** work, tutti_error* error);

#ifdef __cplusplus
}
#endif

#endif
