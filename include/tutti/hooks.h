/* tutti/hooks.h: functions of yours that are called around every operation of this process. */
#ifndef TUTTI_HOOKS_H
#define TUTTI_HOOKS_H

#include <tutti/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A collective, a message or another operation of a group. Everything in it is borrowed until the
 *  hook returns. A newer library's is longer; `struct_size` says how long. */
typedef struct tutti_operation {
    uint32_t struct_size;    /**< bytes of this struct */
    int32_t rank;            /**< this rank, in the group */
    int32_t world_size;      /**< of the group */
    int32_t peer;            /**< the root of a collective, the other rank of a message (-1: any);
                                      -1: there is none */
    uint64_t id;             /**< from 1 on, in this process; the same in all hooks that are
                                      called about this operation */
    int64_t sequence_number; /**< of a collective: which one of its group, from 1 on; else 0 */
    const char* name;        /**< "all_reduce", "send", ... */
    const char* group_name;  /**< as tutti_get_group_name gives it */
    const char* tag_name;    /**< options.tag_name of the call; "" if it has none */
    const tutti_buffer* inputs;  /**< what it reads here; NULL if there is none. Objects and bytes
                                      are not shown */
    const tutti_buffer* outputs; /**< what it writes here; NULL if there is none */
    int64_t input_count;         /**< of `inputs` */
    int64_t output_count;        /**< of `outputs` */
    tutti_reduce_op op;          /**< of a reduction; else 0 */
    int32_t tag;                 /**< of a message; else 0 */
    uint32_t is_async;           /**< 1: the program has a work for it */
    uint32_t reserved;           /**< 0 */
} tutti_operation;

/** Called about an operation.
 *  @param operation  borrowed until the hook returns; its memory must not be written
 *  @param user       `user` of the hooks */
typedef void (*tutti_operation_hook)(const tutti_operation* operation, void* user);

/** Called about an operation that has failed.
 *  @param operation  borrowed until the hook returns
 *  @param why        the error; borrowed until the hook returns
 *  @param user       `user` of the hooks */
typedef void (*tutti_abort_hook)(const tutti_operation* operation, const tutti_error* why,
                                 void* user);

/** Functions around every operation, as torchcomms has pre, post and abort hooks. Zero is every
 *  field's default. */
typedef struct tutti_hooks {
    uint32_t struct_size; /**< sizeof the struct: the INIT macro or the init function sets it */
    uint32_t reserved;    /**< must be 0 */
    tutti_operation_hook before; /**< NULL, or called before the operation moves anything: a
                                      collective in its turn, on the thread that runs it */
    tutti_operation_hook after;  /**< NULL, or called when the operation has succeeded, before
                                      whoever waits for it goes on */
    tutti_abort_hook aborted;    /**< NULL, or called instead of `after` when it has failed */
    void* user;                  /**< passed to them unchanged */
    tutti_release_function release_user; /**< NULL, or called with `user` when the hooks have been
                                              removed and none of them is called any more */
} tutti_hooks;

/** Hooks with every field at its default. */
#define TUTTI_HOOKS_INIT \
    { sizeof(tutti_hooks), 0, NULL, NULL, NULL, NULL, NULL }

/** Sets every field to its default, for callers that have no C macros.
 *  @param hooks  memory of the caller; NULL does nothing
 *  @param size   bytes of that memory: the caller's sizeof
 *  @since 0.1 */
TUTTI_API void tutti_hooks_init(tutti_hooks* hooks, size_t size);

/** Adds hooks. They hear of operations that begin from now on, of all groups of this process. For
 *  each, `before` is called, and then either `after` or `aborted`. The later added are the inner
 *  ones: `before` is called in the order in which hooks were added, the others in the reverse. The
 *  hooks are called by any thread, several at a time if operations run at the same time, and make
 *  each operation slower by what they take. A hook must not throw, longjmp or wait for its group;
 *  operations that it starts call no hooks.
 *
 *  The environment variable TUTTI_HOOKS adds two that come with the library: "nan_check" (also by
 *  TORCH_NCCL_NAN_CHECK=1) makes an operation fail whose input has a NaN, with the place of the
 *  first; "signatures" writes each operation to the log, at the level "info".
 *  @param hooks   read during the call
 *  @param out_id  a number for tutti_hooks_remove
 *  @param error   NULL, or filled in if the call fails
 *  Blocks:  no
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (no hook is given), OUT_OF_MEMORY
 *  @since 0.1 */
TUTTI_API tutti_status tutti_hooks_add(const tutti_hooks* hooks, uint64_t* out_id,
                                       tutti_error* error);

/** Removes hooks: after this returns none of them is called again.
 *  @param id     of tutti_hooks_add
 *  @param error  NULL, or filled in if the call fails
 *  Blocks:  until hooks that are running on other threads have returned. A hook may remove itself
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (no such hooks, or removed before)
 *  @since 0.1 */
TUTTI_API tutti_status tutti_hooks_remove(uint64_t id, tutti_error* error);

#ifdef __cplusplus
}
#endif

#endif
