/* tutti/work.h: asynchronous operations. */
#ifndef TUTTI_WORK_H
#define TUTTI_WORK_H

#include <tutti/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Waits until the operation is done and returns its status. After TUTTI_OK the results are in the
 *  buffers, and the buffers are no longer borrowed. This thread waits for a device as well: unlike
 *  torch's wait(), which makes a stream wait, as tutti_work_synchronize does. Meanwhile it moves
 *  the messages of the group, and runs the collective and those before it, with the functions of
 *  their operators, if nobody has begun them. With a limit that ends before the timeout of a
 *  collective it leaves that to a thread of tutti.
 *  @param work        borrowed
 *  @param timeout_ms  TUTTI_DEFAULT_TIMEOUT (0) or TUTTI_NO_TIMEOUT: no limit beside the
 *                     operation's own timeout; else a limit for this wait. When it passes, the call
 *                     returns TUTTI_ERR_PENDING, the operation continues, and you can wait again
 *  @param error       NULL, or filled in if the call fails
 *  Blocks:  until the operation is done or the limit has passed
 *  Threads: any; several threads may wait for one work
 *  Fails:   PENDING (this wait expired), INVALID_ARGUMENT, INVALID_HANDLE; otherwise the failure of
 *           the operation, of which TIMEOUT is one
 *  Source:  torch.distributed.Work.wait
 *  @since 0.1 */
TUTTI_API tutti_status tutti_work_wait(tutti_work* work, int64_t timeout_ms, tutti_error* error);

/** Whether the operation is done, successfully or not. Each call moves what can be moved of the
 *  group's messages, so a program may ask again and again instead of waiting. A thread that does
 *  nothing else lets others run between its questions.
 *  @param work           borrowed
 *  @param out_completed  receives 1 or 0
 *  @param error          NULL, or filled in if the call fails
 *  Blocks:  never; may yield the processor
 *  Threads: any
 *  Fails:   INVALID_HANDLE, INVALID_ARGUMENT
 *  Source:  torch.distributed.Work.is_completed
 *  @since 0.1 */
TUTTI_API tutti_status tutti_work_is_completed(tutti_work* work, int32_t* out_completed,
                                               tutti_error* error);

/** Whether the operation is done and successful.
 *  @param work         borrowed
 *  @param out_success  receives 1, or 0 while it is running or when it failed
 *  @param error        NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_HANDLE, INVALID_ARGUMENT
 *  Source:  torch.distributed.Work.is_success
 *  @since 0.1 */
TUTTI_API tutti_status tutti_work_is_success(tutti_work* work, int32_t* out_success,
                                             tutti_error* error);

/** The failure of the operation: returns its status and fills `error`; TUTTI_OK while it is
 *  running and if it succeeded.
 *  @param work   borrowed
 *  @param error  NULL, or receives the failure
 *  @return the operation's status, or INVALID_HANDLE
 *  Blocks:  never
 *  Threads: any
 *  Fails:   with the operation's own failure; INVALID_HANDLE
 *  Source:  torch.distributed.Work.exception
 *  @since 0.1 */
TUTTI_API tutti_status tutti_work_error(tutti_work* work, tutti_error* error);

/** The group rank a finished tutti_recv received from.
 *  @param work      borrowed
 *  @param out_rank  receives the sender's group rank; -1 while nothing has come and for other
 *                   operations
 *  @param error     NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_HANDLE, INVALID_ARGUMENT
 *  Source:  torch.distributed.Work.source_rank
 *  @since 0.1 */
TUTTI_API tutti_status tutti_work_source_rank(tutti_work* work, int32_t* out_rank,
                                              tutti_error* error);

