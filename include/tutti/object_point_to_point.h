/* tutti/object_point_to_point.h: messages of objects and byte strings. The receiver need not know
 * their size. They share order and tags with the messages of tutti/point_to_point.h. If a
 * tutti_recv matches one of these messages, or the other way round, the receiver gets an error that
 * shows what was sent. Received objects are data only, and the limits of the options apply. */
#ifndef TUTTI_OBJECT_POINT_TO_POINT_H
#define TUTTI_OBJECT_POINT_TO_POINT_H

#include <tutti/collectives.h>
#include <tutti/object.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Sends objects to one rank, which receives them with tutti_recv_object_list and the same tag.
 *  @param group          TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param objects        `count` borrowed, finished objects
 *  @param count          number of objects; 0 or more
 *  @param group_dst      group rank of the receiver; this rank only with a `work`
 *  @param tag            0 or more
 *  @param object_options NULL: defaults; compressed if it pays off
 *  @param options        NULL: defaults
 *  @param work           NULL: return when the receiver takes the message; else receives an owned
 *                        work at once. Borrowed memory of the objects must stay unchanged until it
 *                        is done
 *  @param error          NULL, or filled in if the call fails
 *  Blocks:  only if work is NULL, until the receiver takes the message; the timeout limits the time
 *           until that begins
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (also: an object beyond a limit), INVALID_HANDLE now; PEER_LOST,
 *           TIMEOUT (the message was not sent), ABORTED through the work
 *  Source:  torch.distributed.send_object_list
 *  @since 0.1 */
TUTTI_API tutti_status tutti_send_object_list(tutti_group* group, tutti_object* const* objects,
                                              int64_t count, int32_t group_dst, int32_t tag,
                                              const tutti_object_options* object_options,
                                              const tutti_call_options* options, tutti_work** work,
                                              tutti_error* error);

/** Receives objects that one rank sent with the same tag.
 *  @param group          TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param group_src      group rank of the sender, this rank only with a `work`; -1: any rank but
 *                        this one
 *  @param tag            0 or more
 *  @param object_options NULL: defaults
 *  @param options        NULL: defaults
 *  @param out_objects    receives `count` owned objects; with a `work` NULL: use
 *                        tutti_work_take_objects
 *  @param count          number of objects that the sender sends, also with a `work`; 0 or more
 *  @param out_group_src  NULL, or receives the sender's group rank; must be NULL with a `work`,
 *                        which has tutti_work_source_rank
 *  @param work           NULL: return when the objects have arrived; else receives an owned work at
 *                        once
 *  @param error          NULL, or filled in if the call fails
 *  Blocks:  only if work is NULL, until the objects have arrived; the timeout limits the time until
 *           they begin to arrive
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE now; MISMATCH (a different count, not objects, or
 *           beyond a limit; the message is consumed), PEER_LOST, TIMEOUT (a message that arrives
 *           later goes to the next receive), ABORTED through the work
 *  Source:  torch.distributed.recv_object_list
 *  @since 0.1 */
TUTTI_API tutti_status tutti_recv_object_list(tutti_group* group, int32_t group_src, int32_t tag,
                                              const tutti_object_options* object_options,
                                              const tutti_call_options* options,
                                              tutti_object** out_objects, int64_t count,
                                              int32_t* out_group_src, tutti_work** work,
                                              tutti_error* error);

/** Sends bytes to one rank, which receives them with tutti_recv_bytes and the same tag.
 *  @param group      TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param data       `size` bytes, borrowed until done; NULL if `size` is 0
 *  @param size       bytes of `data`
 *  @param group_dst  group rank of the receiver; this rank only with a `work`
 *  @param tag        0 or more
 *  @param options    NULL: defaults
 *  @param work       NULL: return when the receiver takes the message; else receives an owned work
 *                    at once
 *  @param error      NULL, or filled in if the call fails
 *  Blocks:  only if work is NULL, until the receiver takes the message; the timeout limits the time
 *           until that begins
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE now; PEER_LOST, TIMEOUT (the message was not sent),
 *           ABORTED through the work
 *  @since 0.1 */
TUTTI_API tutti_status tutti_send_bytes(tutti_group* group, const void* data, size_t size,
                                        int32_t group_dst, int32_t tag,
                                        const tutti_call_options* options, tutti_work** work,
                                        tutti_error* error);

/** Receives bytes that one rank sent with the same tag.
 *  @param group          TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param group_src      group rank of the sender, this rank only with a `work`; -1: any rank but
 *                        this one
 *  @param tag            0 or more
 *  @param max_bytes      limit of the received bytes; 0: TUTTI_OBJECT_MAX_BYTES, else 4 GiB
 *  @param options        NULL: defaults
 *  @param out_bytes      receives owned bytes; with a `work` NULL: use tutti_work_take_bytes
 *  @param out_group_src  NULL, or receives the sender's group rank; must be NULL with a `work`,
 *                        which has tutti_work_source_rank
 *  @param work           NULL: return when the bytes have arrived; else receives an owned work at
 *                        once
 *  @param error          NULL, or filled in if the call fails
 *  Blocks:  only if work is NULL, until the bytes have arrived; the timeout limits the time until
 *           they begin to arrive
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE now; MISMATCH (not bytes, or more than `max_bytes`;
 *           the message is consumed), PEER_LOST, TIMEOUT (a message that arrives later goes to the
 *           next receive), ABORTED through the work
 *  @since 0.1 */
TUTTI_API tutti_status tutti_recv_bytes(tutti_group* group, int32_t group_src, int32_t tag,
                                        int64_t max_bytes, const tutti_call_options* options,
                                        tutti_bytes** out_bytes, int32_t* out_group_src,
                                        tutti_work** work, tutti_error* error);

#ifdef __cplusplus
}
#endif

#endif
