/* tutti/reducer.h: gradient buckets for data-parallel training, as DistributedDataParallel has
 * them. A reducer groups the gradients of a model's parameters into buckets and all_reduces each
 * bucket as soon as its gradients are ready, on a thread of its own, while the program computes
 * the others. One training step is
 *
 *     tutti_reducer_begin        all ranks; synchronise 0: the pass only accumulates
 *     tutti_reducer_mark_ready   for each parameter, as soon as its gradient is complete
 *     tutti_reducer_finish       all ranks; afterwards every rank has the same gradients
 *
 * The reducer makes a group of its own, so the program may use its group meanwhile. If a step
 * fails, the reducer has failed on all ranks: later calls give the same reason. After the death of
 * a rank tutti_shrink_group makes a group of the others, and tutti_reducer_shrink lets the reducer
 * go on there.
 *
 * Parameters may be on a device, all of a rank on one. Then the program computes gradients on the
 * stream options.stream, and the reducer reduces each bucket on a stream of its own, after what the
 * program's stream had when the bucket's last gradient was marked. With options.stream NULL it is
 * the device's default stream, and tutti_reducer_finish waits for the results. Otherwise the call
 * returns when they are enqueued, and later work on options.stream has them. If
 * tutti_reducer_finish gives a work, tutti_work_synchronize makes a stream wait for them.
 * Compression and options.predivide copy buckets to the CPU and back, for which the group needs a
 * backend for the CPU. These wait for the device, and so do the first pass and
 * options.find_unused_parameters in a group without a backend for the CPU. Enqueued results are
 * good if the work, or a later call of the reducer, does not fail. After a pass that failed, later
 * work on options.stream may use the program's gradients again. */
#ifndef TUTTI_REDUCER_H
#define TUTTI_REDUCER_H

#include <tutti/group.h>
#include <tutti/work.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Options of tutti_reducer_create; zero is every field's default. The same on all ranks, but for
 *  timeout_ms and stream. */
typedef struct tutti_reducer_options {
    uint32_t struct_size; /**< sizeof the struct: the INIT macro or the init function sets it */
    uint32_t find_unused_parameters; /**< 1: some parameters may get no gradient in a pass. Ranks
                                          exchange a byte for each parameter beside the buckets */
    uint32_t static_graph;           /**< 1: every pass marks the same parameters equally often. The
                                          first one finds out which and how often, so it does not
                                          overlap computation and communication */
    uint32_t keep_buckets;           /**< 1: buckets never change. 0: after the first synchronised
                                          pass they follow the order in which rank 0 marked its
                                          parameters, unless find_unused_parameters is 1 and
                                          static_graph is 0 */
    uint32_t no_initial_broadcast;   /**< 1: parameters stay as they are. 0: all ranks begin with
                                          those of rank 0 */
    uint32_t sum;                    /**< 1: results are sums over the ranks; 0: means */
    uint32_t keep_micro_batches; /**< of a reproducible group: the gradients of up to so many passes
                                      that are not synchronised are kept apart, not accumulated, so
                                      that results do not depend on how ranks share micro-batches.
                                      Each takes as much memory as the gradients. Means are then of
                                      all passes of all ranks, as in tutti_all_reduce_addends. After
                                      such a pass the places of gradients are zero */
    uint32_t reserved;           /**< must be 0 */
    int64_t bucket_cap_bytes;    /**< a bucket is full from this size on; 0: 26,214,400 */
    int64_t first_bucket_cap_bytes; /**< of the first bucket; 0: 1,048,576, or bucket_cap_bytes if
                                         that is less */
    int64_t timeout_ms;             /**< of each bucket's communication, on a device with what the
                                         program's stream has before it; 0: the group's */
    double predivide;               /**< gradients are divided by it before they are added up, and
                                         by the rest of the divisor afterwards, so that sums of
                                         float16 do not overflow; 0: 1 */
    void* stream; /**< of the parameters' device: the program computes gradients on it, and later
                       work on it has the results. NULL: the default stream of the device, and
                       tutti_reducer_finish waits for the results. Must be NULL if the parameters
                       are on the CPU. Each rank has its own, until it releases the reducer */
} tutti_reducer_options;

