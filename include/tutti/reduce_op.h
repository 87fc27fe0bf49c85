/* tutti/reduce_op.h: reduce ops beside those of types.h: a sum of inputs that each rank multiplies
 * by its factor first, and functions of the caller. What these functions make is given to the
 * collectives as their `op`, like TUTTI_SUM. */
#ifndef TUTTI_REDUCE_OP_H
#define TUTTI_REDUCE_OP_H

#include <tutti/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A reduction of the caller: inout[i] = in[i] op inout[i], for `count` elements that do not depend
 *  on each other. The order of the operands is MPI's: `in` comes from the lower ranks. The op must
 *  be associative, and give the same bits for the same operands on every rank. It is called for any
 *  part of the data, any number of times, on the thread that makes a synchronous call or on the
 *  group's own thread if there is a work; never twice at once for one operation, but several
 *  operations may call it at the same time. The memory is aligned for the dtype where the buffers
 *  of the call are; a bool is 0 or 1 and must stay so. It must not throw, longjmp, end its thread
 *  or call anything of tutti that waits for the group.
 *  Returns TUTTI_OK, or another value for "I cannot": the operation then fails with
 *  TUTTI_ERR_BACKEND, and the group with it. */
typedef tutti_status (*tutti_reduce_function)(const void* in, void* inout, int64_t count,
                                              tutti_dtype dtype, void* user);

/** Options of tutti_reduce_op_create_user; zero is every field's default. */
typedef struct tutti_reduce_op_options {
    uint32_t struct_size;
    uint32_t non_commutative; /**< 1: a op b is not b op a, so results keep the order of the ranks:
                                 0 op 1 op 2 ...; costs more than an op that may be reordered */
} tutti_reduce_op_options;

#define TUTTI_REDUCE_OP_OPTIONS_INIT \
    { sizeof(tutti_reduce_op_options), 0 }

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
TUTTI_API void tutti_reduce_op_options_init(tutti_reduce_op_options* options, size_t size);

/** Makes a TUTTI_PREMUL_SUM: every rank's input is multiplied by that rank's factor, and the
 *  products are summed. Factors may differ between ranks. An integer factor goes with every dtype
 *  but bool (integers wrap), a floating-point one with floating point and complex, a complex one
 *  with complex. Products are calculated as the dtype's other results are: float16 and bfloat16 in
 *  float32, which the factor is rounded to, other dtypes in their own precision.
 *  @param factor  one element of the factor's own dtype; read during the call
 *  @param out_op  receives the owned op, valid in this process for every group
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT; OUT_OF_MEMORY when 32768 ops are alive
 *  Source:  torch.distributed.ReduceOp.PREMUL_SUM
 *  @since 0.1 */
TUTTI_API tutti_status tutti_reduce_op_create_premul_sum(const tutti_buffer* factor,
                                                         tutti_reduce_op* out_op,
                                                         tutti_error* error);

/** Makes an op of a function, for every dtype the function understands. All ranks of a call must
 *  use a function that does the same; what is compared is its name and whether it is commutative.
 *  @param name      1 to 64 bytes, the same on all ranks, for comparing and for messages; copied
 *  @param function  see tutti_reduce_function; must stay callable until the op is released and
 *                   every operation that was started with it is done
 *  @param user      passed to the function as it is; as long
 *  @param options   NULL: defaults
 *  @param out_op    receives the owned op, valid in this process for every group
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT; OUT_OF_MEMORY when 32768 ops are alive
 *  @since 0.1 */
TUTTI_API tutti_status tutti_reduce_op_create_user(const char* name, tutti_reduce_function function,
                                                   void* user,
                                                   const tutti_reduce_op_options* options,
                                                   tutti_reduce_op* out_op, tutti_error* error);

/** Gives an op back. Operations that were started with it end as if it were still there.
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
