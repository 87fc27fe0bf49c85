/* tutti/spawn.h: a function in several processes, with no launcher. */
#ifndef TUTTI_SPAWN_H
#define TUTTI_SPAWN_H

#include <tutti/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What tutti_spawn runs in each process. It gets its number, 0 to nprocs - 1, the caller's `user`,
 *  of whose memory the process has a copy, and an error to fill, already initialised. TUTTI_OK
 *  says that all went well; anything else is a failure, and the error's message and errno come
 *  with it. */
typedef tutti_status (*tutti_spawn_function)(int32_t local_rank, void* user, tutti_error* error);

/** Options of tutti_spawn; zero is every field's default. */
typedef struct tutti_spawn_options {
    uint32_t struct_size;
    uint32_t keep_environment; /**< 1: the processes get the caller's environment as it is, and no
                                  store is served for them */
    int64_t timeout_ms;        /**< of the processes' whole life; 0 or TUTTI_NO_TIMEOUT: none */
    int64_t grace_period_ms;   /**< from SIGTERM to SIGKILL where processes are ended; 0: 5,000 */
} tutti_spawn_options;

#define TUTTI_SPAWN_OPTIONS_INIT \
    { sizeof(tutti_spawn_options), 0, 0, 0 }

/** Sets every field to its default, for callers that have no C macros.
 *  @param options  memory of the caller; NULL does nothing
 *  @param size     bytes of that memory, all of which are written: the caller's sizeof. Of an older
 *                  caller it is smaller than this library's, of a newer one larger. A size below 8
 *                  or above 256 is no options struct's: only struct_size is written, as 0, and
 *                  calls refuse the options
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  @since 0.1 */
TUTTI_API void tutti_spawn_options_init(tutti_spawn_options* options, size_t size);

/** Runs a function in `nprocs` new processes of this machine and waits for all. The first that
 *  fails, by what it returns, an exit code or a signal, ends the others (SIGTERM, then SIGKILL) and
 *  is the error: its rank, and how it ended.
 *
 *  The processes are made by fork. Each finds its place in RANK, LOCAL_RANK, WORLD_SIZE,
 *  LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT, where the caller's process serves a store:
 *  "env://" makes them one group. Output that the caller had buffered is written before, theirs
 *  when the function returns; their standard input is empty. They end without running the caller's
 *  atexit functions and destructors, and they die with the thread that called.
 *
 *  At the call this process holds no store, group, work, log callback or memory of tutti_alloc, no
 *  thread of it is in another call of tutti, and none is left of an earlier spawn: what such a
 *  thread was doing would stand still in the copies for ever. That goes for threads of others, too:
 *  better spawn before starting any.
 *  @param function  what to run
 *  @param user      handed to the function; may be NULL
 *  @param nprocs    1 to 4096
 *  @param options   NULL: defaults
 *  @param work      NULL: return when all have ended; else receives an owned work at once, whose
 *                   end is theirs. The calling thread must live as long as they do.
 *  Blocks:  until what was released before has ended; then, if work is NULL, until all processes
 *           have ended
 *  Threads: one at a time, as said above
 *  Fails:   INVALID_ARGUMENT; UNSUPPORTED (something of tutti is still there, and is named);
 *           OUT_OF_MEMORY (no room for so many processes: none is left). Then, also through the
 *           work: what the function returned; PEER_LOST (an exit code or a signal); TIMEOUT
 *  Source:  torch.multiprocessing.spawn (join: without `work`; daemon: always; start_method: fork)
 *  @since 0.1 */
TUTTI_API tutti_status tutti_spawn(tutti_spawn_function function, void* user, int32_t nprocs,
                                   const tutti_spawn_options* options, tutti_work** work,
                                   tutti_error* error);

#ifdef __cplusplus
}
#endif

#endif