/** Waits until one of several operations is done. tutti_work_error returns its status. Of one group
 *  this thread moves messages, if all are that; collectives begin at once, on threads of tutti.
 *  @param works       `count` borrowed works; entries that are NULL are skipped, so a loop can
 *                     clear the entries that it has handled
 *  @param count       1 or more
 *  @param timeout_ms  TUTTI_DEFAULT_TIMEOUT (0) or TUTTI_NO_TIMEOUT: no limit; else a limit for
 *                     this wait
 *  @param out_index   receives the index of a finished work, the lowest one if several are: works
 *                     at the front that are started again each time can keep others waiting
 *  @param error       NULL, or filled in if the call fails
 *  Blocks:  until one is done or the limit has passed
 *  Threads: any
 *  Fails:   PENDING (this wait expired), INVALID_HANDLE (names the index), INVALID_ARGUMENT (also:
 *           all entries are NULL)
 *  @since 0.1 */
TUTTI_API tutti_status tutti_work_wait_any(tutti_work* const* works, int64_t count,
                                           int64_t timeout_ms, int64_t* out_index,
                                           tutti_error* error);

/** Waits until all of several operations are done; the result is the first failure in their order.
 *  @param works       `count` borrowed works; entries that are NULL are skipped
 *  @param count       0 or more
 *  @param timeout_ms  TUTTI_DEFAULT_TIMEOUT (0) or TUTTI_NO_TIMEOUT: no limit; else a limit for the
 *                     whole wait
 *  @param error       NULL, or filled in if the call fails
 *  Blocks:  until all are done, also after a failure, or the limit has passed
 *  Threads: any
 *  Fails:   PENDING (this wait expired), INVALID_HANDLE (names the index), INVALID_ARGUMENT;
 *           otherwise the first failed operation's failure
 *  @since 0.1 */
TUTTI_API tutti_status tutti_work_wait_all(tutti_work* const* works, int64_t count,
                                           int64_t timeout_ms, tutti_error* error);

/** Called once when an operation is done. One thread of the library runs all callbacks of the
 *  process, in the order in which their operations ended. A callback may call any function, but
 *  must not wait for an operation that can only end after another callback. It must not throw,
 *  longjmp or end its thread.
 *  @param result  borrowed until the callback returns; the status and error of the operation
 *  @param user    the `user` given with the callback */
typedef void (*tutti_work_callback)(const tutti_error* result, void* user);

/** Calls a callback once the operation is done, successfully or not. It is never called inside this
 *  call, even if the operation is already done. Several callbacks of one work are called in the
 *  order of these calls. You may release the work before. Destroying the group ends its operations,
 *  so their callbacks are called.
 *  @param work          borrowed
 *  @param callback      see tutti_work_callback; must stay callable until it has been called
 *  @param user          passed to the callback unchanged
 *  @param release_user  NULL, or called with `user` after the callback
 *  @param error         NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_HANDLE, INVALID_ARGUMENT; OUT_OF_MEMORY (no thread can be started; the callback
 *           is not called)
 *  Source:  torch.distributed.Work.get_future, torch.futures.Future.then
 *  @since 0.1 */
TUTTI_API tutti_status tutti_work_then(tutti_work* work, tutti_work_callback callback, void* user,
                                       tutti_release_function release_user, tutti_error* error);

/** Makes a stream wait for the operation: what the caller enqueues on it later finds the
 *  results, and may reuse or free the buffers.
 *  @param work    borrowed
 *  @param stream  NULL: waits until the operation is done, as tutti_work_wait without a limit; else
 *                 a stream of any device, which waits while the caller continues
 *  @param error   NULL, or filled in if the call fails
 *  Blocks:  if `stream` is NULL until the operation is done; else until the operation is enqueued
 *           on its device: a backend of the CPU has moved the data by then
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (a stream, and an operation on memory of the CPU), INVALID_HANDLE;
 *           otherwise the failure of the operation
 *  Source:  torch.distributed.Work.synchronize
 *  @since 0.1 */
TUTTI_API tutti_status tutti_work_synchronize(tutti_work* work, void* stream, tutti_error* error);

