/* tutti/collectives.h: collectives. All ranks of a group call them in the same order. With `work`
 * NULL, a call returns when the operation is done. With a `work`, it starts the operation and
 * returns at once; the buffers are borrowed until the work is done. Lists of buffers have one
 * buffer for each rank, in rank order. All buffers of a call have one dtype. An output must not
 * overlap another output or an input, unless a call allows it. A call that fails on one rank fails
 * on all, as do the later calls of the group. Calls before it, which that rank has ended, can still
 * end well on ranks that are not so far; of backends from outside they may end with the failure. */
#ifndef TUTTI_COLLECTIVES_H
#define TUTTI_COLLECTIVES_H

#include <tutti/group.h>
#include <tutti/reduce_op.h>
#include <tutti/work.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Called once when an operation that was started with a `work` is done, successfully or not; never
 *  inside the call that started it. tutti_work_error returns its status. The rules of
 *  tutti_work_callback apply.
 *  @param user  `on_done_user` of the options */
typedef void (*tutti_done_callback)(void* user);

/** Options of a collective or a message; zero is every field's default. */
typedef struct tutti_call_options {
    uint32_t struct_size; /**< sizeof the struct: the INIT macro or the init function sets it */
    uint32_t reserved;    /**< must be 0 */
    int64_t timeout_ms;   /**< 0: the group's */
    void* stream;         /**< for buffers on a device; a cudaStream_t or CUstream. What is on the
                               stream when the call is made comes before the operation. Without a
                               `work` the call returns when the results are enqueued on the stream:
                               what you enqueue there later finds them. With a `work`, make a stream
                               wait by tutti_work_synchronize. NULL: the operation waits
                               for the default stream, and is done when the call returns, or when
                               its work is done */
    tutti_done_callback on_done; /**< NULL, or called when the work is done. It needs a `work`. Not
                                      called if the call fails. A batch calls it once, after its
                                      last message */
    void* on_done_user;          /**< passed to on_done unchanged */
    const char* tag_name;        /**< NULL, or your name of this operation, in UTF-8: errors, hooks,
                                      traces and the flight recorder show it; the recorder keeps 32
                                      bytes of it. Borrowed during the call. In a coalescing that
                                      of tutti_coalescing_end counts */
} tutti_call_options;

/** Options with every field at its default. */
#define TUTTI_CALL_OPTIONS_INIT \
    { sizeof(tutti_call_options), 0, 0, NULL, NULL, NULL, NULL }

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
TUTTI_API void tutti_call_options_init(tutti_call_options* options, size_t size);

/** Copies the buffer of one rank to all ranks.
 *  @param group      TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param buffer     read on `group_src`, written on the others; same count and dtype on every
 *                    rank; borrowed until done
 *  @param group_src  group rank of the source, the same on every rank
 *  @param options    NULL: defaults
 *  @param work       NULL: return when done; else receives an owned work at once
 *  @param error      NULL, or filled in if the call fails
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
 *  @param op      any op that the dtype allows (see tutti_reduce_op), or one made by
 *                 tutti/reduce_op.h
 *  @param options NULL: defaults
 *  @param work    NULL: return when done; else receives an owned work at once
 *  @param error   NULL, or filled in if the call fails
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

/** Adds any number of buffers per rank. Every rank receives the sum in `output`, or with AVG the
 *  sum divided once by the number of all buffers. The result is the exact sum, rounded once
 *  (tutti_group_is_reproducible), so its bits do not depend on how the buffers are spread over the
 *  ranks. Integers and bool are added as in tutti_all_reduce.
 *  @param group       a group made with `reproducible`
 *  @param inputs      `input_count` buffers, each with the dtype and as many elements as `output`;
 *                     one of them may be `output` itself; NULL if there are none
 *  @param input_count 0 to 2048; ranks may differ. If no rank has any, the result is 0
 *  @param output      same count and dtype on every rank; all borrowed until done
 *  @param op          TUTTI_SUM or TUTTI_AVG
 *  @param options     NULL: defaults
 *  @param work        NULL: return when done; else receives an owned work at once
 *  @param error       NULL, or filled in if the call fails
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   INVALID_ARGUMENT (also if the group is not reproducible), INVALID_HANDLE, UNSUPPORTED
 *           now; MISMATCH, PEER_LOST, TIMEOUT, ABORTED through the work
 *  @since 0.1 */
