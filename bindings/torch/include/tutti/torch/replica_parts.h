/* tutti/torch/replica_parts.h: what a replica is, and the steps that its calls are made of. A part
 * of tutti/torch/replica.h. */
#ifndef TUTTI_TORCH_REPLICA_PARTS_H
#define TUTTI_TORCH_REPLICA_PARTS_H

#include <tutti/torch/buckets.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TUTTI_TORCH_PARAMETER, /**< a parameter that is trained: its requires_grad is True */
    TUTTI_TORCH_FROZEN,    /**< a parameter that is not */
    TUTTI_TORCH_BUFFER
};

/** A parameter or a buffer of the module. */
typedef struct tutti_torch_tensor {
    tutti_buffer values;  /**< contiguous, in the order of PyTorch's elements */
    const int64_t* sizes; /**< of each dimension */
    int32_t dimensions;
    int32_t kind; /**< TUTTI_TORCH_PARAMETER, … */
} tutti_torch_tensor;

/** As the arguments of DistributedDataParallel; zero is the default of each. */
typedef struct tutti_torch_replica_options {
    uint32_t find_unused_parameters;
    uint32_t static_graph;
    uint32_t no_init_sync;            /**< 1: init_sync=False */
    uint32_t no_init_sync_buffers;    /**< 1: init_sync sends parameters alone, as it does with
                                           broadcast_buffers=False */
    uint32_t no_forward_sync_buffers; /**< 1: broadcast_buffers or forward_sync_buffers is False */
    double bucket_cap_mb;             /**< 0: it is not given */
} tutti_torch_replica_options;

typedef struct tutti_torch_replica {
    tutti_group *group, *own; /* PyTorch's, and one of this rank alone for the reducer */
    tutti_reducer* reducer;
    tutti_reduce_op share; /* the gradients' share of the mean: multiplies by it */
    tutti_torch_replica_options options;
    int32_t tensor_count, count, state_count, buffer_count; /* count: of parameters */
    int32_t* parameter_of;                                  /* of each tensor, or -1 */
    tutti_buffer *parameters, *states, *buffers;
    /* The buckets: parameters bucket by bucket and the number of buckets; how many are in each. */
    int32_t *indices, *sizes, *bucket_of;
    char *flat, **input;         /* the memory of all buckets, and each parameter's place there */
    char** result;               /* its place in the reducer, to which the mean is written */
    char** own_gradient;         /* the program's memory for it, which gets the mean too, or NULL */
    int32_t* pending;            /* of each bucket: parameters that have not come in this pass */
    int32_t next;                /* the bucket that is reduced next */
    int32_t *order, order_count; /* in which parameters were marked in this pass */
    char* is_marked;
    int32_t *used, *used_by_any; /* since the last synchronised pass; in it, by any rank */
    int64_t passes, rebuild_after;
    uint32_t synchronises, buffers_are_due;
    tutti_error failure; /* of a bucket */
} tutti_torch_replica;

static inline void tutti_torch_free(tutti_torch_replica* of) {
    void* const all[] = {
        of->parameter_of, of->parameters, of->states,      of->buffers,      of->indices, of->sizes,
        of->bucket_of,    of->flat,       of->input,       of->result,       of->pending, of->order,
        of->is_marked,    of->used,       of->used_by_any, of->own_gradient, of};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) free(all[i]);
}

static inline int32_t tutti_torch_parameter(const tutti_torch_replica* of, int32_t tensor) {
    return tensor < 0 || tensor >= of->tensor_count ? -1 : of->parameter_of[tensor];
}

static inline tutti_status tutti_torch_no_parameter(int32_t tensor, tutti_error* error) {
    char text[96];
    snprintf(text, sizeof text, "index is %d, which is no tensor of kind TUTTI_TORCH_PARAMETER",
             (int)tensor);
    return tutti_torch_fail(error, TUTTI_ERR_INVALID_ARGUMENT, text);
}

