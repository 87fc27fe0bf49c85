/* tutti/debug.h: torch's debug level. */
#ifndef TUTTI_DEBUG_H
#define TUTTI_DEBUG_H

#include <tutti/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How much is checked and told, a value of the process; torch.distributed.DebugLevel. Under
 *  TUTTI_DEBUG_DETAIL a group's ranks compare what they call before each collective: no data move
 *  until all have called the same, else all get TUTTI_ERR_MISMATCH in that very call, which says
 *  who called what, or rank 0 TUTTI_ERR_TIMEOUT with all ranks that have not called. It costs a
 *  message from every rank to rank 0 and one back. A group keeps the level of when it was made,
 *  which must be the same on all its ranks. */
typedef uint32_t tutti_debug_level;
enum { TUTTI_DEBUG_OFF = 0, TUTTI_DEBUG_INFO = 1, TUTTI_DEBUG_DETAIL = 2 };

/** Sets the debug level of this process.
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (a level that is none)
 *  Source:  torch.distributed.set_debug_level
 *  @since 0.1 */
TUTTI_API tutti_status tutti_set_debug_level(tutti_debug_level level, tutti_error* error);

/** Sets the debug level to what TORCH_DISTRIBUTED_DEBUG says: "OFF", "INFO" or "DETAIL" in upper
 *  or lower case; OFF if it is not set.
 *  Blocks:  never
 *  Threads: any, while none changes the environment
 *  Fails:   INVALID_ARGUMENT (the variable has another value; the level stays)
 *  Source:  torch.distributed.set_debug_level_from_env
 *  @since 0.1 */
TUTTI_API tutti_status tutti_set_debug_level_from_env(tutti_error* error);

/** The debug level of this process; until it is set, what TORCH_DISTRIBUTED_DEBUG said when it was
 *  first asked for.
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  Source:  torch.distributed.get_debug_level
 *  @since 0.1 */
TUTTI_API tutti_debug_level tutti_get_debug_level(void);

#ifdef __cplusplus
}
#endif

#endif
