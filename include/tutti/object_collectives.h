/* tutti/object_collectives.h: collectives of objects and of byte strings. Their sizes may differ
 * between ranks. Ranks call them in the same order as the group's other collectives. Received
 * objects are data only, and the limits of the options apply. A malformed object, or one whose
 * contents exceed a limit, is an error that names the sender, and the group stays usable. A message
 * longer than `max_bytes` is not received; the group fails on all ranks, as with any other
 * mismatch. */
#ifndef TUTTI_OBJECT_COLLECTIVES_H
#define TUTTI_OBJECT_COLLECTIVES_H

#include <tutti/collectives.h>
#include <tutti/object.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Every rank receives the objects of one rank.
 *  @param group          TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param objects        on `group_src` `count` borrowed, finished objects; elsewhere NULL
 *  @param count          number of objects, the same on every rank; 0 or more
 *  @param group_src      group rank of the source, the same on every rank
 *  @param object_options NULL: defaults; compressed if it pays off
 *  @param options        NULL: defaults
 *  @param out_objects    on the other ranks receives `count` owned objects; on `group_src`, and
 *                        with a `work`, NULL
 *  @param work           NULL: return when done; else receives an owned work at once, which holds
 *                        the received objects until tutti_work_take_objects
 *  @param error          NULL, or filled in if the call fails
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   INVALID_ARGUMENT (also: an object beyond a limit), INVALID_HANDLE now; MISMATCH (also:
 *           a message beyond a limit, or malformed), PEER_LOST, TIMEOUT, ABORTED through the work
 *  Source:  torch.distributed.broadcast_object_list
 *  @since 0.1 */
TUTTI_API tutti_status tutti_broadcast_object_list(tutti_group* group, tutti_object* const* objects,
                                                   int64_t count, int32_t group_src,
                                                   const tutti_object_options* object_options,
                                                   const tutti_call_options* options,
                                                   tutti_object** out_objects, tutti_work** work,
                                                   tutti_error* error);

/** Every rank receives one object from each rank.
 *  @param group          TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param object         borrowed, finished
 *  @param object_options NULL: defaults; compressed if it pays off
 *  @param options        NULL: defaults
 *  @param out_objects    receives an owned object of each rank; with a `work` NULL
 *  @param out_count      the number of ranks; with a `work` 0
 *  @param work           NULL: return when done; else receives an owned work at once, which holds
 *                        the received objects until tutti_work_take_objects
 *  @param error          NULL, or filled in if the call fails
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   as tutti_broadcast_object_list
 *  Source:  torch.distributed.all_gather_object
 *  @since 0.1 */
TUTTI_API tutti_status tutti_all_gather_object(tutti_group* group, tutti_object* object,
                                               const tutti_object_options* object_options,
                                               const tutti_call_options* options,
                                               tutti_object** out_objects, int64_t out_count,
                                               tutti_work** work, tutti_error* error);

/** `group_dst` receives one object from each rank.
 *  @param group          TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param object         borrowed, finished
 *  @param group_dst      group rank of the destination, the same on every rank
 *  @param object_options NULL: defaults; compressed if it pays off
 *  @param options        NULL: defaults
 *  @param out_objects    on `group_dst` receives an owned object of each rank; elsewhere, and with
 *                        a `work`, NULL
 *  @param out_count      on `group_dst` the number of ranks; elsewhere, and with a `work`, 0
 *  @param work           NULL: return when done; else receives an owned work at once, which holds
 *                        the received objects until tutti_work_take_objects
 *  @param error          NULL, or filled in if the call fails
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   as tutti_broadcast_object_list
 *  Source:  torch.distributed.gather_object
 *  @since 0.1 */
TUTTI_API tutti_status tutti_gather_object(tutti_group* group, tutti_object* object,
                                           int32_t group_dst,
                                           const tutti_object_options* object_options,
                                           const tutti_call_options* options,
                                           tutti_object** out_objects, int64_t out_count,
                                           tutti_work** work, tutti_error* error);

/** `group_src` sends each rank its object.
 *  @param group          TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param objects        on `group_src` one borrowed, finished object for each rank; elsewhere NULL
 *  @param object_count   on `group_src` the number of ranks; elsewhere 0
 *  @param group_src      group rank of the source, the same on every rank
 *  @param object_options NULL: defaults; compressed if it pays off
 *  @param options        NULL: defaults
 *  @param out_object     receives an owned object; with a `work` NULL
 *  @param work           NULL: return when done; else receives an owned work at once, which holds
 *                        the received objects until tutti_work_take_objects
 *  @param error          NULL, or filled in if the call fails
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   as tutti_broadcast_object_list
 *  Source:  torch.distributed.scatter_object_list
 *  @since 0.1 */
TUTTI_API tutti_status tutti_scatter_object_list(tutti_group* group, tutti_object* const* objects,
                                                 int64_t object_count, int32_t group_src,
                                                 const tutti_object_options* object_options,
                                                 const tutti_call_options* options,
                                                 tutti_object** out_object, tutti_work** work,
                                                 tutti_error* error);

