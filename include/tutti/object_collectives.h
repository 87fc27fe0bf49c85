/* tutti/object_collectives.h: collectives of objects and of byte strings, whose sizes may differ
 * freely between ranks. They take their turn among the group's other collectives. Objects that come
 * in are read within the limits of the options, and are only ever data: a message that is no
 * object, or one beyond a limit of what is in it, is an error that names the rank that sent it, and
 * the group goes on. A message longer than `max_bytes` is not taken in: that ends the group for
 * all, as any other mismatch does. */
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
 *  @param count          how many, the same on every rank; 0 or more
 *  @param out_objects    elsewhere receives `count` owned objects, in the end, borrowed until done;
 *                        on `group_src` NULL
 *  @param group_src      group rank of the source, the same on every rank
 *  @param object_options NULL: defaults; compressed where it pays
 *  @param options        NULL: defaults
 *  @param work           NULL: return when done; else receives an owned work at once
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   INVALID_ARGUMENT (also: an object beyond a limit), INVALID_HANDLE now; MISMATCH
 *           (also: a message beyond a limit, or that is no object), PEER_LOST, TIMEOUT, ABORTED
 *           through the work
 *  Source:  torch.distributed.broadcast_object_list
 *  @since 0.1 */
TUTTI_API tutti_status tutti_broadcast_object_list(tutti_group* group, tutti_object* const* objects,
                                                   size_t count, tutti_object** out_objects,
                                                   int32_t group_src,
                                                   const tutti_object_options* object_options,
                                                   const tutti_call_options* options,
                                                   tutti_work** work, tutti_error* error);

/** Every rank receives one object of every rank.
 *  @param group          TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param object         borrowed, finished
 *  @param out_objects    receives an owned object of each rank, in the end, borrowed until done
 *  @param out_count      the number of ranks
 *  @param object_options NULL: defaults; compressed where it pays
 *  @param options        NULL: defaults
 *  @param work           NULL: return when done; else receives an owned work at once
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   as tutti_broadcast_object_list
 *  Source:  torch.distributed.all_gather_object
 *  @since 0.1 */
TUTTI_API tutti_status tutti_all_gather_object(tutti_group* group, const tutti_object* object,
                                               tutti_object** out_objects, size_t out_count,
                                               const tutti_object_options* object_options,
                                               const tutti_call_options* options, tutti_work** work,
                                               tutti_error* error);

/** `group_dst` receives one object of every rank.
 *  @param group          TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param object         borrowed, finished
 *  @param out_objects    on `group_dst` receives an owned object of each rank, in the end, borrowed
 *                        until done; elsewhere NULL
 *  @param out_count      on `group_dst` the number of ranks; elsewhere 0
 *  @param group_dst      group rank of the destination, the same on every rank
 *  @param object_options NULL: defaults; compressed where it pays
 *  @param options        NULL: defaults
 *  @param work           NULL: return when done; else receives an owned work at once
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   as tutti_broadcast_object_list
 *  Source:  torch.distributed.gather_object
 *  @since 0.1 */
TUTTI_API tutti_status tutti_gather_object(tutti_group* group, const tutti_object* object,
                                           tutti_object** out_objects, size_t out_count,
                                           int32_t group_dst,
                                           const tutti_object_options* object_options,
                                           const tutti_call_options* options, tutti_work** work,
                                           tutti_error* error);

/** Every rank receives its object of those that one rank has.
 *  @param group          TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param objects        on `group_src` one borrowed, finished object for each rank; elsewhere NULL
 *  @param object_count   on `group_src` the number of ranks; elsewhere 0
 *  @param out_object     receives an owned object, in the end, borrowed until done
 *  @param group_src      group rank of the source, the same on every rank
 *  @param object_options NULL: defaults; compressed where it pays
 *  @param options        NULL: defaults
 *  @param work           NULL: return when done; else receives an owned work at once
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   as tutti_broadcast_object_list
 *  Source:  torch.distributed.scatter_object_list
 *  @since 0.1 */
TUTTI_API tutti_status tutti_scatter_object_list(tutti_group* group, tutti_object* const* objects,
                                                 size_t object_count, tutti_object** out_object,
                                                 int32_t group_src,
                                                 const tutti_object_options* object_options,
                                                 const tutti_call_options* options,
                                                 tutti_work** work, tutti_error* error);

