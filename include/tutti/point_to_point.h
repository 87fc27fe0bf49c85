/* tutti/point_to_point.h: messages between two ranks of a group. Messages of one sender with one
 * tag arrive in the order they were sent, as long as one thread at a time receives with that tag.
 * Messages stand outside the order of the collectives: a receive that waits holds up nothing
 * else. A tutti_send waits for its receiver: ranks that all send first and receive then need a
 * `work`. */
#ifndef TUTTI_POINT_TO_POINT_H
#define TUTTI_POINT_TO_POINT_H

#include <tutti/collectives.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Sends a buffer to one rank, which receives it with tutti_recv and the same tag.
 *  @param group      TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param buffer     `count` elements, borrowed until done
 *  @param group_dst  group rank of the receiver; oneself only with a `work`
 *  @param tag        0 or more
 *  @param options    NULL: defaults
 *  @param work       NULL: return when the message is on its way; else receives an owned work at
 *                    once (torch's isend)
 *  Blocks:  only if work is NULL, until the receiver takes the message, up to the timeout
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, UNSUPPORTED now; PEER_LOST, TIMEOUT (if half of
 *           it had gone already, the group is lost with it), ABORTED through the work
 *  Source:  torch.distributed.send, torch.distributed.isend
 *  @since 0.1 */
TUTTI_API tutti_status tutti_send(tutti_group* group, const tutti_buffer* buffer, int32_t group_dst,
                                  int32_t tag, const tutti_call_options* options, tutti_work** work,
                                  tutti_error* error);

/** Receives a message that one rank sent with the same tag, count and dtype.
 *  @param group          TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param buffer         room for `count` elements, borrowed until done
 *  @param group_src      group rank of the sender, oneself only with a `work`; -1: any rank but
 *                        this one
 *  @param tag            0 or more
 *  @param options        NULL: defaults
 *  @param out_group_src  NULL, or receives the sender's group rank; must be NULL with a `work`,
 *                        which has tutti_work_source_rank
 *  @param work           NULL: return when the message is there; else receives an owned work at
 *                        once (torch's irecv)
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, UNSUPPORTED now; MISMATCH (the message has another
 *           count or dtype; it is consumed), PEER_LOST, TIMEOUT (a message that comes later goes
 *           to the next receive), ABORTED through the work
 *  Source:  torch.distributed.recv, torch.distributed.irecv
 *  @since 0.1 */
TUTTI_API tutti_status tutti_recv(tutti_group* group, const tutti_buffer* buffer, int32_t group_src,
                                  int32_t tag, const tutti_call_options* options,
                                  int32_t* out_group_src, tutti_work** work, tutti_error* error);

#ifdef __cplusplus
}
#endif

#endif
