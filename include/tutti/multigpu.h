/* tutti/multigpu.h: collectives of ranks that have several GPUs each. Deprecated: torch has taken
 * them out. A process can be a rank for each of its GPUs instead (tutti_group_create), which
 * leaves it all other calls as well. All ranks have as many GPUs, and use the same ones in each
 * call on a group, which is bound to none and has a store. A list of buffers has one on each of
 * them, of one count and dtype. The first call on a group makes the connections: it waits for all
 * ranks, also with a `work`; if it fails there, it has changed nothing. After one that ends with
 * MISMATCH, PEER_LOST, TIMEOUT or ABORTED no more of these can be made on the group; its other
 * calls go on. These wait for the default streams; options->stream must be NULL. A coalescing
 * cannot have them. */
#ifndef TUTTI_MULTIGPU_H
#define TUTTI_MULTIGPU_H

#include <tutti/collectives.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Copies one buffer to all buffers of all ranks.
 *  @param group        TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param buffers      `buffer_count` buffers, each on a GPU of its own; the source is read, all
 *                      others are written; borrowed until done
 *  @param buffer_count 1 or more, the same on every rank
 *  @param group_src    group rank of the source, the same on every rank
 *  @param src_tensor   which of its buffers is the source: 0 to buffer_count - 1, the same on every
 *                      rank
 *  @param options      NULL: defaults
 *  @param work         NULL: return when done; else receives an owned work
 *  @param error        NULL, or filled in if the call fails
 *  Blocks:  if work is NULL, up to the timeout; the first call on a group always, until all ranks
 *           have made it
 *  Threads: any; calls take effect in arrival order
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, UNSUPPORTED now; the first call on a group as
 *           tutti_new_group; MISMATCH, PEER_LOST, TIMEOUT, ABORTED through the work
 *  Source:  torch.distributed.broadcast_multigpu
 *  @since 0.1 */
TUTTI_API tutti_status tutti_broadcast_multigpu(tutti_group* group, const tutti_buffer* buffers,
                                                int64_t buffer_count, int32_t group_src,
                                                int32_t src_tensor,
                                                const tutti_call_options* options,
                                                tutti_work** work, tutti_error* error);

/** Reduces all buffers of all ranks, element by element; every buffer receives the result.
 *  @param group        TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param buffers      `buffer_count` buffers, each on a GPU of its own; read and written; borrowed
 *                      until done
 *  @param buffer_count 1 or more, the same on every rank
 *  @param op           any op that the dtype allows, as for tutti_all_reduce; AVG divides by the
 *                      number of all buffers
 *  @param options      NULL: defaults
 *  @param work         NULL: return when done; else receives an owned work
 *  @param error        NULL, or filled in if the call fails
 *  Blocks:  as tutti_broadcast_multigpu
 *  Threads: any; calls take effect in arrival order
 *  Fails:   as tutti_broadcast_multigpu
 *  Source:  torch.distributed.all_reduce_multigpu
 *  @since 0.1 */
TUTTI_API tutti_status tutti_all_reduce_multigpu(tutti_group* group, const tutti_buffer* buffers,
                                                 int64_t buffer_count, tutti_reduce_op op,
                                                 const tutti_call_options* options,
                                                 tutti_work** work, tutti_error* error);

/** Reduces all buffers of all ranks, element by element; one buffer receives the result, and no
 *  other is written.
 *  @param group        TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param buffers      `buffer_count` buffers, each on a GPU of its own; borrowed until done
 *  @param buffer_count 1 or more, the same on every rank
 *  @param op           any op that the dtype allows, as for tutti_all_reduce_multigpu
 *  @param group_dst    group rank of the destination, the same on every rank
 *  @param dst_tensor   which of its buffers is the destination: 0 to buffer_count - 1, the same on
 *                      every rank
 *  @param options      NULL: defaults
 *  @param work         NULL: return when done; else receives an owned work
 *  @param error        NULL, or filled in if the call fails
 *  Blocks:  as tutti_broadcast_multigpu
 *  Threads: any; calls take effect in arrival order
 *  Fails:   as tutti_broadcast_multigpu
 *  Source:  torch.distributed.reduce_multigpu
 *  @since 0.1 */
TUTTI_API tutti_status tutti_reduce_multigpu(tutti_group* group, const tutti_buffer* buffers,
                                             int64_t buffer_count, tutti_reduce_op op,
                                             int32_t group_dst, int32_t dst_tensor,
                                             const tutti_call_options* options, tutti_work** work,
                                             tutti_error* error);

/** Gathers the inputs of all ranks, on each GPU of every rank.
 *  @param group        TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param inputs       `input_count` buffers, each on a GPU of its own
 *  @param input_count  1 or more, the same on every rank
 *  @param outputs      first those on the GPU of inputs[0], one for each input of rank 0, then of
 *                      rank 1, ...; then as many on the GPU of inputs[1], ...; the size of their
 *                      input. An input of this rank may be its own output. All borrowed until done
 *  @param output_count input_count * input_count * world size
 *  @param options      NULL: defaults
 *  @param work         NULL: return when done; else receives an owned work
 *  @param error        NULL, or filled in if the call fails
 *  Blocks:  as tutti_broadcast_multigpu
 *  Threads: any; calls take effect in arrival order
 *  Fails:   as tutti_broadcast_multigpu
 *  Source:  torch.distributed.all_gather_multigpu
 *  @since 0.1 */
TUTTI_API tutti_status tutti_all_gather_multigpu(tutti_group* group, const tutti_buffer* inputs,
                                                 int64_t input_count, const tutti_buffer* outputs,
                                                 int64_t output_count,
                                                 const tutti_call_options* options,
                                                 tutti_work** work, tutti_error* error);

/** Reduces lists of buffers, element by element; each GPU of every rank receives one part.
 *  @param group        TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param inputs       first those on the GPU of outputs[0], one for each output of rank 0, then of
 *                      rank 1, ...; then as many on the GPU of outputs[1], ...; the size of their
 *                      output
 *  @param input_count  output_count * output_count * world size
 *  @param outputs      `output_count` buffers, each on a GPU of its own; one may be its own input.
 *                      All borrowed until done
 *  @param output_count 1 or more, the same on every rank
 *  @param op           any op that the dtype allows, as for tutti_all_reduce_multigpu
 *  @param options      NULL: defaults
 *  @param work         NULL: return when done; else receives an owned work
 *  @param error        NULL, or filled in if the call fails
 *  Blocks:  as tutti_broadcast_multigpu
 *  Threads: any; calls take effect in arrival order
 *  Fails:   as tutti_broadcast_multigpu
 *  Source:  torch.distributed.reduce_scatter_multigpu
 *  @since 0.1 */
TUTTI_API tutti_status tutti_reduce_scatter_multigpu(tutti_group* group, const tutti_buffer* inputs,
                                                     int64_t input_count,
                                                     const tutti_buffer* outputs,
                                                     int64_t output_count, tutti_reduce_op op,
                                                     const tutti_call_options* options,
                                                     tutti_work** work, tutti_error* error);

#ifdef __cplusplus
}
#endif

#endif