/** Every rank receives the bytes of one rank.
 *  @param group      TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param data       on `group_src` `size` bytes, borrowed until done; elsewhere NULL
 *  @param size       elsewhere 0
 *  @param out_bytes  elsewhere receives owned bytes, in the end, borrowed until done; on
 *                    `group_src` NULL
 *  @param group_src  group rank of the source, the same on every rank
 *  @param max_bytes  no more may come; 0: TUTTI_OBJECT_MAX_BYTES, else 4 GiB
 *  @param options    NULL: defaults
 *  @param work       NULL: return when done; else receives an owned work at once
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE now; MISMATCH (also: more than `max_bytes`),
 *           PEER_LOST, TIMEOUT, ABORTED through the work
 *  @since 0.1 */
TUTTI_API tutti_status tutti_broadcast_bytes(tutti_group* group, const void* data, size_t size,
                                             tutti_bytes** out_bytes, int32_t group_src,
                                             int64_t max_bytes, const tutti_call_options* options,
                                             tutti_work** work, tutti_error* error);

/** Every rank receives bytes of every rank.
 *  @param group      TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param data       `size` bytes, borrowed until done
 *  @param out_bytes  receives owned bytes of each rank, in the end, borrowed until done
 *  @param out_count  the number of ranks
 *  @param max_bytes  no more may come of one rank; 0: TUTTI_OBJECT_MAX_BYTES, else 4 GiB
 *  @param options    NULL: defaults
 *  @param work       NULL: return when done; else receives an owned work at once
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   as tutti_broadcast_bytes
 *  @since 0.1 */
TUTTI_API tutti_status tutti_all_gather_bytes(tutti_group* group, const void* data, size_t size,
                                              tutti_bytes** out_bytes, size_t out_count,
                                              int64_t max_bytes, const tutti_call_options* options,
                                              tutti_work** work, tutti_error* error);

/** `group_dst` receives bytes of every rank.
 *  @param group      TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param data       `size` bytes, borrowed until done
 *  @param out_bytes  on `group_dst` receives owned bytes of each rank, in the end, borrowed until
 *                    done; elsewhere NULL
 *  @param out_count  on `group_dst` the number of ranks; elsewhere 0
 *  @param group_dst  group rank of the destination, the same on every rank
 *  @param max_bytes  no more may come of one rank; 0: TUTTI_OBJECT_MAX_BYTES, else 4 GiB
 *  @param options    NULL: defaults
 *  @param work       NULL: return when done; else receives an owned work at once
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   as tutti_broadcast_bytes
 *  @since 0.1 */
TUTTI_API tutti_status tutti_gather_bytes(tutti_group* group, const void* data, size_t size,
                                          tutti_bytes** out_bytes, size_t out_count,
                                          int32_t group_dst, int64_t max_bytes,
                                          const tutti_call_options* options, tutti_work** work,
                                          tutti_error* error);

/** Every rank receives its bytes of those that one rank has.
 *  @param group      TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param data       on `group_src` for each rank where its bytes are, borrowed until done;
 *                    elsewhere NULL
 *  @param sizes      on `group_src` how many each rank's are; elsewhere NULL
 *  @param count      on `group_src` the number of ranks; elsewhere 0
 *  @param out_bytes  receives owned bytes, in the end, borrowed until done
 *  @param group_src  group rank of the source, the same on every rank
 *  @param max_bytes  no more may come; 0: TUTTI_OBJECT_MAX_BYTES, else 4 GiB
 *  @param options    NULL: defaults
 *  @param work       NULL: return when done; else receives an owned work at once
 *  Blocks:  only if work is NULL, up to the timeout
 *  Threads: any; calls take effect in arrival order
 *  Fails:   as tutti_broadcast_bytes
 *  @since 0.1 */
TUTTI_API tutti_status tutti_scatter_bytes(tutti_group* group, const void* const* data,
                                           const size_t* sizes, size_t count,
                                           tutti_bytes** out_bytes, int32_t group_src,
                                           int64_t max_bytes, const tutti_call_options* options,
                                           tutti_work** work, tutti_error* error);

#ifdef __cplusplus
}
#endif

#endif