/** Options with every field at its default. */
#define TUTTI_REDUCER_OPTIONS_INIT \
    { sizeof(tutti_reducer_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.0, NULL }

/** A bucket: the gradients of some parameters of one dtype, one after the other, on the parameters'
 *  device. */
typedef struct tutti_bucket {
    uint32_t struct_size;   /**< sizeof the struct: the INIT macro or the init function sets it */
    int32_t index;          /**< buckets are reduced in this order, from 0; -1: no bucket is left */
    int32_t bucket_count;   /**< of the reducer */
    uint32_t is_last;       /**< 1: the bucket with the highest index */
    tutti_buffer gradients; /**< of all its parameters; NULL and empty if index is -1 */
    const int64_t* parameters; /**< indices of its parameters, in their order in the bucket */
    const int64_t* offsets;    /**< for each, where its gradient begins in `gradients`; elements */
    const int64_t* counts;     /**< for each, the elements of its gradient */
    int64_t parameter_count;   /**< of the three lists */
    void* stream; /**< of a bucket on a device: the gradients are there after what this stream has;
                       NULL on the CPU. Only a hook needs it */
} tutti_bucket;

/** A bucket that a call can fill in. */
#define TUTTI_BUCKET_INIT \
    { sizeof(tutti_bucket), -1, 0, 0, TUTTI_BUFFER_INIT(NULL, 0, 0), NULL, NULL, NULL, 0, NULL }

/** How gradients travel. */
typedef uint32_t tutti_compression;
enum {
    TUTTI_COMPRESSION_NONE = 0,
    TUTTI_COMPRESSION_FLOAT16 = 1,  /**< as float16, averaged in float32 (fp16_compress_hook) */
    TUTTI_COMPRESSION_BFLOAT16 = 2, /**< as bfloat16, averaged in float32 (bf16_compress_hook) */
    TUTTI_COMPRESSION_QUANTISED = 3 /**< as 8-bit numbers with a scale and an offset for each bucket
                                         and rank, gathered and averaged by every rank
                                         (quantization_pertensor_hook). A bucket with an infinity or
                                         NaN becomes NaN */
};

/** Reduces a bucket in the program's own way, instead of the all_reduce and the division. Called on
 *  a thread of the reducer, one bucket at a time, in the order of their indices, so blocking calls
 *  are fine. Ranks need not be equally far in their computation, but all reduce the same buckets in
 *  the same order. On a device the hook enqueues on bucket->stream, for instance as the stream of
 *  its collectives, or waits for that stream before it begins. It must not throw, longjmp, end its
 *  thread or wait for this pass of the reducer, which is refused there with INVALID_ARGUMENT.
 *  @param group   the reducer's own group, which the hook has for itself; borrowed until it returns
 *  @param bucket  the bucket, with this rank's gradients; their result is to be written in place.
 *                 Borrowed until the hook returns
 *  @param user    the `user` of tutti_reducer_set_hook
 *  @param error   initialised; a message that the hook writes here becomes part of the reducer's
 *                 error
 *  @return TUTTI_OK; any other value makes the reducer fail, on all ranks */
typedef tutti_status (*tutti_bucket_hook)(tutti_group* group, const tutti_bucket* bucket,
                                          void* user, tutti_error* error);

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
TUTTI_API void tutti_reducer_options_init(tutti_reducer_options* options, size_t size);

/** As TUTTI_BUCKET_INIT, for callers that have no C macros.
 *  @param bucket  memory of the caller; NULL does nothing
 *  @param size    bytes of that memory: the caller's sizeof, as in tutti_reducer_options_init
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  @since 0.1 */
TUTTI_API void tutti_bucket_init(tutti_bucket* bucket, size_t size);

/** Makes a reducer for the parameters of a model. All ranks of the group call it, with as many
 *  parameters of the same names, counts and dtypes in the same order; if they differ, all ranks get
 *  MISMATCH with both sides. The reducer makes a group of its own with these ranks. It allocates
 *  gradients, zeroed, on the CPU as tutti_memory_alloc does, so a program can compute them in place
 *  (tutti_reducer_gradient); a program with gradients of its own passes them to
 *  tutti_reducer_mark_ready. Parameters are grouped by dtype in the given order until a bucket has
 *  reached its cap; a parameter is never split.
 *  @param group        TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param parameters   `count` buffers with the parameters' values, all on the CPU, or all on one
 *                      device, of the same type on all ranks; borrowed until the call returns, with
 *                      options.stream until that stream has come so far. They receive the values of
 *                      rank 0, unless options say otherwise. A count of 0 elements is allowed.
 *                      Floating point and complex; with options.sum also integers
 *  @param names        `count` names for messages, copied; NULL: parameters go by their indices
 *  @param order        `count` indices, each once: the order in which gradients are expected; NULL:
 *                      from the last parameter to the first. The same on all ranks
 *  @param count        1 or more
 *  @param options      NULL: defaults
 *  @param out_reducer  receives an owned reducer
 *  @param error        NULL, or filled in if the call fails
 *  Blocks:  until all ranks have called, up to the timeout
 *  Threads: any, one at a time for each `group`, in the same order on all ranks
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE; UNSUPPORTED (parameters on several devices, or on one
 *           that the group has no backend for; options.keep_micro_batches of them on a device);
 *           MISMATCH (ranks differ, or one rank's argument was refused); OUT_OF_MEMORY; otherwise
 *           as tutti_new_group
 *  Source:  torch.nn.parallel.DistributedDataParallel
 *  @since 0.1 */
TUTTI_API tutti_status tutti_reducer_create(tutti_group* group, const tutti_buffer* parameters,
                                            const char* const* names, const int64_t* order,
                                            int64_t count, const tutti_reducer_options* options,
                                            tutti_reducer** out_reducer, tutti_error* error);

/** The place of a parameter's gradient in its bucket. The program may read and write it, but not
 *  between marking the parameter and the end of the pass. Between passes it keeps what is there, so
 *  a program that accumulates sets it to zero when it begins anew.
 *  @param reducer     borrowed
 *  @param index       of the parameter, from 0
 *  @param out_buffer  receives the place; valid until tutti_reducer_generation changes, or until
 *                     the reducer is released
 *  @param error       NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE
 *  Source:  gradient_as_bucket_view of torch.nn.parallel.DistributedDataParallel
 *  @since 0.1 */
TUTTI_API tutti_status tutti_reducer_gradient(tutti_reducer* reducer, int64_t index,
                                              tutti_buffer* out_buffer, tutti_error* error);

/** How often gradients have moved: 0 at first. Only two calls move them, each at most once:
 *  tutti_reducer_begin, with what they contain, and tutti_reducer_shrink.
 *  @param reducer  borrowed
 *  @return the number; -1 for an invalid handle
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never: gives -1
 *  @since 0.1 */
TUTTI_API int64_t tutti_reducer_generation(tutti_reducer* reducer);

/** One of the buckets, as they are now.
 *  @param reducer     borrowed
 *  @param index       from 0; every reducer has a bucket 0, which says how many there are
 *  @param out_bucket  initialised; receives the bucket, which is valid until the next
 *                     tutti_reducer_begin, or until the reducer is released
 *  @param error       NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE
 *  Source:  torch.distributed.GradBucket
 *  @since 0.1 */
TUTTI_API tutti_status tutti_reducer_get_bucket(tutti_reducer* reducer, int32_t index,
                                                tutti_bucket* out_bucket, tutti_error* error);

/** Says that a forward pass begins, so that logs can tell how long it takes. Nothing else needs it.
 *  @param reducer  borrowed
 *  @param error    NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_HANDLE
 *  @since 0.1 */
TUTTI_API tutti_status tutti_reducer_begin_forward(tutti_reducer* reducer, tutti_error* error);

/** Begins a backward pass. A pass that is not synchronised sends nothing; its gradients count in
 *  the next synchronised pass, also those of parameters that are not marked there again. Ranks may
 *  differ in how many passes they do not synchronise, not in how many they do. In the first pass
 *  after the first synchronised one the buckets may change (tutti_reducer_generation).
 *  @param reducer      borrowed
 *  @param synchronise  1: the gradients are reduced; 0: as torch's no_sync()
 *  @param error        NULL, or filled in if the call fails
 *  Blocks:  never; on a device until memory is allocated, if the buckets change
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (the pass before has not ended; more passes without synchronisation
 *           than options.keep_micro_batches, if that is not 0), INVALID_HANDLE; otherwise the
 *           failure of the reducer
 *  Source:  torch.nn.parallel.DistributedDataParallel.no_sync
 *  @since 0.1 */
TUTTI_API tutti_status tutti_reducer_begin(tutti_reducer* reducer, uint32_t synchronise,
                                           tutti_error* error);

/** Says that a parameter's gradient is complete on this rank. When all gradients of a bucket and
 *  of those before it are, the reducer reduces it in the background.
 *  @param reducer   borrowed
 *  @param index     of the parameter, from 0; once in a pass, or as often as in the first pass if
 *                   options.static_graph is 1
 *  @param gradient  NULL: the gradient is in its place in the bucket; else the program's own, with
 *                   the parameter's count, dtype and device. It is copied into the bucket, in a
 *                   pass that is synchronised or kept (keep_micro_batches), and the result of a
 *                   synchronised one is copied back before it ends. Borrowed until a synchronised
 *                   pass has ended, on a device until its results are there. A program that
 *                   accumulates gives all that it has accumulated; with options.keep_micro_batches,
 *                   this pass's gradient alone
 *  @param error     NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any, also several at once
 *  Fails:   INVALID_ARGUMENT (also: it was marked before in this pass; no pass has begun),
 *           INVALID_HANDLE; otherwise the failure of the reducer
 *  @since 0.1 */
TUTTI_API tutti_status tutti_reducer_mark_ready(tutti_reducer* reducer, int64_t index,
                                                const tutti_buffer* gradient, tutti_error* error);

/** Says early that parameters get no gradient in this pass, so that their buckets need not wait for
 *  tutti_reducer_finish.
 *  @param reducer  borrowed
 *  @param indices  `count` indices of parameters
 *  @param count    0 or more
 *  @param error    NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (also: options.find_unused_parameters is 0; it was marked before),
 *           INVALID_HANDLE; otherwise the failure of the reducer
 *  @since 0.1 */
TUTTI_API tutti_status tutti_reducer_mark_unused(tutti_reducer* reducer, const int64_t* indices,
                                                 int64_t count, tutti_error* error);

/** Ends a backward pass: parameters that were not marked get no gradient from this rank. Unless
 *  options.find_unused_parameters is 1, or a static graph began so, that is MISMATCH on all ranks.
 *  Where no rank has a gradient, the place in the bucket is zero and the program's own
 *  gradient stays as it was (tutti_reducer_is_used).
 *  @param reducer  borrowed
 *  @param work     NULL: return when all buckets are reduced, or, with options.stream, enqueued;
 *                  else receives an owned work at once
 *  @param error    NULL, or filled in if the call fails
 *  Blocks:  only if work is NULL
 *  Threads: any; marks of other threads come before
 *  Fails:   INVALID_ARGUMENT (no pass has begun), INVALID_HANDLE; MISMATCH (parameters got no
 *           gradient; names them), PEER_LOST, TIMEOUT, ABORTED, now or through the work
 *  @since 0.1 */
TUTTI_API tutti_status tutti_reducer_finish(tutti_reducer* reducer, tutti_work** work,
                                            tutti_error* error);

/** The next bucket of this pass whose gradients are reduced, in the order of their indices, each
 *  once: an optimizer may update its parameters while later buckets travel. With options.stream,
 *  later work on that stream has them.
 *  @param reducer     borrowed
 *  @param out_bucket  initialised; receives the bucket, which is valid until the next
 *                     tutti_reducer_begin. Its index is -1 after the last bucket, and in a pass
 *                     that is not synchronised
 *  @param error       NULL, or filled in if the call fails
 *  Blocks:  until the bucket is reduced, or the reducer's timeout has passed. Call it after
 *           tutti_reducer_finish with a work, or on another thread than the one that marks
 *  Threads: any, one at a time
 *  Fails:   PENDING (the wait expired; the pass continues), INVALID_ARGUMENT (no pass has begun),
 *           INVALID_HANDLE; otherwise the failure of the reducer
 *  @since 0.1 */
TUTTI_API tutti_status tutti_reducer_next_bucket(tutti_reducer* reducer, tutti_bucket* out_bucket,
                                                 tutti_error* error);

/** Whether any rank had a gradient for a parameter in the last synchronised pass, or since the one
 *  before it. It is known when the parameter's bucket is reduced.
 *  @param reducer  borrowed
 *  @param index    of the parameter, from 0
 *  @return 1 or 0; -1 for an invalid handle or index
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never: gives -1
 *  @since 0.1 */
TUTTI_API int32_t tutti_reducer_is_used(tutti_reducer* reducer, int64_t index);

/** Copies buffers of one rank to all ranks, for instance running statistics before a forward pass.
 *  All ranks call it between two passes.
 *  @param reducer    borrowed
 *  @param buffers    `count` buffers on the CPU or on the parameters' device, read on `group_src`,
 *                    written on the others; the same counts, dtypes and types of device on all
 *                    ranks; none overlaps another
 *  @param count      0 or more
 *  @param group_src  group rank of the source, the same on every rank
 *  @param error      NULL, or filled in if the call fails
 *  Blocks:  until done, on a device with options.stream until enqueued; up to the timeout
 *  Threads: any, one at a time
 *  Fails:   INVALID_ARGUMENT (also: a pass has begun and not ended), INVALID_HANDLE, UNSUPPORTED;
 *           MISMATCH, PEER_LOST, TIMEOUT, ABORTED: the reducer has failed
 *  Source:  broadcast_buffers of torch.nn.parallel.DistributedDataParallel
 *  @since 0.1 */
TUTTI_API tutti_status tutti_reducer_sync_buffers(tutti_reducer* reducer,
                                                  const tutti_buffer* buffers, int64_t count,
                                                  int32_t group_src, tutti_error* error);

/** Has a function of the program reduce the buckets. All ranks set it before the same pass. It
 *  replaces the compression and the hook before it.
 *  @param reducer       borrowed
 *  @param hook          see tutti_bucket_hook; NULL: the reducer reduces buckets again
 *  @param user          passed to the hook unchanged
 *  @param release_user  NULL, or called with `user` once the hook is not called any more; after
 *                       tutti_reducer_release that is in the background
 *  @param error         NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT (a pass has begun and not ended; options.keep_micro_batches is not 0),
 *           INVALID_HANDLE
 *  Source:  torch.nn.parallel.DistributedDataParallel.register_comm_hook
 *  @since 0.1 */
TUTTI_API tutti_status tutti_reducer_set_hook(tutti_reducer* reducer, tutti_bucket_hook hook,
                                              void* user, tutti_release_function release_user,
                                              tutti_error* error);

/** Makes gradients travel in fewer bytes: float32, float64, complex64 and complex128; others travel
 *  as they are. Quantised ones ignore options.predivide. All ranks call it between the
 *  same passes. It replaces the hook before it.
 *  @param reducer      borrowed
 *  @param compression  a TUTTI_COMPRESSION_ value, the same on all ranks
 *  @param error        NULL, or filled in if the call fails
 *  Blocks:  until all ranks have called, up to the timeout
 *  Threads: any, one at a time
 *  Fails:   INVALID_ARGUMENT (no such compression; a pass has begun and not ended;
 *           options.keep_micro_batches is not 0), INVALID_HANDLE; OUT_OF_MEMORY, MISMATCH,
 *           PEER_LOST, TIMEOUT, ABORTED: the reducer has failed
 *  Source:  torch.distributed.algorithms.ddp_comm_hooks.default_hooks
 *  @since 0.1 */
TUTTI_API tutti_status tutti_reducer_set_compression(tutti_reducer* reducer,
                                                     tutti_compression compression,
                                                     tutti_error* error);

/** Options of tutti_reducer_set_power_sgd; zero is every field's default. The same on all ranks. */
typedef struct tutti_power_sgd_options {
    uint32_t struct_size; /**< sizeof the struct: the INIT macro or the init function sets it */
    uint32_t no_error_feedback; /**< 1: what a pass leaves out is lost. 0: it is added to the next
                                     pass's gradient, which takes as much memory as the matrix */
    uint32_t no_warm_start; /**< 1: each pass begins with random directions. 0: with those of the
                                     pass before, which are better */
    uint32_t reserved;      /**< must be 0 */
    int64_t matrix_approximation_rank; /**< columns of each factor: more are more accurate, and take
                                            more bytes; 0: 1 */
    int64_t start_iteration;     /**< so many synchronised passes are all_reduced before the first
                                      one that is compressed; 0: 1000 */
    double min_compression_rate; /**< a matrix is compressed if it has more numbers than its
                                      factors times this; 0: 2 */
    double orthogonalization_epsilon; /**< added to norms before a division by them; 0 is safe: a
                                           column of zeros stays zero */
    int64_t random_seed;              /**< of the random directions */
} tutti_power_sgd_options;

/** Options with every field at its default. */
#define TUTTI_POWER_SGD_OPTIONS_INIT \
    { sizeof(tutti_power_sgd_options), 0, 0, 0, 0, 0, 0.0, 0.0, 0 }

/** As tutti_reducer_options_init.
 *  @param options  memory of the caller; NULL does nothing
 *  @param size     bytes of that memory: the caller's sizeof
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  @since 0.1 */
TUTTI_API void tutti_power_sgd_options_init(tutti_power_sgd_options* options, size_t size);

/** Makes gradients travel as products of two matrices with few columns (PowerSGD): M as P times the
 *  transpose of Q. float32 and float64; others, vectors and small matrices travel as they are. What
 *  a pass leaves out is not lost (error feedback), so the sums over many passes are right. A matrix
 *  in which a rank has an infinity or NaN becomes NaN on all ranks, and begins anew. Where no rank
 *  has a gradient, what was left out waits. Compressed gradients ignore options.predivide.
 *  All ranks call it between the same passes; it replaces the compression and the hook before it.
 *  @param reducer  borrowed
 *  @param rows     for each parameter, the rows of its row-major matrix: its first dimension, a
 *                  divisor of its count. 0: it is no matrix
 *  @param count    of rows: the parameters of the reducer
 *  @param options  NULL: defaults
 *  @param error    NULL, or filled in if the call fails
 *  Blocks:  until all ranks have called, up to the timeout
 *  Threads: any, one at a time
 *  Fails:   INVALID_ARGUMENT (also: a pass has begun and not ended; options.keep_micro_batches of
 *           the reducer is not 0), INVALID_HANDLE; MISMATCH (ranks differ, or one rank's argument
 *           was refused: the reducer stays as it was); OUT_OF_MEMORY, PEER_LOST, TIMEOUT, ABORTED:
 *           the reducer has failed
 *  Source:  torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook
 *  @since 0.1 */
TUTTI_API tutti_status tutti_reducer_set_power_sgd(tutti_reducer* reducer, const int64_t* rows,
                                                   int64_t count,
                                                   const tutti_power_sgd_options* options,
                                                   tutti_error* error);

/** The reducer's state and statistics, as a map: keys of torch's _get_ddp_logging_data that have
 *  a meaning here, for instance "world_size", "device_ids" (the index of the parameters' device, a
 *  string; empty on the CPU), "bucket_sizes", "rebuilt_bucket_sizes", "has_rebuilt_buckets",
 *  "unused_parameters" (names, of the last synchronised pass); "master_addr", "master_port",
 *  "cuda_visible_devices", "gloo_socket_ifname", "nccl_debug", "nccl_ib_timeout", "nccl_nthreads"
 *  and "nccl_socket_ifname" (the variables of the environment when the reducer was made, or "N/A");
 *  "torch_distributed_debug" (the debug level then: "OFF", "INFO" or "DETAIL"); the mean
 *  times of synchronised passes in nanoseconds, "avg_forward_compute_time",
 *  "avg_backward_compute_time", "avg_backward_comm_time" and
 *  "avg_backward_compute_comm_overlap_time"; and "gradient_bytes", all that was reduced, beside
 *  "communicated_bytes", what that took after compression (without what a hook sends).
 *  @param reducer     borrowed
 *  @param out_object  receives an owned object
 *  @param error       NULL, or filled in if the call fails
 *  Blocks:  never
 *  Threads: any
 *  Fails:   INVALID_ARGUMENT, INVALID_HANDLE
 *  Source:  torch.nn.parallel.DistributedDataParallel._get_ddp_logging_data
 *  @since 0.1 */
TUTTI_API tutti_status tutti_reducer_logging_data(tutti_reducer* reducer, tutti_object** out_object,
                                                  tutti_error* error);

/** Lets the reducer go on in another group, mostly one that tutti_shrink_group has made after the
 *  death of a rank. Parameters, their values included, stay as they are, as do options, the hook
 *  and the compression. Everything else is as after tutti_reducer_create: sums and means are over
 *  the ranks of `group`; gradients have moved (tutti_reducer_generation) and are zero; the buckets
 *  are those of the beginning, and change once more after the next synchronised pass; a static
 *  graph is learned again; PowerSGD has new directions, and what it had left out is lost, but the
 *  start_iteration passes do not begin anew.
 *
 *  No pass before counts any more: not one that was interrupted, and not those without
 *  synchronisation, or kept micro-batches, since the last one that ended well. So the program
 *  repeats its step from the first of its forward passes. Gradients of its own, which it gives to
 *  tutti_reducer_mark_ready, may have been overwritten with results in part: it computes them
 *  again, too. Statistics go on.
 *
 *  The pass may have ended well on some ranks and failed on others, so their parameters may differ
 *  by one step. The program makes them equal: for instance, ranks take the highest number of steps
 *  (tutti_all_reduce with TUTTI_MAX), and a rank that has made so many broadcasts its parameters.
 *
 *  All ranks of the group call it. A rank that has no such reducer yet, as after growing a group,
 *  calls tutti_reducer_create with the same parameters and options, but no_initial_broadcast 1, and
 *  then sets the compression, if the others have one.
 *  @param reducer  borrowed; it may have failed. A pass under way ends with ABORTED, on all ranks
 *                  of the reducer's group
 *  @param group    TUTTI_GROUP_WORLD or a group this process is a member of
 *  @param error    NULL, or filled in if the call fails
 *  Blocks:  until all ranks have called, up to the timeout; also for a hook that runs
 *  Threads: any, while no other thread calls the reducer, and no work of its finish is waited for;
 *           one at a time for each `group`, in the same order on all ranks
 *  Fails:   INVALID_ARGUMENT (also: in the reducer's hook; options.keep_micro_batches is not 0, and
 *           `group` is not reproducible), INVALID_HANDLE, UNSUPPORTED, the failure of `group`: the
 *           reducer stays as it was. MISMATCH (ranks differ, or one rank's argument was refused),
 *           OUT_OF_MEMORY; otherwise as tutti_new_group: the reducer has failed, and the call may
 *           be repeated, with this group or another one
 *  @since 0.1 */
TUTTI_API tutti_status tutti_reducer_shrink(tutti_reducer* reducer, tutti_group* group,
                                            tutti_error* error);

/** Releases the reducer, its gradients and its group. If other ranks wait for this one in a pass,
 *  they get an error. On a device, what options.stream has by now may still use the gradients, and
 *  the results of a finished pass still come; after a release in the middle of a pass, later work
 *  on options.stream may use the program's gradients again.
 *  @param reducer  owned until now; NULL and stale handles are ignored
 *  Blocks:  never
 *  Threads: any
 *  Fails:   never
 *  @since 0.1 */
TUTTI_API void tutti_reducer_release(tutti_reducer* reducer);

#ifdef __cplusplus
}
#endif

#endif
