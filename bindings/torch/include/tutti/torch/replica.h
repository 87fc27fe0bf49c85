/* tutti/torch/replica.h: a C program as one replica of a job of PyTorch's DistributedDataParallel
 * over backend "tutti". Header only.
 *
 *     tutti_torch_replica_create      where PyTorch's ranks call DistributedDataParallel(model)
 *     tutti_torch_replica_begin       where they call the model, before every forward pass
 *     tutti_torch_replica_mark_ready  for each parameter, as soon as its gradient is complete
 *     tutti_torch_replica_finish      where their backward() returns: all have the same gradients
 *
 * The program has a network with the same parameters and buffers as the module. What it computes
 * between these calls is its own affair. A reducer collects the gradients, so all that
 * tutti/reducer.h says of marks, accumulation and passes holds here. Buckets, their order and the
 * rest of what ranks exchange are PyTorch's. Between begin and finish the program makes no other
 * calls in the group, as PyTorch's ranks do.
 *
 * PyTorch's ranks call the model that they train only where the program calls begin: for tests they
 * call `model.module`. They have no communication hooks, sparse gradients, mixed_precision,
 * delay_all_reduce_named_params, bucket_cap_mb_list or skip_all_reduce_unused_params, no join() and
 * no TORCH_DISTRIBUTED_DEBUG=DETAIL. Parameters are on the CPU and contiguous. If one of these
 * differs, the calls of the ranks differ, and all ranks are told so.
 *
 * Calls return what tutti's functions return; after one has failed, only release is useful. */
#ifndef TUTTI_TORCH_REPLICA_H
#define TUTTI_TORCH_REPLICA_H

#include <tutti/torch/replica_passes.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline void tutti_torch_replica_release(tutti_torch_replica* replica) {
    if (replica == NULL) return;
    tutti_reducer_release(replica->reducer);
    if (replica->share != 0) tutti_reduce_op_release(replica->share);
    tutti_group_release(replica->own);
    tutti_torch_free(replica);
}

/** Makes a replica: compares the parameters with PyTorch's, receives parameters and buffers from
 *  rank 0, or sends them as rank 0.
 *  @param group    of PyTorch's ranks and this one; lives at least as long as the replica
 *  @param tensors  `count` tensors in the order of model.named_parameters(), and then of
 *                  model.named_buffers(). Their memory is used until the replica is released;
 *                  `sizes` until this call returns
 *  @param options  NULL: those of DistributedDataParallel
 *  @param out      receives the replica, which tutti_torch_replica_release releases */
static inline tutti_status tutti_torch_replica_create(
    tutti_group* group, const tutti_torch_tensor* tensors, int32_t count,
    const tutti_torch_replica_options* options, tutti_torch_replica** out, tutti_error* error) {
    tutti_torch_replica* replica = NULL;
    if (out == NULL) return tutti_torch_fail(error, TUTTI_ERR_INVALID_ARGUMENT, "out is NULL");
    *out = NULL;
    tutti_status status = tutti_torch_describe(group, tensors, count, options, &replica, error);
    if (status == TUTTI_OK) status = tutti_torch_verify(replica, tensors, error);
    if (status == TUTTI_OK) status = tutti_torch_send_module(replica, error);
    if (status == TUTTI_OK) status = tutti_torch_make_reducer(replica, error);
    if (status == TUTTI_OK) {
        *out = replica;
    } else {
        tutti_torch_replica_release(replica);
    }
    return status;
}

/** Begins a forward and a backward pass. Before it buffers are those of rank 0, if PyTorch's ranks
 *  do so; after the first synchronised pass gradients move (tutti_torch_replica_gradient).
 *  @param synchronise  0: PyTorch's ranks make this pass in model.no_sync() */