TUTTI_API tutti_status tutti_all_reduce_addends(tutti_group* group, const tutti_buffer* inputs,
                                                int64_t input_count, const tutti_buffer* output,
                                                tutti_reduce_op op,
                                                const tutti_call_options* options,
                                                tutti_work** work, tutti_error* error);

/** Reduces all ranks' inputs, element by element. Only `group_dst` receives the result. The memory
 *  of the other ranks is not written.
 *  @param group     TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param input     `count` elements, same count and dtype on every rank; NULL: taken from
 *                   `output`
 *  @param output    as many elements of the same dtype, written only on `group_dst`, where it may
 *                   be `input` itself. Other ranks that pass `input` may pass NULL. Borrowed until
 *                   done
 *  @param op        any op that the dtype allows, as for tutti_all_reduce
 *  @param group_dst group rank of the destination, the same on every rank
 *  @param options   NULL: defaults
 *  @param work      NULL: return when done; else receives an owned work at once
 *  @param error     NULL, or filled in if the call fails
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

/** Every rank receives the inputs of all ranks. The inputs may differ in count.
 *  @param group        TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param input        as many elements as `outputs[rank]`; may be that buffer itself; NULL: taken
 *                      from there
 *  @param outputs      one buffer for each rank, which receives the input of that rank; same counts
 *                      on every rank; borrowed until done
 *  @param output_count the number of ranks
 *  @param options      NULL: defaults
 *  @param work         NULL: return when done; else receives an owned work at once
 *  @param error        NULL, or filled in if the call fails
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, UNSUPPORTED now; MISMATCH, PEER_LOST, TIMEOUT,
 *           ABORTED through the work
 *  Source:  torch.distributed.all_gather
 *  @since 0.1 */
TUTTI_API tutti_status tutti_all_gather(tutti_group* group, const tutti_buffer* input,
                                        const tutti_buffer* outputs, int64_t output_count,
                                        const tutti_call_options* options, tutti_work** work,
                                        tutti_error* error);

/** Every rank receives the inputs of all ranks, one after the other in one buffer.
 *  @param group   TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param input   `count` elements, same count and dtype on every rank; may be this rank's part of
 *                 `output` itself; NULL: taken from there
 *  @param output  ranks × `count` elements; both borrowed until done
 *  @param options NULL: defaults
 *  @param work    NULL: return when done; else receives an owned work at once
 *  @param error   NULL, or filled in if the call fails
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

/** `group_dst` receives the inputs of all ranks.
 *  @param group        TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param input        `count` elements, same count and dtype on every rank; on `group_dst` it may
 *                      be `outputs[group_dst]` itself, and NULL means taken from there
 *  @param outputs      on `group_dst` one buffer of `count` elements for each rank; elsewhere NULL;
 *                      borrowed until done
 *  @param output_count on `group_dst` the number of ranks; elsewhere 0
 *  @param group_dst    group rank of the destination, the same on every rank
 *  @param options      NULL: defaults
 *  @param work         NULL: return when done; else receives an owned work at once
 *  @param error        NULL, or filled in if the call fails
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, UNSUPPORTED now; MISMATCH, PEER_LOST, TIMEOUT,
 *           ABORTED through the work
 *  Source:  torch.distributed.gather
 *  @since 0.1 */
TUTTI_API tutti_status tutti_gather(tutti_group* group, const tutti_buffer* input,
                                    const tutti_buffer* outputs, int64_t output_count,
                                    int32_t group_dst, const tutti_call_options* options,
                                    tutti_work** work, tutti_error* error);

/** `group_src` sends each rank its piece.
 *  @param group       TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param inputs      on `group_src` one buffer of `count` elements for each rank; elsewhere NULL
 *  @param input_count on `group_src` the number of ranks; elsewhere 0
 *  @param output      `count` elements, same count and dtype on every rank; NULL on `group_src`
 *                     leaves its piece in `inputs[group_src]`, which may also be the `output`;
 *                     all borrowed until done
 *  @param group_src   group rank of the source, the same on every rank
 *  @param options     NULL: defaults
 *  @param work        NULL: return when done; else receives an owned work at once
 *  @param error       NULL, or filled in if the call fails
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, UNSUPPORTED now; MISMATCH, PEER_LOST, TIMEOUT,
 *           ABORTED through the work
 *  Source:  torch.distributed.scatter
 *  @since 0.1 */