/** Cancels a receive for which no message has arrived. It ends with TUTTI_ERR_ABORTED, its buffer
 *  is no longer borrowed, and a message that arrives later goes to the next receive. The group is
 *  not affected.
 *  @param work           borrowed; of tutti_recv, tutti_recv_object_list, tutti_recv_bytes, or of a
 *                        TUTTI_IRECV in a batch
 *  @param out_cancelled  receives 1 if this call cancelled it; 0 if its message has begun to
 *                        arrive, or it is done
 *  @param error          NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_HANDLE, INVALID_ARGUMENT; UNSUPPORTED (it is not a receive; collectives and
 *           sends cannot be cancelled)
 *  @since 0.1 */
TUTTI_API tutti_status tutti_work_cancel(tutti_work* work, int32_t* out_cancelled,
                                         tutti_error* error);

/** Takes the objects that a finished operation received. The works of tutti_broadcast_object_list,
 *  tutti_all_gather_object, tutti_gather_object, tutti_scatter_object_list and
 *  tutti_recv_object_list hold them until you take them. Releasing the work discards them.
 *  @param work         borrowed
 *  @param out_objects  receives `count` owned objects, in the order of the operation's own
 *                      `out_objects`; untouched on failure
 *  @param count        as many as the operation receives on this rank; 0 where it receives none
 *  @param error        NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any; only one caller receives them
 *  Fails:   PENDING (it is running), INVALID_ARGUMENT (wrong count; the operation receives no
 *           objects; they were already taken), INVALID_HANDLE; otherwise the failure of the
 *           operation
 *  @since 0.1 */
TUTTI_API tutti_status tutti_work_take_objects(tutti_work* work, tutti_object** out_objects,
                                               int64_t count, tutti_error* error);

/** Takes the byte strings that a finished operation received, as tutti_work_take_objects, for
 *  tutti_broadcast_bytes, tutti_all_gather_bytes, tutti_gather_bytes, tutti_scatter_bytes and
 *  tutti_recv_bytes.
 *  @param work       borrowed
 *  @param out_bytes  receives `count` owned byte strings, in the order of the operation's own
 *                    `out_bytes`; untouched on failure
 *  @param count      as many as the operation receives on this rank; 0 where it receives none
 *  @param error      NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any; only one caller receives them
 *  Fails:   as tutti_work_take_objects
 *  @since 0.1 */
TUTTI_API tutti_status tutti_work_take_bytes(tutti_work* work, tutti_bytes** out_bytes,
                                             int64_t count, tutti_error* error);

/** The kind of the operation: the name of its function without the prefix, for instance
 *  "all_reduce".
 *  @param work  borrowed
 *  @return a static string; NULL for an invalid handle
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never: gives NULL
 *  Source:  torch.distributed.Work._get_op_type
 *  @since 0.1 */
TUTTI_API const char* tutti_work_get_op_type(tutti_work* work);

/** The sequence number of a collective in its group, as error messages show it (#7).
 *  @param work        borrowed
 *  @param out_number  receives the number, from 1, the same on all ranks; 0 for messages, which
 *                     have none
 *  @param error       NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_HANDLE, INVALID_ARGUMENT
 *  Source:  torch.distributed.Work._get_sequence_number
 *  @since 0.1 */
TUTTI_API tutti_status tutti_work_get_sequence_number(tutti_work* work, int64_t* out_number,
                                                      tutti_error* error);

/** How long the operation took, from the call that started it to its end.
 *  @param work    borrowed
 *  @param out_ms  receives milliseconds; -1 while it is running
 *  @param error   NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_HANDLE, INVALID_ARGUMENT
 *  Source:  torch.distributed.Work._get_duration
 *  @since 0.1 */
TUTTI_API tutti_status tutti_work_get_duration(tutti_work* work, double* out_ms,
                                               tutti_error* error);

/** Releases the handle. An unfinished operation continues; its buffers stay borrowed until it is
 *  done.
 *  @param work  owned until now; NULL and stale handles are ignored
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  @since 0.1 */
TUTTI_API void tutti_work_release(tutti_work* work);

#ifdef __cplusplus
}
#endif

#endif
