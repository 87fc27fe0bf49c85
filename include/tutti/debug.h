/* tutti/debug.h: the debug level and a breakpoint, as in torch, and the settings of the process. */
#ifndef TUTTI_DEBUG_H
#define TUTTI_DEBUG_H

#include <tutti/collectives.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The debug level of the process; torch.distributed.DebugLevel. With TUTTI_DEBUG_DETAIL, the ranks
 *  of a group compare their calls before each collective. No data moves until all ranks have made
 *  the same call. Otherwise all ranks get TUTTI_ERR_MISMATCH in this call, with the calls of all
 *  ranks, or rank 0 gets TUTTI_ERR_TIMEOUT with all ranks that have not called. This costs a
 *  message from every rank to rank 0 and one back. A group keeps the level that was set when it was
 *  made. All its ranks must have the same level. */
typedef uint32_t tutti_debug_level;
enum { TUTTI_DEBUG_OFF = 0, TUTTI_DEBUG_INFO = 1, TUTTI_DEBUG_DETAIL = 2 };

/** Sets the debug level of this process.
 *  @param level  TUTTI_DEBUG_OFF, TUTTI_DEBUG_INFO or TUTTI_DEBUG_DETAIL
 *  @param error  NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (an unknown level)
 *  Source:  torch.distributed.set_debug_level
 *  @since 0.1 */
TUTTI_API tutti_status tutti_set_debug_level(tutti_debug_level level, tutti_error* error);

/** Sets the debug level from TORCH_DISTRIBUTED_DEBUG: "OFF", "INFO" or "DETAIL" in upper or lower
 *  case; OFF if it is not set.
 *  @param error  NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any, while no thread changes the environment
 *  Fails:   INVALID_ARGUMENT (the variable has another value; the level stays)
 *  Source:  torch.distributed.set_debug_level_from_env
 *  @since 0.1 */
TUTTI_API tutti_status tutti_set_debug_level_from_env(tutti_error* error);

/** The debug level of this process. Until it is set, it comes from TORCH_DISTRIBUTED_DEBUG, which
 *  is read once.
 *  @return TUTTI_DEBUG_OFF, TUTTI_DEBUG_INFO or TUTTI_DEBUG_DETAIL
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  Source:  torch.distributed.get_debug_level
 *  @since 0.1 */
TUTTI_API tutti_debug_level tutti_get_debug_level(void);

/** Every setting of the library that environment variables make, with its value and where it comes
 *  from: a map from names to maps of strings. Each has "value" and "source". The source "default"
 *  means that no variable is set, "environment" that one is (and "variable" names it, which may be
 *  another one, as TORCH_CPP_LOG_LEVEL for TUTTI_LOG_LEVEL), "call" that a function of the library
 *  has set it. "default" is the value, or words, without any of these. Variables whose names begin
 *  with TUTTI_ and that the library does not know are there with the source "unknown", and
 *  "nearest" names the setting that may be meant. Values are as the environment has them, malformed
 *  ones too: the call that reads one refuses it. Options of a group are not among them.
 *  @param out_settings  receives an owned object
 *  @param error         NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any, while no thread changes the environment
 *  Fails:   INVALID_ARGUMENT (out_settings is NULL), OUT_OF_MEMORY
 *  @since 0.1 */
TUTTI_API tutti_status tutti_get_settings(tutti_object** out_settings, tutti_error* error);

/** Stops rank `group_rank` in a debugger while the others wait. All ranks of the group call it,
 *  with the same rank. When all have come, that rank prints the command that attaches gdb to it,
 *  `gdb -p PID -ex continue`, on stderr, or logs it as a warning. It waits until a debugger is
 *  attached, as by `tuttirun --attach RANK`, and lets it run (`continue`). It then stops, by
 *  SIGTRAP, in this function: the caller is the frame above it. The call returns on all ranks when
 *  that one has gone on, by `continue` or `detach`. A rank in a debugger is not taken for dead
 *  while its process is stopped, also after this call, as long as the debugger stays attached. If
 *  its process ends, the others get PEER_LOST.
 *  @param group       TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param group_rank  the rank in the group that stops, the same on all ranks
 *  @param options     NULL: defaults. The timeout is for all ranks to call
 *  @param error       NULL, or filled in if the call fails
 *  Blocks:  up to the timeout until all ranks have called, and then without a limit for the
 *           debugger, or until the group fails
 *  Threads: any; calls take effect in arrival order
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE, MISMATCH (ranks give different ranks, or call
 *           different functions), PEER_LOST, TIMEOUT, ABORTED, UNSUPPORTED (ranks of another
 *           library)
 *  Source:  torch.distributed.breakpoint
 *  @since 0.1 */
TUTTI_API tutti_status tutti_breakpoint(tutti_group* group, int32_t group_rank,
                                        const tutti_call_options* options, tutti_error* error);

#ifdef __cplusplus
}
#endif

#endif