TUTTI_API tutti_status tutti_scatter(tutti_group* group, const tutti_buffer* inputs,
                                     int64_t input_count, const tutti_buffer* output,
                                     int32_t group_src, const tutti_call_options* options,
                                     tutti_work** work, tutti_error* error);

/** Reduces the ranks' lists of inputs, buffer by buffer. Rank r receives the result of buffer r.
 *  The buffers may differ in count.
 *  @param group       TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param inputs      one buffer for each rank; the counts are the same on every rank
 *  @param input_count the number of ranks
 *  @param output      as many elements as `inputs[rank]`; may be that buffer itself; all borrowed
 *                     until done
 *  @param op          any op that the dtype allows, as for tutti_all_reduce
 *  @param options     NULL: defaults
 *  @param work        NULL: return when done; else receives an owned work at once
 *  @param error       NULL, or filled in if the call fails
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, UNSUPPORTED now; MISMATCH, PEER_LOST, TIMEOUT,
 *           ABORTED through the work
 *  Source:  torch.distributed.reduce_scatter
 *  @since 0.1 */
TUTTI_API tutti_status tutti_reduce_scatter(tutti_group* group, const tutti_buffer* inputs,
                                            int64_t input_count, const tutti_buffer* output,
                                            tutti_reduce_op op, const tutti_call_options* options,
                                            tutti_work** work, tutti_error* error);

/** Reduces all ranks' inputs. Each rank receives its part of the result.
 *  @param group   TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param input   ranks × `count` elements, same count and dtype on every rank
 *  @param output  `count` elements; may be this rank's part of `input` itself; both borrowed until
 *                 done
 *  @param op      any op that the dtype allows, as for tutti_all_reduce
 *  @param options NULL: defaults
 *  @param work    NULL: return when done; else receives an owned work at once
 *  @param error   NULL, or filled in if the call fails
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

/** Every rank sends a buffer to every rank. The buffers may differ in count.
 *  @param group        TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param inputs       `inputs[r]` goes to rank r, whose `outputs[rank]` has as many elements;
 *                      NULL: `outputs` are also the inputs (tutti then uses as much memory again)
 *  @param input_count  the number of ranks, or 0 if `inputs` is NULL
 *  @param outputs      `outputs[r]` receives the buffer from rank r; all borrowed until done
 *  @param output_count the number of ranks
 *  @param options      NULL: defaults
 *  @param work         NULL: return when done; else receives an owned work at once
 *  @param error        NULL, or filled in if the call fails
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, UNSUPPORTED now; MISMATCH, PEER_LOST, TIMEOUT,
 *           ABORTED through the work
 *  Source:  torch.distributed.all_to_all
 *  @since 0.1 */
TUTTI_API tutti_status tutti_all_to_all(tutti_group* group, const tutti_buffer* inputs,
                                        int64_t input_count, const tutti_buffer* outputs,
                                        int64_t output_count, const tutti_call_options* options,
                                        tutti_work** work, tutti_error* error);

/** Every rank sends each rank a piece of one buffer, and receives a piece from each rank in another
 *  buffer, in rank order. Either all ranks pass split sizes (one list or both), or none does.
 *  @param group              TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param input              the pieces for rank 0, 1, …; may be `output` itself; NULL: taken from
 *                            `output` (tutti then uses as much memory again)
 *  @param input_split_sizes  elements of each piece of `input`; their sum is its count; NULL: equal
 *                            pieces
 *  @param input_split_count  the number of ranks, or 0 if `input_split_sizes` is NULL
 *  @param output             receives the pieces of rank 0, 1, …; both borrowed until done
 *  @param output_split_sizes as `input_split_sizes`, for `output`; both lists are read during the
 *                            call
 *  @param output_split_count the number of ranks, or 0 if `output_split_sizes` is NULL
 *  @param options            NULL: defaults
 *  @param work               NULL: return when done; else receives an owned work at once
 *  @param error              NULL, or filled in if the call fails
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, UNSUPPORTED now; MISMATCH, PEER_LOST, TIMEOUT,
 *           ABORTED through the work
 *  Source:  torch.distributed.all_to_all_single
 *  @since 0.1 */
TUTTI_API tutti_status tutti_all_to_all_single(
    tutti_group* group, const tutti_buffer* input, const int64_t* input_split_sizes,
    int64_t input_split_count, const tutti_buffer* output, const int64_t* output_split_sizes,
    int64_t output_split_count, const tutti_call_options* options, tutti_work** work,
    tutti_error* error);

