/* tutti/point_to_point.h: messages between two ranks of a group. Messages that one thread sends to
 * one rank with one tag go, in the order sent, to the receives in the order in which these were
 * started, on any threads. A timeout ends a receive for which no message has arrived, and a send
 * whose data has not begun to move. A transfer that has begun continues to its end, unless a rank
 * dies or stops. So a message is either received or was never sent; whether one was received whose
 * send ended with ABORTED or PEER_LOST, is open. Messages are independent of collectives: a waiting
 * receive delays nothing else. A tutti_send waits for its receiver. If all ranks send before they
 * receive, they need a `work`. A server of many ranks that receives from any rank (-1) with one
 * receive at a time serves them in turn. With several works, for a receive from each rank or for
 * some from any rank, tutti_work_wait_any returns the lowest index that is done, so that the works
 * at its front come first, again and again; to serve all, begin with the work after the one that
 * was served last. */
#ifndef TUTTI_POINT_TO_POINT_H
#define TUTTI_POINT_TO_POINT_H

#include <tutti/collectives.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Sends a buffer to one rank, which receives it with tutti_recv and the same tag.
 *  @param group      TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param buffer     `count` elements, borrowed until done
 *  @param group_dst  group rank of the receiver; this rank only with a `work`
 *  @param tag        0 or more
 *  @param options    NULL: defaults
 *  @param work       NULL: return when the receiver takes the message; else receives an owned work
 *                    at once (torch's isend)
 *  @param error      NULL, or filled in if the call fails
 *  Blocks:  only if work is NULL, until the receiver takes the message; the timeout limits the time
 *           until that begins
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, UNSUPPORTED now; PEER_LOST, TIMEOUT (the message was
 *           not sent), ABORTED, MISMATCH (of a message to this rank itself: its receive does not
 *           fit) through the work
 *  Source:  torch.distributed.send, torch.distributed.isend
 *  @since 0.1 */
TUTTI_API tutti_status tutti_send(tutti_group* group, const tutti_buffer* buffer, int32_t group_dst,
                                  int32_t tag, const tutti_call_options* options, tutti_work** work,
                                  tutti_error* error);

/** Receives a message that one rank sent with the same tag, count and dtype.
 *  @param group          TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param buffer         room for `count` elements, borrowed until done
 *  @param group_src      group rank of the sender, this rank only with a `work`; -1: any rank but
 *                        this one. Ranks that all have messages ready are served in turn
 *  @param tag            0 or more
 *  @param options        NULL: defaults
 *  @param out_group_src  NULL, or receives the sender's group rank; must be NULL with a `work`,
 *                        which has tutti_work_source_rank
 *  @param work           NULL: return when the message has arrived; else receives an owned work at
 *                        once (torch's irecv)
 *  @param error          NULL, or filled in if the call fails
 *  Blocks:  only if work is NULL, until the message has arrived; the timeout limits the time until
 *           it begins to arrive
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, UNSUPPORTED now; MISMATCH (the message has a
 *           different count or dtype; it is consumed), PEER_LOST, TIMEOUT (a message that arrives
 *           later goes to the next receive), ABORTED through the work
 *  Source:  torch.distributed.recv, torch.distributed.irecv
 *  @since 0.1 */
TUTTI_API tutti_status tutti_recv(tutti_group* group, const tutti_buffer* buffer, int32_t group_src,
                                  int32_t tag, const tutti_call_options* options,
                                  int32_t* out_group_src, tutti_work** work, tutti_error* error);

/** The kind of a message in a batch. */
typedef uint32_t tutti_p2p_kind;
enum { TUTTI_ISEND = 1, TUTTI_IRECV = 2 };

/** One message of a batch; 96 bytes, read during the call. */
typedef struct tutti_p2p_op {
    tutti_p2p_kind kind; /**< TUTTI_ISEND or TUTTI_IRECV */
    int32_t group_peer; /**< TUTTI_ISEND: group rank of the receiver; TUTTI_IRECV: of the sender, or
                             -1 for any rank but this one; this rank is allowed */
    int32_t tag;        /**< 0 or more */
    uint32_t reserved_0;  /**< must be 0 */
    tutti_buffer buffer;  /**< its memory is borrowed until the message's work is done */
    uint64_t reserved[2]; /**< must be 0 */
} tutti_p2p_op;

/** A message in memory of the CPU; `data` and `count` as in TUTTI_BUFFER_INIT. */
#define TUTTI_P2P_OP_INIT(kind, data, count, dtype, group_peer, tag)      \
    {                                                                     \
        (tutti_p2p_kind)(kind), (int32_t)(group_peer), (int32_t)(tag), 0, \
            TUTTI_BUFFER_INIT(data, count, dtype), {                      \
            0, 0                                                          \
        }                                                                 \
    }

/** Starts several sends and receives in their order. All are checked before the first one starts.
 *  If one cannot start after others have, its work has the error.
 *  @param group    TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param ops      `count` messages; read during the call
 *  @param count    0 or more
 *  @param options  NULL: defaults; the timeout is for each message
 *  @param works    NULL: return when all are done; else receives `count` owned works at once, in
 *                  the order of `ops`
 *  @param error    NULL, or filled in if the call fails
 *  Blocks:  only if works is NULL, until all messages are done, also after a failure
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, UNSUPPORTED now, and nothing has started; else as
 *           tutti_send and tutti_recv through the works, or the first failure if works is NULL
 *  Source:  torch.distributed.batch_isend_irecv, torch.distributed.P2POp
 *  @since 0.1 */
TUTTI_API tutti_status tutti_batch_isend_irecv(tutti_group* group, const tutti_p2p_op* ops,
                                               int64_t count, const tutti_call_options* options,
                                               tutti_work** works, tutti_error* error);

#ifdef __cplusplus
}
#endif

#endif
