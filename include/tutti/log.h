/* tutti/log.h: the library's log. It is off by default. */
#ifndef TUTTI_LOG_H
#define TUTTI_LOG_H

#include <tutti/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Log levels; each includes the levels before it. */
typedef uint32_t tutti_log_level;
enum {
    TUTTI_LOG_OFF = 0,
    TUTTI_LOG_ERROR = 1,
    TUTTI_LOG_WARNING = 2, /**< the library recovered from a fault */
    TUTTI_LOG_INFO = 3,    /**< events that happen once per group */
    TUTTI_LOG_DEBUG = 4,
    TUTTI_LOG_TRACE = 5
};

/** Receives one line of the log.
 *  @param level    of this line; never TUTTI_LOG_OFF
 *  @param message  one line of UTF-8, borrowed until the callback returns. A control character, as
 *                  in a name that the program gave, is written as in a string of JSON, with a
 *                  backslash: a newline as a backslash and an n
 *  @param user     the `user` of tutti_set_log_callback */
typedef void (*tutti_log_callback)(tutti_log_level level, const char* message, void* user);

/** Sends the log to a callback instead of stderr. Without this call, the environment sets the level
 *  of the log on stderr: TUTTI_LOG_LEVEL ("off", "error", "warning", "info", "debug", "trace"), or
 *  else torch's TORCH_CPP_LOG_LEVEL ("ERROR", "WARNING", "INFO"; at "INFO", TORCH_DISTRIBUTED_DEBUG
 *  "INFO" means debug and "DETAIL" means trace). If neither is set, nothing is logged. With
 *  TUTTI_LOG_FORMAT "json", each line on stderr is one JSON object. Warnings report faults that the
 *  library recovers from: connections that do not belong to the job, clients that a store's server
 *  drops, an unavailable address. Info lines appear once per group of processes: how rank 0 was
 *  reached, and why the group failed. Debug lines report failed attempts to connect, and the code
 *  chosen for reductions. Calls and their data are not logged. Groups of one rank or of threads log
 *  almost nothing.
 *
 *  A thread of the library calls the callback, one line at a time and in order. No lock is held, so
 *  the callback may call any function of tutti. If it is too slow, it misses lines, and a line says
 *  how many.
 *  @param callback      NULL: log to stderr with the environment's level again
 *  @param user          passed to the callback unchanged
 *  @param release_user  NULL, or called with `user` after a later call of this function has
 *                       replaced the callback
 *  @param level         the callback receives lines up to this level; the environment is ignored.
 *                       Unused if `callback` is NULL
 *  @param error         NULL, or filled in if the call fails
 *  Blocks:  until the previous callback has received all lines so far; after this returns it is not
 *           called again. Never, if that callback itself calls this; queued lines then go to the
 *           new one
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (an unknown level), OUT_OF_MEMORY
 *  @since 0.1 */
TUTTI_API tutti_status tutti_set_log_callback(tutti_log_callback callback, void* user,
                                              tutti_release_function release_user,
                                              tutti_log_level level, tutti_error* error);

#ifdef __cplusplus
}
#endif

#endif
