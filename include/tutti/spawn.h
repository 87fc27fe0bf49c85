/* tutti/spawn.h: run a function in several processes, without a launcher. */
#ifndef TUTTI_SPAWN_H
#define TUTTI_SPAWN_H

#include <tutti/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The function that tutti_spawn runs in each process.
 *  @param local_rank  the number of the process, 0 to nprocs - 1
 *  @param user        the caller's; the process has a copy of its memory
 *  @param error       initialised; a failing function puts its message and errno here
 *  @return TUTTI_OK; any other value is a failure, which tutti_spawn reports with the error's
 *          message and errno */
typedef tutti_status (*tutti_spawn_function)(int32_t local_rank, void* user, tutti_error* error);

/** Options of tutti_spawn; zero is every field's default. */
typedef struct tutti_spawn_options {
    uint32_t struct_size; /**< sizeof the struct: the INIT macro or the init function sets it */
    uint32_t keep_environment; /**< 1: the processes get the caller's environment unchanged, and no
                                    store is served for them */
    int64_t timeout_ms;        /**< limit for the whole run of the processes; 0 or TUTTI_NO_TIMEOUT:
                                    none */
    int64_t grace_period_ms;   /**< time from SIGTERM to SIGKILL; 0: 5,000 */
} tutti_spawn_options;

/** Options with every field at its default. */
#define TUTTI_SPAWN_OPTIONS_INIT \
    { sizeof(tutti_spawn_options), 0, 0, 0 }

/** Sets every field to its default, for callers that have no C macros.
 *  @param options  memory of the caller; NULL does nothing
 *  @param size     bytes of that memory, all of which are written: the caller's sizeof. An older
 *                  caller's is smaller than this library's, a newer one's larger. If it is below
 *                  8 or above 256, only struct_size is written, as 0, and calls refuse the
 *                  options
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  @since 0.1 */
TUTTI_API void tutti_spawn_options_init(tutti_spawn_options* options, size_t size);

/** Runs a function in `nprocs` new processes on this machine and waits for all. If a process fails,
 *  by its return value, an exit code or a signal, the others are ended (SIGTERM, then SIGKILL). The
 *  error names the rank that failed first, and how it ended.
 *
 *  The processes are forked. RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR and
 *  MASTER_PORT are set in each, and the caller's process serves the store, so "env://" makes them
 *  one group. Buffered output of the caller is written first; theirs is written when the function
 *  returns. Their standard input is empty. They end without running the caller's atexit functions
 *  and destructors. They are killed if the calling thread ends.
 *
 *  At the call, this process must hold no store, group, work, log callback or memory of
 *  tutti_memory_alloc, none of its threads may be in another call of tutti, and processes of an
 *  earlier spawn must have ended. Locks that other threads hold stay locked in the processes, so it
 *  is best to spawn before starting any thread.
 *  @param function  the function to run
 *  @param user      passed to the function; may be NULL
 *  @param nprocs    1 to 4096
 *  @param options   NULL: defaults
 *  @param work      NULL: return when all processes have ended; else receives an owned work at
 *                   once, which is done when they have ended. The calling thread must live as long
 *                   as they do
 *  @param error     NULL, or filled in if the call fails
 *  Blocks:  until handles released before have ended; then, if work is NULL, until all processes
 *           have ended
 *  Threads: one at a time, see above
 *  Fails:   INVALID_ARGUMENT; UNSUPPORTED (this process still holds something of tutti, which is
 *           named); OUT_OF_MEMORY (not enough memory or process slots; no process is left). Then,
 *           also through the work: the status that the function returned; PEER_LOST (an exit code
 *           or a signal); TIMEOUT
 *  Source:  torch.multiprocessing.spawn (join: without `work`; daemon: always; start_method: fork)
 *  @since 0.1 */
TUTTI_API tutti_status tutti_spawn(tutti_spawn_function function, void* user, int32_t nprocs,
                                   const tutti_spawn_options* options, tutti_work** work,
                                   tutti_error* error);

#ifdef __cplusplus
}
#endif

#endif