/** Waits until all ranks of the group have called it.
 *  @param group   TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param options NULL: defaults
 *  @param work    NULL: return when done; else receives an owned work at once
 *  @param error   NULL, or filled in if the call fails
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE now; MISMATCH, PEER_LOST, TIMEOUT, ABORTED through
 *           the work
 *  Source:  torch.distributed.barrier
 *  @since 0.1 */
TUTTI_API tutti_status tutti_barrier(tutti_group* group, const tutti_call_options* options,
                                     tutti_work** work, tutti_error* error);

/** A barrier that names missing ranks. If not all ranks have called it within the timeout, rank 0
 *  fails with TIMEOUT and names the missing ranks. All others fail with ABORTED and the same
 *  message. Use it to debug a program that hangs: it is slower, as all ranks report to one.
 *  @param group          TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param wait_all_ranks 0: name the first missing rank; 1: name all of them
 *  @param options        NULL: defaults
 *  @param error          NULL, or filled in if the call fails
 *  Blocks:  up to the timeout; ranks other than 0 up to the timeout for rank 0 to call, and then
 *           until it has decided
 *  Threads: any; calls take effect in arrival order
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, MISMATCH, PEER_LOST, TIMEOUT, ABORTED
 *  Source:  torch.distributed.monitored_barrier
 *  @since 0.1 */
TUTTI_API tutti_status tutti_monitored_barrier(tutti_group* group, int32_t wait_all_ranks,
                                               const tutti_call_options* options,
                                               tutti_error* error);

/** Options of tutti_coalescing_begin; zero is every field's default. */
typedef struct tutti_coalescing_options {
    uint32_t struct_size; /**< sizeof the struct: the INIT macro or the init function sets it */
    tutti_device_type device_type; /**< the device of the buffers */
    int32_t device_index;          /**< 0 for the CPU */
    uint32_t reserved;             /**< must be 0 */
} tutti_coalescing_options;

/** Options with every field at its default. */
#define TUTTI_COALESCING_OPTIONS_INIT \
    { sizeof(tutti_coalescing_options), TUTTI_CPU, 0, 0 }

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
TUTTI_API void tutti_coalescing_options_init(tutti_coalescing_options* options, size_t size);

/** Begins to collect collectives that will run as one operation. It returns a second handle of the
 *  group. Collectives called on that handle check their arguments and return at once. They run when
 *  tutti_coalescing_end is called. Calls on the group itself, and on other handles, are not
 *  affected. A collected call has `work` NULL and default options. Its buffers are borrowed until
 *  the operation is done. All collectives can be collected except tutti_monitored_barrier and those
 *  of objects and bytes. The memory of the calls must not overlap. All ranks collect the same calls
 *  in the same order. The handle can also be passed to tutti_get_rank and tutti_get_world_size.
 *  @param group          TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param options        NULL: defaults
 *  @param out_coalescing receives an owned handle. tutti_coalescing_end ends it; so does
 *                        tutti_group_release, which drops the collected calls
 *  @param error          NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any; several threads may call collectives on one handle
 *  Fails:   INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED (no such type of device here)
 *  Source:  torch.distributed._coalescing_manager
 *  @since 0.1 */
TUTTI_API tutti_status tutti_coalescing_begin(tutti_group* group,
                                              const tutti_coalescing_options* options,
                                              tutti_group** out_coalescing, tutti_error* error);

/** Runs the collected calls as one operation of the group, and ends the handle. Short neighbouring
 *  calls of one kind, dtype and op share messages (tutti_all_reduce, tutti_all_gather_into_tensor
 *  and tutti_reduce_scatter_tensor).
 *  @param coalescing  from tutti_coalescing_begin; owned until now, and still owned if an argument
 *                     is refused
 *  @param options     NULL: defaults
 *  @param work        NULL: return when done; else receives an owned work at once
 *  @param error       NULL, or filled in if the call fails
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; the calls take effect here, in arrival order with the group's other collectives
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE now; MISMATCH, PEER_LOST, TIMEOUT, ABORTED through the
 *           work
 *  Source:  torch.distributed._coalescing_manager
 *  @since 0.1 */
TUTTI_API tutti_status tutti_coalescing_end(tutti_group* coalescing,
                                            const tutti_call_options* options, tutti_work** work,
                                            tutti_error* error);

#ifdef __cplusplus
}
#endif

#endif
