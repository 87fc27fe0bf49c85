/* tutti/object_point_to_point.h: objects and byte strings between two ranks, of any size: the
 * receiver need not know it. They are messages like those of tutti/point_to_point.h, in the same
 * order, and their tags are the same: a tutti_recv that meets one of these, or the other way round,
 * is an error on the receiver that says what was sent. Short ones are one message. Objects that
 * come in are read within the limits of the options, and are only ever data. */
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
 *  @param count          how many; 0 or more
 *  @param group_dst      group rank of the receiver; oneself only with a `work`
 *  @param tag            0 or more
 *  @param object_options NULL: defaults; compressed where it pays
 *  @param options        NULL: defaults
 *  @param work           NULL: return when the message is on its way; else receives an owned work
 *                        at once; what the objects borrow stays until it is done
 *  Blocks:  only if work is NULL, until the receiver takes the message; the timeout is for the
 *           beginning of that
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (also: an object beyond a limit), INVALID_HANDLE now; PEER_LOST,
 *           TIMEOUT (it counts as never sent), ABORTED through the work
 *  Source:  torch.distributed.send_object_list
 *  @since 0.1 */
TUTTI_API tutti_status tutti_send_object_list(tutti_group* group, tutti_object* const* objects,
                                              size_t count, int32_t group_dst, int32_t tag,
                                              const tutti_object_options* object_options,
                                              const tutti_call_options* options, tutti_work** work,
                                              tutti_error* error);

/** Receives objects that one rank sent with the same tag.
 *  @param group          TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param out_objects    receives `count` owned objects, in the end, borrowed until done
 *  @param count          how many, as the sender sends; 0 or more
 *  @param group_src      group rank of the sender, oneself only with a `work`; -1: any rank but
 *                        this one
 *  @param tag            0 or more
 *  @param object_options NULL: defaults
 *  @param options        NULL: defaults
 *  @param out_group_src  NULL, or receives the sender's group rank; must be NULL with a `work`,
 *                        which has tutti_work_source_rank
 *  @param work           NULL: return when the objects are there; else receives an owned work at
 *                        once
 *  Blocks:  only if work is NULL, until the objects are there; the timeout is for the beginning
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE now; MISMATCH (another count, no objects, or beyond a
 *           limit; the message is consumed), PEER_LOST, TIMEOUT (a message that comes later goes
 *           to the next receive), ABORTED through the work
 *  Source:  torch.distributed.recv_object_list
 *  @since 0.1 */
TUTTI_API tutti_status tutti_recv_object_list(tutti_group* group, tutti_object** out_objects,
                                              size_t count, int32_t group_src, int32_t tag,
                                              const tutti_object_options* object_options,
                                              const tutti_call_options* options,
                                              int32_t* out_group_src, tutti_work** work,
                                              tutti_error* error);

/** Sends bytes to one rank, which receives them with tutti_recv_bytes and the same tag.
 *  @param group      TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param data       `size` bytes, borrowed until done; NULL if `size` is 0
 *  @param group_dst  group rank of the receiver; oneself only with a `work`
 *  @param tag        0 or more
 *  @param options    NULL: defaults
 *  @param work       NULL: return when the message is on its way; else receives an owned work at
 *                    once
 *  Blocks:  only if work is NULL, until the receiver takes the message; the timeout is for the
 *           beginning of that
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE now; PEER_LOST, TIMEOUT (it counts as never sent),
 *           ABORTED through the work
 *  @since 0.1 */
TUTTI_API tutti_status tutti_send_bytes(tutti_group* group, const void* data, size_t size,
                                        int32_t group_dst, int32_t tag,
                                        const tutti_call_options* options, tutti_work** work,
                                        tutti_error* error);

/** Receives bytes that one rank sent with the same tag.
 *  @param group          TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param out_bytes      receives owned bytes, in the end, borrowed until done
 *  @param group_src      group rank of the sender, oneself only with a `work`; -1: any rank but
 *                        this one
 *  @param tag            0 or more
 *  @param max_bytes      no more may come; 0: TUTTI_OBJECT_MAX_BYTES, else 4 GiB
 *  @param options        NULL: defaults
 *  @param out_group_src  NULL, or receives the sender's group rank; must be NULL with a `work`,
 *                        which has tutti_work_source_rank
 *  @param work           NULL: return when the bytes are there; else receives an owned work at once
 *  Blocks:  only if work is NULL, until the bytes are there; the timeout is for the beginning
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE now; MISMATCH (no bytes, or more than `max_bytes`; the
 *           message is consumed), PEER_LOST, TIMEOUT (a message that comes later goes to the next
 *           receive), ABORTED through the work
 *  @since 0.1 */
TUTTI_API tutti_status tutti_recv_bytes(tutti_group* group, tutti_bytes** out_bytes,
                                        int32_t group_src, int32_t tag, int64_t max_bytes,
                                        const tutti_call_options* options, int32_t* out_group_src,
                                        tutti_work** work, tutti_error* error);

#ifdef __cplusplus
}
#endif

#endif
