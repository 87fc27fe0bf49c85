/* tutti/torch/replica_passes.h: the buckets of a replica, and how they are reduced. A part of
 * tutti/torch/replica.h. */
#ifndef TUTTI_TORCH_REPLICA_PASSES_H
#define TUTTI_TORCH_REPLICA_PASSES_H

#include <tutti/torch/replica_parts.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline void tutti_torch_caps(const tutti_torch_replica* of, uint64_t* first, uint64_t* cap) {
    const double mebibytes = of->options.bucket_cap_mb;
    *cap = (uint64_t)((mebibytes > 0 ? mebibytes : 25) * 1048576);
    *first = mebibytes > 0 ? *cap : 1048576;
}

static inline int64_t tutti_torch_elements(const tutti_torch_replica* of, const int32_t* indices,
                                           int32_t count) {
    int64_t elements = 0;
    for (int32_t i = 0; i < count; ++i) elements += of->parameters[indices[i]].count;
    return elements;
}

/* 1 if each parameter is in one bucket, with others of its dtype. */
static inline int tutti_torch_is_layout(tutti_torch_replica* of) {
    const int32_t buckets = of->indices[of->count];
    int32_t at = 0;
    for (int32_t i = 0; i < of->count; ++i) of->bucket_of[i] = -1;
    for (int32_t bucket = 0; bucket < buckets; ++bucket) {
        const int32_t begin = at;
        if (of->sizes[bucket] < 1 || of->sizes[bucket] > of->count - at) return 0;
        for (; at < begin + of->sizes[bucket]; ++at) {
            const int32_t one = of->indices[at];
            if (one < 0 || one >= of->count || of->bucket_of[one] >= 0) return 0;
            if (of->parameters[one].dtype != of->parameters[of->indices[begin]].dtype) return 0;
            of->bucket_of[one] = bucket;
        }
    }
    return at == of->count;
}

/* Gives the buckets memory. */
static inline tutti_status tutti_torch_lay_out(tutti_torch_replica* of, tutti_error* error) {
    if (!tutti_torch_is_layout(of)) {
        return tutti_torch_fail(error, TUTTI_ERR_MISMATCH,
                                "rank 0 has sent buckets that are not of these parameters");
    }
    size_t bytes = 0;
    for (int32_t i = 0; i < of->count; ++i) bytes += tutti_torch_bytes(&of->parameters[i]) + 64;
    free(of->flat);
    of->flat = (char*)malloc(bytes);
    if (of->flat == NULL) return tutti_torch_no_memory(error);
    char* at = of->flat;
    for (int32_t i = 0; i < of->count; ++i) {
        const int32_t one = of->indices[i];
        if (i > 0 && of->bucket_of[one] != of->bucket_of[of->indices[i - 1]]) {
            at = of->flat + ((size_t)(at - of->flat) + 63) / 64 * 64;
        }
        of->input[one] = at;
        at += tutti_torch_bytes(&of->parameters[one]);
    }
    return TUTTI_OK;
}

/* The buckets that PyTorch's reducer begins with. */
static inline tutti_status tutti_torch_first_layout(tutti_torch_replica* of, tutti_error* error) {
    const int is_one = of->options.static_graph || !of->options.find_unused_parameters;
    uint64_t first = 0, cap = 0;
    tutti_torch_caps(of, &first, &cap);
    if (is_one) first = cap = UINT64_MAX;
    for (int32_t i = 0; i < of->count; ++i) of->order[i] = i;
    if (!tutti_torch_assign(of->parameters, of->order, of->count, first, cap,
                            TUTTI_TORCH_LAST_BEGUN_FIRST, of->indices, of->sizes)) {
        return tutti_torch_no_memory(error);
    }
    of->rebuild_after = of->options.static_graph ? 2 : is_one ? 1 : -1;
    return tutti_torch_lay_out(of, error);
}

/* Buckets in the order in which rank 0 marked its parameters. */
static inline tutti_status tutti_torch_rebuild(tutti_torch_replica* of, tutti_error* error) {
    uint64_t first = 0, cap = 0;
    tutti_torch_caps(of, &first, &cap);
    if (!tutti_torch_assign(of->parameters, of->order, of->count, first, cap, TUTTI_TORCH_AS_FILLED,
                            of->indices, of->sizes)) {
        return tutti_torch_no_memory(error);
    }
    tutti_status status =
        tutti_torch_broadcast(of->group, of->indices, of->count + 1, TUTTI_INT32, error);
    if (status != TUTTI_OK) return status;
    const int32_t buckets = of->indices[of->count];
    if (buckets > 0 && buckets <= of->count) {
        status = tutti_torch_broadcast(of->group, of->sizes, buckets, TUTTI_INT32, error);
    } else {
        of->indices[of->count] = 0; /* no layout */
    }
    return status == TUTTI_OK ? tutti_torch_lay_out(of, error) : status;
}

static inline void tutti_torch_note(tutti_torch_replica* of, int32_t parameter) {
    if (of->is_marked[parameter]) return;
    of->is_marked[parameter] = 1;
    of->order[of->order_count++] = parameter;
}

