/* The parts of a collective that ranks tell each other, and its results; see mailbox.h. Touches the
 * memory of the call and nothing else. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mailbox.h"

/* ---- What a rank brings: its length, its fingerprint, then for each piece its count and elements;
 * of a coalesced call, then each of its calls likewise ---- */

enum { ALIGNMENT = 16 }; /* of elements in it */

static size_t padded(size_t bytes) {
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static size_t head_of(const tutti_backend_call* call) {
    return ALIGNMENT + padded(call->fingerprint_size);
}

const char* fingerprint_of(const char* part) {
    return part + ALIGNMENT;
}

static int is_reduction(const tutti_backend_call* call) {
    return call->kind == TUTTI_CALL_ALL_REDUCE || call->kind == TUTTI_CALL_REDUCE ||
           call->kind == TUTTI_CALL_REDUCE_SCATTER ||
           call->kind == TUTTI_CALL_REDUCE_SCATTER_TENSOR;
}

/* Writes it at `out`, unless that is NULL; returns the bytes. */
size_t pack(const mailbox* me, const tutti_backend_call* call, char* out) {
    size_t at = head_of(call);
    if (out != NULL) memcpy(out + ALIGNMENT, call->fingerprint, call->fingerprint_size);
    for (int64_t i = 0; i < call->input_count; ++i) {
        const tutti_piece* const piece = &call->inputs[i];
        const size_t bytes = (size_t)piece->count * call->element_size;
        if (out != NULL) {
            memcpy(out + at, &piece->count, sizeof piece->count);
            if (bytes > 0 && is_reduction(call)) {
                me->host->reduce_begin(call, piece->data, out + at + ALIGNMENT, piece->count);
            } else if (bytes > 0) {
                memcpy(out + at + ALIGNMENT, piece->data, bytes);
            }
        }
        at += ALIGNMENT + padded(bytes);
    }
    for (int64_t i = 0; i < call->call_count; ++i) {
        at += pack(me, call->calls[i], out == NULL ? NULL : out + at);
    }
    if (out != NULL) memcpy(out, &at, sizeof at);
    return at;
}

/* The elements of the piece at `index`, and their count. */
static const char* piece_of(const char* part, const tutti_backend_call* call, int64_t index,
                            int64_t* count) {
    const char* at = part + head_of(call);
    for (;; --index) {
        memcpy(count, at, sizeof *count);
        if (index == 0) return at + ALIGNMENT;
        at += ALIGNMENT + padded((size_t)*count * call->element_size);
    }
}

/* ---- What a rank takes ---- */

static tutti_status reduce(const mailbox* me, const tutti_backend_call* call, char** parts,
                           int64_t index, tutti_error* error) {
    const tutti_piece* const output = call->outputs;
    int64_t count;
    if (call->output_count == 0 || output->count == 0) return TUTTI_OK;
    const void** const inputs = (const void**)malloc((size_t)me->size * sizeof *inputs);
    if (inputs == NULL) return TUTTI_ERR_OUT_OF_MEMORY;
    for (int32_t rank = 0; rank < me->size; ++rank) {
        inputs[rank] = piece_of(parts[rank], call, index, &count);
    }
    const tutti_status status =
        me->host->reduce(call, inputs, me->size, output->data, output->count, error);
    free(inputs);
    if (status == TUTTI_OK) me->host->reduce_end(call, output->data, output->count);
    return status;
}

/* The piece at `index` of what `from` brings becomes this output. */
static tutti_status move(const tutti_backend_call* call, char** parts, int32_t from, int64_t index,
                         const tutti_piece* output, tutti_error* error) {
    int64_t count;
    const char* const data = piece_of(parts[from], call, index, &count);
    if (count != output->count) {
        error->rank = from;
        (void)snprintf(error->message, sizeof error->message,
                       "rank %d gives %lld elements, and this rank takes %lld", (int)from,
                       (long long)count, (long long)output->count);
        return TUTTI_ERR_MISMATCH;
    }
    if (count > 0) memcpy(output->data, data, (size_t)count * call->element_size);
    return TUTTI_OK;
}

/* Each call's part stands behind the one before. */
static tutti_status unpack_each(const mailbox* me, const tutti_backend_call* call, char** parts,
                                tutti_error* error) {
    tutti_status status = TUTTI_OK;
    char** const at = (char**)malloc((size_t)me->size * sizeof *at);
    if (at == NULL) return TUTTI_ERR_OUT_OF_MEMORY;
    for (int32_t rank = 0; rank < me->size; ++rank) {
        at[rank] = parts[rank] + head_of(call);
    }
    for (int64_t i = 0; i < call->call_count && status == TUTTI_OK; ++i) {
        status = unpack(me, call->calls[i], at, error);
        for (int32_t rank = 0; rank < me->size; ++rank) {
            size_t length;
            memcpy(&length, at[rank], sizeof length);
            at[rank] += length;
        }
    }
    free(at);
    return status;
}

tutti_status unpack(const mailbox* me, const tutti_backend_call* call, char** parts,
                    tutti_error* error) {
    tutti_status status = TUTTI_OK;
    switch (call->kind) {
        case TUTTI_CALL_COALESCED:
            return unpack_each(me, call, parts, error);
        case TUTTI_CALL_ALL_REDUCE:
        case TUTTI_CALL_REDUCE:
            return reduce(me, call, parts, 0, error);
        case TUTTI_CALL_REDUCE_SCATTER:
        case TUTTI_CALL_REDUCE_SCATTER_TENSOR:
            return reduce(me, call, parts, me->rank, error);
        case TUTTI_CALL_BROADCAST:
            return me->rank == call->root ? TUTTI_OK
                                          : move(call, parts, call->root, 0, call->outputs, error);
        case TUTTI_CALL_SCATTER:
            return move(call, parts, call->root, me->rank, call->outputs, error);
        default: /* an output for each rank, or none */
            for (int32_t from = 0; from < call->output_count && status == TUTTI_OK; ++from) {
                const int is_for_each = call->kind == TUTTI_CALL_ALL_TO_ALL ||
                                        call->kind == TUTTI_CALL_ALL_TO_ALL_SINGLE;
                status = move(call, parts, from, is_for_each ? me->rank : 0, &call->outputs[from],
                              error);
            }
            return status;
    }
}