static inline int tutti_torch_allocate(tutti_torch_replica* of) {
    const size_t n = (size_t)of->tensor_count + 1;
    of->parameter_of = (int32_t*)calloc(n, sizeof(int32_t));
    of->parameters = (tutti_buffer*)calloc(n, sizeof(tutti_buffer));
    of->states = (tutti_buffer*)calloc(n, sizeof(tutti_buffer));
    of->buffers = (tutti_buffer*)calloc(n, sizeof(tutti_buffer));
    of->indices = (int32_t*)calloc(n, sizeof(int32_t));
    of->sizes = (int32_t*)calloc(n, sizeof(int32_t));
    of->bucket_of = (int32_t*)calloc(n, sizeof(int32_t));
    of->input = (char**)calloc(n, sizeof(char*));
    of->result = (char**)calloc(n, sizeof(char*));
    of->own_gradient = (char**)calloc(n, sizeof(char*));
    of->pending = (int32_t*)calloc(n, sizeof(int32_t));
    of->order = (int32_t*)calloc(n, sizeof(int32_t));
    of->is_marked = (char*)calloc(n, 1);
    of->used = (int32_t*)calloc(n, sizeof(int32_t));
    of->used_by_any = (int32_t*)calloc(n, sizeof(int32_t));
    return of->parameter_of && of->parameters && of->states && of->buffers && of->indices &&
           of->sizes && of->bucket_of && of->input && of->result && of->pending && of->order &&
           of->is_marked && of->used && of->used_by_any && of->own_gradient;
}

static inline const char* tutti_torch_problem(const tutti_torch_tensor* tensor) {
    int64_t elements = 1;
    if (tensor->kind < TUTTI_TORCH_PARAMETER || tensor->kind > TUTTI_TORCH_BUFFER) return "kind";
    if (tensor->dimensions < 0 || (tensor->dimensions > 0 && tensor->sizes == NULL)) return "sizes";
    for (int32_t i = 0; i < tensor->dimensions; ++i) {
        if (tensor->sizes[i] < 0) return "sizes";
        if (tensor->sizes[i] > 0 && elements > INT64_MAX / tensor->sizes[i]) return "sizes";
        elements *= tensor->sizes[i];
    }
    return elements == tensor->values.count ? NULL : "values.count, which is not that of sizes";
}

static inline tutti_status tutti_torch_check_tensor(const tutti_torch_tensor* tensor, int32_t index,
                                                    tutti_error* error) {
    char text[128];
    const char* const problem = tutti_torch_problem(tensor);
    if (problem == NULL) return tutti_torch_check_memory(&tensor->values, index, "values.", error);
    snprintf(text, sizeof text, "tensors[%d] has a wrong %s", (int)index, problem);
    return tutti_torch_fail(error, TUTTI_ERR_INVALID_ARGUMENT, text);
}

static inline tutti_status tutti_torch_describe(tutti_group* group,
                                                const tutti_torch_tensor* tensors, int32_t count,
                                                const tutti_torch_replica_options* options,
                                                tutti_torch_replica** out, tutti_error* error) {
    tutti_status status = tutti_torch_check_list(group, tensors, count, error);
    if (status != TUTTI_OK) return status;
    if (options != NULL && !(options->bucket_cap_mb >= 0 && options->bucket_cap_mb < 1e9)) {
        return tutti_torch_fail(error, TUTTI_ERR_INVALID_ARGUMENT,
                                "options.bucket_cap_mb is not from 0 to 1e9");
    }
    tutti_torch_replica* const of = (tutti_torch_replica*)calloc(1, sizeof *of);
    *out = of;
    if (of == NULL) return tutti_torch_no_memory(error);
    of->group = group;
    of->tensor_count = count;
    if (options != NULL) of->options = *options;
    if (!tutti_torch_allocate(of)) return tutti_torch_no_memory(error);
    for (int32_t i = 0; i < count; ++i) {
        status = tutti_torch_check_tensor(&tensors[i], i, error);
        if (status != TUTTI_OK) return status;
        const int is_buffer = tensors[i].kind == TUTTI_TORCH_BUFFER;
        const int is_trained = tensors[i].kind == TUTTI_TORCH_PARAMETER;
        of->parameter_of[i] = is_trained ? of->count : -1;
        if (is_trained) of->parameters[of->count++] = tensors[i].values;
        if (is_buffer) of->buffers[of->buffer_count++] = tensors[i].values;
        if (!is_buffer || !of->options.no_init_sync_buffers) {
            of->states[of->state_count++] = tensors[i].values;
        }
    }
    if (of->count > 0) return TUTTI_OK;
    return tutti_torch_fail(error, TUTTI_ERR_INVALID_ARGUMENT, "no tensor is a parameter");
}