/** Every rank receives the bytes of one rank.
 *  @param group      TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param data       on `group_src` `size` bytes, borrowed until done; elsewhere NULL
 *  @param size       elsewhere 0
 *  @param group_src  group rank of the source, the same on every rank
 *  @param max_bytes  limit of the received bytes; 0: TUTTI_OBJECT_MAX_BYTES, else 4 GiB
 *  @param options    NULL: defaults
 *  @param out_bytes  on the other ranks receives owned bytes; on `group_src`, and with a `work`,
 *                    NULL
 *  @param work       NULL: return when done; else receives an owned work at once, which holds the
 *                    received bytes until tutti_work_take_bytes
 *  @param error      NULL, or filled in if the call fails
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE now; MISMATCH (also: more than `max_bytes`),
 *           PEER_LOST, TIMEOUT, ABORTED through the work
 *  @since 0.1 */
TUTTI_API tutti_status tutti_broadcast_bytes(tutti_group* group, const void* data, size_t size,
                                             int32_t group_src, int64_t max_bytes,
                                             const tutti_call_options* options,
                                             tutti_bytes** out_bytes, tutti_work** work,
                                             tutti_error* error);

/** Every rank receives the bytes of all ranks.
 *  @param group      TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param data       `size` bytes, borrowed until done; NULL if `size` is 0
 *  @param size       bytes of `data`; ranks may differ
 *  @param max_bytes  limit of the bytes from each rank; 0: TUTTI_OBJECT_MAX_BYTES, else 4 GiB
 *  @param options    NULL: defaults
 *  @param out_bytes  receives owned bytes of each rank; with a `work` NULL
 *  @param out_count  the number of ranks; with a `work` 0
 *  @param work       NULL: return when done; else receives an owned work at once, which holds the
 *                    received bytes until tutti_work_take_bytes
 *  @param error      NULL, or filled in if the call fails
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   as tutti_broadcast_bytes
 *  @since 0.1 */
TUTTI_API tutti_status tutti_all_gather_bytes(tutti_group* group, const void* data, size_t size,
                                              int64_t max_bytes, const tutti_call_options* options,
                                              tutti_bytes** out_bytes, int64_t out_count,
                                              tutti_work** work, tutti_error* error);

/** `group_dst` receives the bytes of all ranks.
 *  @param group      TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param data       `size` bytes, borrowed until done; NULL if `size` is 0
 *  @param size       bytes of `data`; ranks may differ
 *  @param group_dst  group rank of the destination, the same on every rank
 *  @param max_bytes  limit of the bytes from each rank; 0: TUTTI_OBJECT_MAX_BYTES, else 4 GiB
 *  @param options    NULL: defaults
 *  @param out_bytes  on `group_dst` receives owned bytes of each rank; elsewhere, and with a
 *                    `work`, NULL
 *  @param out_count  on `group_dst` the number of ranks; elsewhere, and with a `work`, 0
 *  @param work       NULL: return when done; else receives an owned work at once, which holds the
 *                    received bytes until tutti_work_take_bytes
 *  @param error      NULL, or filled in if the call fails
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   as tutti_broadcast_bytes
 *  @since 0.1 */
TUTTI_API tutti_status tutti_gather_bytes(tutti_group* group, const void* data, size_t size,
                                          int32_t group_dst, int64_t max_bytes,
                                          const tutti_call_options* options,
                                          tutti_bytes** out_bytes, int64_t out_count,
                                          tutti_work** work, tutti_error* error);

/** `group_src` sends each rank its bytes.
 *  @param group      TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param data       on `group_src` the address of the bytes for each rank, borrowed until done;
 *                    elsewhere NULL
 *  @param sizes      on `group_src` the number of bytes for each rank; elsewhere NULL
 *  @param count      on `group_src` the number of ranks; elsewhere 0
 *  @param group_src  group rank of the source, the same on every rank
 *  @param max_bytes  limit of the received bytes; 0: TUTTI_OBJECT_MAX_BYTES, else 4 GiB
 *  @param options    NULL: defaults
 *  @param out_bytes  receives owned bytes; with a `work` NULL
 *  @param work       NULL: return when done; else receives an owned work at once, which holds the
 *                    received bytes until tutti_work_take_bytes
 *  @param error      NULL, or filled in if the call fails
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   as tutti_broadcast_bytes
 *  @since 0.1 */
TUTTI_API tutti_status tutti_scatter_bytes(tutti_group* group, const void* const* data,
                                           const size_t* sizes, int64_t count, int32_t group_src,
                                           int64_t max_bytes, const tutti_call_options* options,
                                           tutti_bytes** out_bytes, tutti_work** work,
                                           tutti_error* error);

#ifdef __cplusplus
}
#endif

#endif
