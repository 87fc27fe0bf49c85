/* tutti/torch/buckets.h: how PyTorch puts tensors into buckets, and how it broadcasts them. A part
 * of tutti/torch/replica.h. */
#ifndef TUTTI_TORCH_BUCKETS_H
#define TUTTI_TORCH_BUCKETS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/tutti.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline size_t tutti_torch_bytes(const tutti_buffer* of) {
    return (size_t)of->count * (size_t)tutti_dtype_size(of->dtype);
}

static inline tutti_status tutti_torch_fail(tutti_error* error, tutti_status status,
                                            const char* text) {
    if (error != NULL) {
        error->status = status;
        error->rank = -1;
        error->system_errno = 0;
        snprintf(error->message, sizeof error->message, "%s", text);
    }
    return status;
}

static inline tutti_status tutti_torch_no_memory(tutti_error* error) {
    return tutti_torch_fail(error, TUTTI_ERR_OUT_OF_MEMORY, "no memory for a replica");
}

/* Checks a group, and how many tensors are given with it. */
static inline tutti_status tutti_torch_check_list(tutti_group* group, const void* tensors,
                                                  int32_t count, tutti_error* error) {
    const char* const refusal = tutti_get_world_size(group) < 1 ? "group has no rank here"
                                : count < 0                     ? "count is negative"
                                : count > 0 && tensors == NULL  ? "tensors is NULL"
                                                                : NULL;
    if (refusal == NULL) return TUTTI_OK;
    return tutti_torch_fail(error, TUTTI_ERR_INVALID_ARGUMENT, refusal);
}

/* Checks the memory of tensors[index]; `field` is where it lies in there. */
static inline tutti_status tutti_torch_check_memory(const tutti_buffer* memory, int32_t index,
                                                    const char* field, tutti_error* error) {
    char text[128];
    const char* const problem = memory->dtype > TUTTI_BOOL                  ? "dtype"
                                : memory->device_type != TUTTI_CPU          ? "device_type"
                                : memory->count < 0                         ? "count"
                                : memory->count > 0 && memory->data == NULL ? "data"
                                                                            : NULL;
    if (problem == NULL) return TUTTI_OK;
    snprintf(text, sizeof text, "tensors[%d] has a wrong %s%s", (int)index, field, problem);
    return tutti_torch_fail(error, TUTTI_ERR_INVALID_ARGUMENT, text);
}

/* In which order the buckets come. */
enum { TUTTI_TORCH_AS_FILLED, TUTTI_TORCH_AS_BEGUN, TUTTI_TORCH_LAST_BEGUN_FIRST };

/* Takes the tensors in that order. Those of a dtype share a bucket until it has reached its cap,
 * and the first bucket of each dtype has a cap of its own. Writes the indices of the tensors bucket
 * by bucket, then the number of buckets, and the size of each bucket: the form in which PyTorch
 * broadcasts them. 0 if there is no memory. */
static inline int tutti_torch_assign(const tutti_buffer* tensors, const int32_t* order,
                                     int32_t count, uint64_t first_cap, uint64_t cap, int way,
                                     int32_t* indices, int32_t* sizes) {
    enum { DTYPES = TUTTI_BOOL + 1 };
    int32_t open[DTYPES], begun = 0, filled = 0, written = 0;
    uint64_t bytes[DTYPES] = {0}, limits[DTYPES];
    int32_t* const bucket_of = (int32_t*)malloc(2 * sizeof(int32_t) * (size_t)count + 1);
    int32_t* const sequence = bucket_of + count;
    if (bucket_of == NULL) return 0;
    for (int i = 0; i < DTYPES; ++i) {
        open[i] = -1;
        limits[i] = first_cap;
    }
    for (int32_t i = 0; i < count; ++i) {
        const tutti_buffer* const tensor = &tensors[order[i]];
        const tutti_dtype dtype = tensor->dtype;
        if (open[dtype] < 0) {
            open[dtype] = begun++;
            bytes[dtype] = 0;
        }
        bucket_of[i] = open[dtype];
        bytes[dtype] += tutti_torch_bytes(tensor);
        if (bytes[dtype] < limits[dtype]) continue;
        sequence[filled++] = open[dtype];
        open[dtype] = -1;
        limits[dtype] = cap;
    }
    for (int32_t bucket = 0; bucket < begun; ++bucket) {
        for (int i = 0; i < DTYPES; ++i) {
            if (open[i] == bucket) sequence[filled++] = bucket;
        }
    }
    for (int32_t at = 0; at < begun; ++at) {
        const int32_t bucket = way == TUTTI_TORCH_AS_FILLED  ? sequence[at]
                               : way == TUTTI_TORCH_AS_BEGUN ? at
                                                             : begun - 1 - at;
        const int32_t begin = written;
        for (int32_t i = 0; i < count; ++i) {
            if (bucket_of[i] == bucket) indices[written++] = order[i];
        }
        sizes[at] = written - begin;
    }
    indices[count] = begun;
    free(bucket_of);
    return 1;
}

