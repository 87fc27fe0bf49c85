/* tutti/log.h: what the library says of its work, which is nothing unless it is asked to. */
#ifndef TUTTI_LOG_H
#define TUTTI_LOG_H

#include <tutti/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How much is said; each level includes those before it. */
typedef uint32_t tutti_log_level;
enum {
    TUTTI_LOG_OFF = 0,
    TUTTI_LOG_ERROR = 1,
    TUTTI_LOG_WARNING = 2, /**< it goes on, but somebody should look */
    TUTTI_LOG_INFO = 3,    /**< what happens once in a group's life */
    TUTTI_LOG_DEBUG = 4,
    TUTTI_LOG_TRACE = 5
};

/** Receives one line of the log.
 *  @param level    of this line: never TUTTI_LOG_OFF
 *  @param message  one line of UTF-8 with no newline, borrowed until the callback returns
 *  @param user     what tutti_set_log_callback was given */
typedef void (*tutti_log_callback)(tutti_log_level level, const char* message, void* user);

/** Sends the log to a callback, instead of stderr. Without this call the log goes to stderr, as
 *  much of it as TUTTI_LOG_LEVEL says ("off", "error", "warning", "info", "debug", "trace"); if
 *  that is not set, as torch's TORCH_CPP_LOG_LEVEL says ("ERROR", "WARNING", "INFO"; at "INFO",
 *  TORCH_DISTRIBUTED_DEBUG "INFO" makes it debug and "DETAIL" trace); if neither is, nothing.
 *  What is said: warnings are of what the library gets over by itself, strangers that call, clients
 *  that a store's server drops, an address that could not be had; info is, once for each group of
 *  processes, how its rank 0 was reached, and why it failed; debug, attempts to connect that failed
 *  and the code that reduces. Calls and their data are not logged, and a group of one rank, or of
 *  threads, says next to nothing.
 *
 *  The callback is called on a thread of the library, one line at a time and in order, with no
 *  lock held: it may call any function of tutti. A callback that is slower than the lines come
 *  misses some and is told how many.
 *  @param callback  NULL: stderr again, and the environment's level
 *  @param user      handed to the callback as it is
 *  @param level     lines up to this one are heard, whatever the environment says; not looked at
 *                   if `callback` is NULL
 *  Blocks:  until the callback that was set before has heard what was said so far; it is not
 *           called again after this has returned. Called by that callback itself, never: lines
 *           that wait go to the new one
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (a level that is none), OUT_OF_MEMORY
 *  @since 0.1 */
TUTTI_API tutti_status tutti_set_log_callback(tutti_log_callback callback, void* user,
                                              tutti_log_level level, tutti_error* error);

#ifdef __cplusplus
}
#endif

#endif