/* How many ranks have used each parameter. */
static inline tutti_status tutti_torch_reduce_used(tutti_torch_replica* of, tutti_error* error) {
    const size_t bytes = (size_t)of->count * sizeof(int32_t);
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(of->used_by_any, of->count, TUTTI_INT32);
    memcpy(of->used_by_any, of->used, bytes);
    memset(of->used, 0, bytes);
    return tutti_all_reduce(of->group, NULL, &buffer, TUTTI_SUM, NULL, NULL, error);
}

/* Reduces the next bucket, and writes the means where the reducer has the gradients. */
static inline tutti_status tutti_torch_reduce_next(tutti_torch_replica* of, tutti_group* own,
                                                   tutti_error* error) {
    const int32_t bucket = of->next++;
    const int32_t* indices = of->indices;
    for (int32_t i = 0; i < bucket; ++i) indices += of->sizes[i];
    const int32_t count = of->sizes[bucket];
    const tutti_dtype dtype = of->parameters[indices[0]].dtype;
    const tutti_buffer buffer =
        TUTTI_BUFFER_INIT(of->input[indices[0]], tutti_torch_elements(of, indices, count), dtype);
    /* In a group of one this multiplies, in each dtype as PyTorch does. */
    tutti_status status = tutti_all_reduce(own, NULL, &buffer, of->share, NULL, NULL, error);
    if (status == TUTTI_OK) {
        status = tutti_all_reduce(of->group, NULL, &buffer, TUTTI_SUM, NULL, NULL, error);
    }
    for (int32_t i = 0; status == TUTTI_OK && i < count; ++i) {
        const int32_t one = indices[i];
        const size_t bytes = tutti_torch_bytes(&of->parameters[one]);
        if (bytes > 0) memcpy(of->result[one], of->input[one], bytes);
    }
    return status;
}

/* The hook of the reducer, whose buckets are single parameters: collects PyTorch's buckets. */
static inline tutti_status tutti_torch_collect(tutti_group* own, const tutti_bucket* bucket,
                                               void* user, tutti_error* error) {
    tutti_torch_replica* const of = (tutti_torch_replica*)user;
    const size_t size = (size_t)tutti_dtype_size(bucket->gradients.dtype);
    tutti_status status = TUTTI_OK;
    for (int64_t i = 0; i < bucket->parameter_count; ++i) {
        const int64_t one = bucket->parameters[i];
        of->result[one] = (char*)bucket->gradients.data + (size_t)bucket->offsets[i] * size;
        if (bucket->counts[i] > 0) {
            memcpy(of->input[one], of->result[one], (size_t)bucket->counts[i] * size);
        }
        --of->pending[of->bucket_of[one]];
    }
    while (status == TUTTI_OK && of->next < of->indices[of->count] && of->pending[of->next] == 0) {
        status = tutti_torch_reduce_next(of, own, error);
    }
    if (status != TUTTI_OK) of->failure = *error;
    of->failure.status = status;
    return status;
}

/* The means of a bucket may come after the reducer is done with some of its parameters. */
static inline void tutti_torch_fill_own(tutti_torch_replica* of) {
    for (int32_t i = 0; i < of->count; ++i) {
        const size_t bytes = tutti_torch_bytes(&of->parameters[i]);
        if (of->own_gradient[i] != NULL && bytes > 0) {
            memcpy(of->own_gradient[i], of->input[i], bytes);
        }
        of->own_gradient[i] = NULL;
    }
}

/* A group of this rank alone. */
static inline tutti_status tutti_torch_make_own_group(tutti_torch_replica* of, tutti_error* error) {
    tutti_store* store = NULL;
    tutti_status status = tutti_hash_store_create(&store, error);
    if (status != TUTTI_OK) return status;
    status = tutti_group_create(NULL, store, "replica", 0, 1, NULL, &of->own, error);
    tutti_store_release(store);
    return status;
}

static inline tutti_status tutti_torch_make_reducer(tutti_torch_replica* of, tutti_error* error) {
    tutti_reducer_options options = TUTTI_REDUCER_OPTIONS_INIT;
    double share = 1.0 / tutti_get_world_size(of->group);
    const tutti_buffer factor = TUTTI_BUFFER_INIT(&share, 1, TUTTI_FLOAT64);
    options.static_graph = of->options.static_graph;
    options.find_unused_parameters = of->options.find_unused_parameters;
    options.no_initial_broadcast = 1;
    options.bucket_cap_bytes = options.first_bucket_cap_bytes = 1;
    of->buffers_are_due = !of->options.no_forward_sync_buffers;
    tutti_status status = tutti_torch_first_layout(of, error);
    if (status == TUTTI_OK) status = tutti_torch_make_own_group(of, error);
    if (status == TUTTI_OK) status = tutti_reduce_op_create_premul_sum(&factor, &of->share, error);
    if (status == TUTTI_OK) {
        status = tutti_reducer_create(of->own, of->parameters, NULL, NULL, of->count, &options,
                                      &of->reducer, error);
    }
    if (status != TUTTI_OK) return status;
    return tutti_reducer_set_hook(of->reducer, tutti_torch_collect, of, NULL, error);
}

#ifdef __cplusplus
}
#endif

#endif