/* All ranks have as many parameters. */
static inline tutti_status tutti_torch_compare_counts(tutti_torch_replica* of, tutti_error* error) {
    char text[128];
    const int32_t ranks = tutti_get_world_size(of->group);
    int64_t own = of->count;
    int64_t* const counts = (int64_t*)calloc((size_t)ranks, sizeof(int64_t));
    tutti_buffer* const outputs = (tutti_buffer*)calloc((size_t)ranks, sizeof(tutti_buffer));
    const tutti_buffer input = TUTTI_BUFFER_INIT(&own, 1, TUTTI_INT64);
    tutti_status status = TUTTI_OK;
    if (counts == NULL || outputs == NULL) status = tutti_torch_no_memory(error);
    for (int32_t i = 0; status == TUTTI_OK && i < ranks; ++i) {
        outputs[i] = input;
        outputs[i].data = &counts[i];
    }
    if (status == TUTTI_OK) {
        status = tutti_all_gather(of->group, &input, outputs, ranks, NULL, NULL, error);
    }
    for (int32_t i = 0; status == TUTTI_OK && i < ranks; ++i) {
        if (counts[i] == own) continue;
        snprintf(text, sizeof text, "rank %d has %lld parameters, and this replica %lld", (int)i,
                 (long long)counts[i], (long long)own);
        status = tutti_torch_fail(error, TUTTI_ERR_MISMATCH, text);
    }
    free(counts);
    free(outputs);
    return status;
}

/* Writes sizes and strides; returns how many numbers that are. */
static inline int64_t tutti_torch_write_shape(const tutti_torch_tensor* tensor, int64_t* out) {
    int64_t stride = 1;
    for (int32_t d = tensor->dimensions - 1; d >= 0; --d) {
        out[d] = tensor->sizes[d];
        out[tensor->dimensions + d] = stride;
        stride *= out[d] > 1 ? out[d] : 1;
    }
    return 2 * (int64_t)tensor->dimensions;
}

/* All ranks have parameters of the same sizes and strides. */
static inline tutti_status tutti_torch_compare_shapes(tutti_torch_replica* of,
                                                      const tutti_torch_tensor* tensors,
                                                      tutti_error* error) {
    char text[128];
    int64_t length = 0, at = 0;
    for (int32_t i = 0; i < of->tensor_count; ++i) {
        if (tensors[i].kind == TUTTI_TORCH_PARAMETER) length += 2 * tensors[i].dimensions;
    }
    int64_t* const own = (int64_t*)calloc((size_t)(2 * length + 1), sizeof(int64_t));
    int64_t* const roots = own + length;
    if (own == NULL) return tutti_torch_no_memory(error);
    for (int32_t i = 0; i < of->tensor_count; ++i) {
        if (tensors[i].kind != TUTTI_TORCH_PARAMETER) continue;
        at += tutti_torch_write_shape(&tensors[i], own + at);
    }
    memcpy(roots, own, (size_t)length * sizeof(int64_t));
    tutti_status status = tutti_torch_broadcast(of->group, roots, length, TUTTI_INT64, error);
    at = 0;
    for (int32_t i = 0; status == TUTTI_OK && i < of->tensor_count; ++i) {
        if (tensors[i].kind != TUTTI_TORCH_PARAMETER) continue;
        const int64_t some = 2 * tensors[i].dimensions;
        if (memcmp(own + at, roots + at, (size_t)some * sizeof(int64_t)) != 0) {
            snprintf(text, sizeof text, "tensors[%d] has other sizes or strides than on rank 0",
                     (int)i);
            status = tutti_torch_fail(error, TUTTI_ERR_MISMATCH, text);
        }
        at += some;
    }
    free(own);
    return status;
}

static inline tutti_status tutti_torch_verify(tutti_torch_replica* of,
                                              const tutti_torch_tensor* tensors,
                                              tutti_error* error) {
    if (of->options.no_init_sync) return TUTTI_OK;
    const tutti_status status = tutti_torch_compare_counts(of, error);
    return status == TUTTI_OK ? tutti_torch_compare_shapes(of, tensors, error) : status;
}

static inline tutti_status tutti_torch_send_module(tutti_torch_replica* of, tutti_error* error) {
    if (of->options.no_init_sync) return TUTTI_OK;
    return tutti_torch_broadcast_coalesced(of->group, of->states, of->state_count, error);
}

#ifdef __cplusplus
}
#endif

#endif
