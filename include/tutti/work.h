/* tutti/work.h: operations that run while the caller goes on. */
#ifndef TUTTI_WORK_H
#define TUTTI_WORK_H

#include <tutti/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Waits until the operation is done and returns how it ended. After TUTTI_OK the results are in
 *  the caller's buffers, which are the caller's again.
 *  @param work        borrowed
 *  @param timeout_ms  0 or TUTTI_NO_TIMEOUT: as long as the operation may take (its own timeout
 *                     ends it); else a limit for this wait alone: when it passes,
 *                     TUTTI_ERR_TIMEOUT says that the operation is still running, and the wait
 *                     may be repeated
 *  Blocks:  until done or timed out
 *  Threads: any; several threads may wait for one work
 *  Fails:   TIMEOUT (this wait expired, or the operation itself did: tutti_work_is_completed
 *           tells which); INVALID_HANDLE; otherwise the failure of the operation
 *  Source:  torch.distributed.Work.wait
 *  @since 0.1 */
TUTTI_API tutti_status tutti_work_wait(tutti_work* work, int64_t timeout_ms, tutti_error* error);

/** Whether the operation is done, successfully or not.
 *  @param work           borrowed
 *  @param out_completed  receives 1 or 0
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_HANDLE, INVALID_ARGUMENT
 *  Source:  torch.distributed.Work.is_completed
 *  @since 0.1 */
TUTTI_API tutti_status tutti_work_is_completed(tutti_work* work, int32_t* out_completed,
                                               tutti_error* error);

/** Whether the operation is done and successful.
 *  @param work         borrowed
 *  @param out_success  receives 1, or 0 while it is running or when it failed
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_HANDLE, INVALID_ARGUMENT
 *  Source:  torch.distributed.Work.is_success
 *  @since 0.1 */
TUTTI_API tutti_status tutti_work_is_success(tutti_work* work, int32_t* out_success,
                                             tutti_error* error);

/** The failure of the operation: returns its status and fills `error`; TUTTI_OK while it is
 *  running and if it succeeded.
 *  @param work  borrowed
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
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_HANDLE, INVALID_ARGUMENT
 *  Source:  torch.distributed.Work.source_rank
 *  @since 0.1 */
TUTTI_API tutti_status tutti_work_source_rank(tutti_work* work, int32_t* out_rank,
                                              tutti_error* error);

/** Waits until one of several operations is done. How it ended, tutti_work_error says.
 *  @param works       `count` borrowed works, 1 or more
 *  @param timeout_ms  0 or TUTTI_NO_TIMEOUT: no limit; else a limit for this wait
 *  @param out_index   receives the index of a finished work, the lowest one if several are
 *  Blocks:  until one is done or the limit has passed
 *  Threads: any
 *  Fails:   TIMEOUT, INVALID_HANDLE (names the index), INVALID_ARGUMENT
 *  @since 0.1 */
TUTTI_API tutti_status tutti_work_wait_any(tutti_work* const* works, size_t count,
                                           int64_t timeout_ms, size_t* out_index,
                                           tutti_error* error);

/** Waits until all of several operations are done; the first failure in their order is the
 *  result.
 *  @param works       `count` borrowed works, 0 or more
 *  @param timeout_ms  0 or TUTTI_NO_TIMEOUT: no limit; else a limit for the whole wait
 *  Blocks:  until all are done, also after a failure, or the limit has passed
 *  Threads: any
 *  Fails:   TIMEOUT, INVALID_HANDLE (names the index), INVALID_ARGUMENT; otherwise the first
 *           failed operation's failure
 *  @since 0.1 */
TUTTI_API tutti_status tutti_work_wait_all(tutti_work* const* works, size_t count,
                                           int64_t timeout_ms, tutti_error* error);

/** Called once when an operation is done. `result->status` is TUTTI_OK, or `result` says how it
 *  failed; it is borrowed until the callback returns. Runs on one thread of the library that serves
 *  all callbacks of the process, in the order in which their operations ended: while one runs, the
 *  others wait. It may call any function, but must not wait for an operation that can end only
 *  after another callback. It must not throw, longjmp or end its thread. */
typedef void (*tutti_work_callback)(const tutti_error* result, void* user);

/** Has a callback called once the operation is done, successfully or not; never inside this call,
 *  also if the operation is done already. Several callbacks of one work are called in the order of
 *  these calls. The work may be released meanwhile; destroying the group ends its operations, and
 *  so brings their callbacks.
 *  @param work      borrowed
 *  @param callback  see tutti_work_callback; must stay callable until it has been called
 *  @param user      passed to the callback as it is
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_HANDLE, INVALID_ARGUMENT; OUT_OF_MEMORY if there is no thread to have: then the
 *           callback is not called
 *  Source:  torch.distributed.Work.get_future, torch.futures.Future.then
 *  @since 0.1 */
TUTTI_API tutti_status tutti_work_then(tutti_work* work, tutti_work_callback callback, void* user,
                                       tutti_error* error);

/** What kind of operation it is: the name of its function without the prefix, for instance
 *  "all_reduce".
 *  @param work  borrowed
 *  @return a static string; NULL for an invalid handle
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never: gives NULL
 *  Source:  torch.distributed.Work._get_op_type
 *  @since 0.1 */
TUTTI_API const char* tutti_work_get_op_type(tutti_work* work);

/** Which collective of its group it is, as error messages show it (#7).
 *  @param work        borrowed
 *  @param out_number  receives the number, from 1 on, the same on all ranks; 0 for messages, which
 *                     are outside the order of the collectives
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_HANDLE, INVALID_ARGUMENT
 *  Source:  torch.distributed.Work._get_sequence_number
 *  @since 0.1 */
TUTTI_API tutti_status tutti_work_get_sequence_number(tutti_work* work, uint64_t* out_number,
                                                      tutti_error* error);

/** How long the operation took, from the call that started it to its end.
 *  @param work    borrowed
 *  @param out_ms  receives milliseconds; -1 while it is running
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_HANDLE, INVALID_ARGUMENT
 *  Source:  torch.distributed.Work._get_duration
 *  @since 0.1 */
TUTTI_API tutti_status tutti_work_get_duration(tutti_work* work, double* out_ms,
                                               tutti_error* error);

/** Gives the handle back. An unfinished operation goes on: its buffers stay borrowed until its
 *  group is destroyed.
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