static inline tutti_status tutti_torch_replica_begin(tutti_torch_replica* replica,
                                                     uint32_t synchronise, tutti_error* error) {
    tutti_status status = TUTTI_OK;
    if (replica->passes == replica->rebuild_after) {
        replica->rebuild_after = -1;
        status = tutti_torch_rebuild(replica, error);
    }
    if (status == TUTTI_OK && replica->buffers_are_due) {
        status = tutti_torch_broadcast_coalesced(replica->group, replica->buffers,
                                                 replica->buffer_count, error);
    }
    if (status != TUTTI_OK) return status;
    replica->buffers_are_due = synchronise && !replica->options.no_forward_sync_buffers;
    replica->synchronises = synchronise;
    replica->next = 0;
    replica->order_count = 0;
    for (int32_t i = 0; i < replica->indices[replica->count]; ++i) {
        replica->pending[i] = replica->sizes[i];
    }
    memset(replica->is_marked, 0, (size_t)replica->count);
    return tutti_reducer_begin(replica->reducer, synchronise, error);
}

/** The place of a parameter's gradient, valid until the next begin.
 *  @param index  of the parameter in `tensors` */
static inline tutti_status tutti_torch_replica_gradient(tutti_torch_replica* replica, int32_t index,
                                                        tutti_buffer* out, tutti_error* error) {
    const int32_t parameter = tutti_torch_parameter(replica, index);
    if (parameter < 0) return tutti_torch_no_parameter(index, error);
    return tutti_reducer_gradient(replica->reducer, parameter, out, error);
}

/** Says that a parameter's gradient is complete in this pass. One thread at a time.
 *  @param index     of the parameter in `tensors`
 *  @param gradient  NULL: it is at its place. Otherwise the gradient: all that has been accumulated,
 *                   read and written until the next synchronised pass has ended, as by
 *                   tutti_reducer_mark_ready */
static inline tutti_status tutti_torch_replica_mark_ready(tutti_torch_replica* replica,
                                                          int32_t index,
                                                          const tutti_buffer* gradient,
                                                          tutti_error* error) {
    const int32_t parameter = tutti_torch_parameter(replica, index);
    if (parameter < 0) return tutti_torch_no_parameter(index, error);
    replica->used[parameter] = 1;
    tutti_torch_note(replica, parameter);
    char* const before = replica->own_gradient[parameter];
    replica->own_gradient[parameter] = gradient == NULL ? NULL : (char*)gradient->data;
    const tutti_status status =
        tutti_reducer_mark_ready(replica->reducer, parameter, gradient, error);
    if (status != TUTTI_OK) replica->own_gradient[parameter] = before;
    return status;
}

/** Ends the pass, and waits for the gradients of all ranks. */
static inline tutti_status tutti_torch_replica_finish(tutti_torch_replica* replica,
                                                      tutti_error* error) {
    if (!replica->synchronises) return tutti_reducer_finish(replica->reducer, NULL, error);
    const int is_static = replica->options.static_graph != 0;
    const int is_dynamic = !is_static && replica->options.find_unused_parameters;
    tutti_status status = TUTTI_OK;
    ++replica->passes;
    for (int32_t i = 0; i < replica->count; ++i) tutti_torch_note(replica, i);
    if (is_static && replica->passes == 1) status = tutti_torch_reduce_used(replica, error);
    if (status == TUTTI_OK) status = tutti_reducer_finish(replica->reducer, NULL, error);
    if (replica->failure.status != TUTTI_OK) {
        if (error != NULL) *error = replica->failure; /* without what the reducer says of it */
        return replica->failure.status;
    }
    if (status == TUTTI_OK && is_dynamic) status = tutti_torch_reduce_used(replica, error);
    if (status == TUTTI_OK) tutti_torch_fill_own(replica);
    return status;
}

/** 1 if a rank used the parameter in the last synchronised pass; otherwise its gradient says
 *  nothing. Without find_unused_parameters and static_graph always 1.
 *  @param index  of the parameter in `tensors` */
static inline int tutti_torch_replica_is_used(const tutti_torch_replica* replica, int32_t index) {
    const int32_t parameter = tutti_torch_parameter(replica, index);
    const tutti_torch_replica_options* const options = &replica->options;
    if (parameter < 0) return 0;
    if (!options->find_unused_parameters && !options->static_graph) return 1;
    return replica->used_by_any[parameter] != 0;
}

#ifdef __cplusplus
}
#endif

#endif
