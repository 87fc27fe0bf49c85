/* tutti/point_to_point.h: messages between two ranks of a group. Messages that one thread sends to
 * one rank with one tag go, in that order, to the receives that wait for them, in the order these
 * were started, whatever threads they are of. A timeout ends what has not begun: a receive that no
 * message has come for, a send whose data have not begun to move. What has begun goes on to its end
 * (a rank that dies or stops meanwhile ends it), so a message is either received or was never sent.
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
 *  Blocks:  only if work is NULL, until the receiver takes the message; the timeout is for the
 *           beginning of that
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, UNSUPPORTED now; PEER_LOST, TIMEOUT (it counts as
 *           never sent), ABORTED through the work
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
 *  Blocks:  only if work is NULL, until the message is there; the timeout is for its beginning
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, UNSUPPORTED now; MISMATCH (the message has another
 *           count or dtype; it is consumed), PEER_LOST, TIMEOUT (a message that comes later goes
 *           to the next receive), ABORTED through the work
 *  Source:  torch.distributed.recv, torch.distributed.irecv
 *  @since 0.1 */
TUTTI_API tutti_status tutti_recv(tutti_group* group, const tutti_buffer* buffer, int32_t group_src,
                                  int32_t tag, const tutti_call_options* options,
                                  int32_t* out_group_src, tutti_work** work, tutti_error* error);

/** What one message of a batch is. */
typedef uint32_t tutti_p2p_kind;
enum { TUTTI_ISEND = 1, TUTTI_IRECV = 2 };

/** One message of a batch; 96 bytes, read during the call. */
typedef struct tutti_p2p_op {
    tutti_p2p_kind kind;
    int32_t group_peer; /**< TUTTI_ISEND: group rank of the receiver; TUTTI_IRECV: of the sender, or
                           -1 for any rank but this one; oneself is allowed */
    int32_t tag;        /**< 0 or more */
    uint32_t reserved_0;  /**< must be 0 */
    tutti_buffer buffer;  /**< its memory is borrowed until the message's work is done */
    uint64_t reserved[2]; /**< must be 0 */
} tutti_p2p_op;

#define TUTTI_P2P_OP_INIT(kind, data, count, dtype, group_peer, tag)             \
    {                                                                            \
        (kind), (group_peer), (tag), 0, TUTTI_BUFFER_INIT(data, count, dtype), { \
            0, 0                                                                 \
        }                                                                        \
    }

/** Starts several sends and receives, in any mix, in their order. All are checked before the first
 *  one starts; if one cannot start after others have, its work says why.
 *  @param group    TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param ops      `count` messages; read during the call
 *  @param count    0 or more
 *  @param options  NULL: defaults; the timeout holds for each message
 *  @param works    NULL: return when all are done; else receives `count` owned works at once, in
 *                  the order of `ops`
 *  Blocks:  only if works is NULL, until all messages are done, also after a failure
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, UNSUPPORTED now, and nothing has started; else as
 *           tutti_send and tutti_recv through the works, or the first failure if works is NULL
 *  Source:  torch.distributed.batch_isend_irecv, torch.distributed.P2POp
 *  @since 0.1 */
TUTTI_API tutti_status tutti_batch_isend_irecv(tutti_group* group, const tutti_p2p_op* ops,
                                               size_t count, const tutti_call_options* options,
                                               tutti_work** works, tutti_error* error);

#ifdef __cplusplus
}
#endif

#endif