static inline tutti_status tutti_torch_broadcast(tutti_group* group, void* data, int64_t count,
                                                 tutti_dtype dtype, tutti_error* error) {
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(data, count, dtype);
    return tutti_broadcast(group, &buffer, 0, NULL, NULL, error);
}

/* The tensors of one bucket, one after the other, from rank 0. */
static inline tutti_status tutti_torch_broadcast_bucket(tutti_group* group,
                                                        const tutti_buffer* tensors,
                                                        const int32_t* indices, int32_t count,
                                                        tutti_error* error) {
    const tutti_buffer* const first = &tensors[indices[0]];
    if (count == 1) {
        return tutti_torch_broadcast(group, first->data, first->count, first->dtype, error);
    }
    const int is_source = tutti_get_rank(group) == 0;
    int64_t elements = 0;
    for (int32_t i = 0; i < count; ++i) elements += tensors[indices[i]].count;
    char* const flat = (char*)malloc((size_t)elements * (size_t)tutti_dtype_size(first->dtype) + 1);
    if (flat == NULL) return tutti_torch_no_memory(error);
    char* at = flat;
    for (int32_t i = 0; is_source && i < count; ++i) {
        const tutti_buffer* const tensor = &tensors[indices[i]];
        if (tensor->count > 0) memcpy(at, tensor->data, tutti_torch_bytes(tensor));
        at += tutti_torch_bytes(tensor);
    }
    const tutti_status status = tutti_torch_broadcast(group, flat, elements, first->dtype, error);
    at = flat;
    for (int32_t i = 0; status == TUTTI_OK && !is_source && i < count; ++i) {
        const tutti_buffer* const tensor = &tensors[indices[i]];
        if (tensor->count > 0) memcpy(tensor->data, at, tutti_torch_bytes(tensor));
        at += tutti_torch_bytes(tensor);
    }
    free(flat);
    return status;
}

/** Receives tensors that PyTorch broadcasts by torch.distributed._broadcast_coalesced, as
 *  DistributedDataParallel does with parameters and buffers: those of a dtype together, 250 MiB at
 *  a time. Rank 0 sends. The tensors are on the CPU. */
static inline tutti_status tutti_torch_broadcast_coalesced(tutti_group* group,
                                                           const tutti_buffer* tensors,
                                                           int32_t count, tutti_error* error) {
    const uint64_t cap = (uint64_t)250 << 20;
    tutti_status status = tutti_torch_check_list(group, tensors, count, error);
    for (int32_t i = 0; status == TUTTI_OK && i < count; ++i) {
        status = tutti_torch_check_memory(&tensors[i], i, "", error);
    }
    if (status != TUTTI_OK || count == 0) return status;
    int32_t* const memory = (int32_t*)malloc(sizeof(int32_t) * (3 * (size_t)count + 1));
    if (memory == NULL) return tutti_torch_no_memory(error);
    int32_t *const order = memory, *const sizes = order + count, *indices = sizes + count;
    for (int32_t i = 0; i < count; ++i) order[i] = i;
    if (!tutti_torch_assign(tensors, order, count, cap, cap, TUTTI_TORCH_AS_BEGUN, indices,
                            sizes)) {
        status = tutti_torch_no_memory(error);
    }
    const int32_t buckets = status == TUTTI_OK ? indices[count] : 0;
    for (int32_t i = 0; i < buckets && status == TUTTI_OK; ++i) {
        status = tutti_torch_broadcast_bucket(group, tensors, indices, sizes[i], error);
        indices += sizes[i];
    }
    free(memory);
    return status;
}

#ifdef __cplusplus
}
#endif

#endif
