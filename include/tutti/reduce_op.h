/* tutti/reduce_op.h: more reduce ops: a sum with a factor for each rank, and callers' functions.
 * Pass these ops to collectives as `op`, like TUTTI_SUM. */
#ifndef TUTTI_REDUCE_OP_H
#define TUTTI_REDUCE_OP_H

#include <tutti/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A caller's reduction: inout[i] = in[i] op inout[i], for `count` independent elements. The order
 *  of the operands is that of MPI: `in` comes from the lower ranks. The op must be associative and
 *  give the same bits for the same operands on every rank. It is called any number of times, for
 *  any part of the data, on the thread of a synchronous call; if there is a work, on a thread that
 *  waits for it, or for a later call, or on a thread of the group. One operation never calls it
 *  twice at the same time, but several operations may. The memory is aligned for the dtype if the
 *  buffers of the call are. A bool is 0 or 1 and must stay so. The function must not throw, longjmp
 *  or end its thread. Calls that wait for the group, or for a work of it, or end it, are refused
 *  there with INVALID_ARGUMENT; all others may be made.
 *  @param in     `count` elements, read only
 *  @param inout  `count` elements, read and written
 *  @param count  1 or more
 *  @param dtype  of both
 *  @param user   the `user` of tutti_reduce_op_create_user
 *  @param error  initialised; a message that the function writes here becomes part of the
 *                operation's error
 *  @return TUTTI_OK; any other value makes the operation and the group fail with
 *          TUTTI_ERR_BACKEND */
typedef tutti_status (*tutti_reduce_function)(const void* in, void* inout, int64_t count,
                                              tutti_dtype dtype, void* user, tutti_error* error);

/** Options of tutti_reduce_op_create_user; zero is every field's default. */
typedef struct tutti_reduce_op_options {
    uint32_t struct_size;     /**< sizeof the struct: the INIT macro or the init function sets it */
    uint32_t non_commutative; /**< 1: a op b differs from b op a, so the op is applied in rank
                                   order: 0 op 1 op 2 ...; this costs more */
} tutti_reduce_op_options;

/** Options with every field at its default. */
#define TUTTI_REDUCE_OP_OPTIONS_INIT \
    { sizeof(tutti_reduce_op_options), 0 }

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
TUTTI_API void tutti_reduce_op_options_init(tutti_reduce_op_options* options, size_t size);

/** Makes a TUTTI_PREMUL_SUM: every rank's input is multiplied by that rank's factor, and the
 *  products are summed. Factors may differ between ranks. An integer factor can be used with every
 *  dtype but bool (integers wrap), a floating-point factor with floating point and complex, a
 *  complex factor with complex. Products of float16 and bfloat16 are computed in float32, to which
 *  the factor is rounded, and then rounded to the dtype. Other dtypes use their own precision.
 *  @param factor  one element of the factor's own dtype; read during the call
 *  @param out_op  receives the owned op, valid in this process for every group
 *  @param error   NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT; OUT_OF_MEMORY when 32768 ops are alive
 *  Source:  torch.distributed.ReduceOp.PREMUL_SUM
 *  @since 0.1 */
TUTTI_API tutti_status tutti_reduce_op_create_premul_sum(const tutti_buffer* factor,
                                                         tutti_reduce_op* out_op,
                                                         tutti_error* error);

/** Makes an op from a function, for every dtype that the function supports. All ranks of a call
 *  must use equivalent functions. tutti compares their names, and whether they commute.
 *  @param name          1 to 64 bytes, the same on all ranks, also used in messages; copied
 *  @param function      see tutti_reduce_function; must stay callable until `release_user` is
 *                       called, which is when the op is released and all operations with it are
 *                       done
 *  @param user          passed to the function unchanged
 *  @param release_user  NULL, or called with `user` at that time
 *  @param options       NULL: defaults
 *  @param out_op        receives the owned op, valid in this process for every group
 *  @param error         NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT; OUT_OF_MEMORY when 32768 ops are alive
 *  @since 0.1 */
TUTTI_API tutti_status tutti_reduce_op_create_user(const char* name, tutti_reduce_function function,
                                                   void* user, tutti_release_function release_user,
                                                   const tutti_reduce_op_options* options,
                                                   tutti_reduce_op* out_op, tutti_error* error);

/** Releases an op. Operations that were started with it are not affected.
 *  @param op  owned until now; ops of types.h and ops that were released are ignored
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  @since 0.1 */
TUTTI_API void tutti_reduce_op_release(tutti_reduce_op op);

#ifdef __cplusplus
}
#endif

#endif
