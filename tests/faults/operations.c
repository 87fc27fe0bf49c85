/* Operations from their words; see operations.h. */
#include "operations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tutti_group* operations_group = TUTTI_GROUP_WORLD;

enum { MOST_PIECES = 8 };

/* The arguments that a call of any kind may need. */
typedef struct request {
    const char* words;
    tutti_call_options options;
    int64_t count;
    tutti_dtype dtype;
    tutti_reduce_op op;
    int32_t root, rank;
    size_t ranks;
    tutti_buffer whole;                                  /* of `count` elements */
    tutti_buffer row, other_row;                         /* a piece for every rank, twice */
    tutti_buffer given[MOST_PIECES], taken[MOST_PIECES]; /* as lists */
    int64_t give[MOST_PIECES], take[MOST_PIECES];        /* as splits */
    tutti_work** work;
    tutti_error* error;
} request;

int64_t number_in(const char* step, const char* name, int64_t otherwise) {
    const size_t length = strlen(name);
    for (const char* at = step; (at = strchr(at, ' ')) != NULL;) {
        ++at;
        if (strncmp(at, name, length) == 0 && at[length] == '=') {
            return strtoll(at + length + 1, NULL, 10);
        }
    }
    return otherwise;
}

int begins(const char* step, const char* word) {
    const size_t length = strlen(word);
    return strncmp(step, word, length) == 0 && (step[length] == ' ' || step[length] == '\0');
}

static unsigned char pattern(size_t index) {
    return (unsigned char)(index * 31 % 251);
}

/* `ranks` pieces one after the other; the one of rank `other` is longer. */
static tutti_buffer lay_out(const request* call, unsigned char* data, tutti_buffer* list,
                            int64_t* counts, int64_t more) {
    const int64_t other = number_in(call->words, "other", 0);
    int64_t all = 0;
    for (size_t rank = 0; rank < call->ranks; ++rank) {
        counts[rank] = call->count + ((int64_t)rank == other ? more : 0);
        const tutti_buffer piece = TUTTI_BUFFER_INIT(
            data + (size_t)all * (size_t)tutti_dtype_size(call->dtype), counts[rank], call->dtype);
        list[rank] = piece;
        all += counts[rank];
    }
    const tutti_buffer row = TUTTI_BUFFER_INIT(data, all, call->dtype);
    return row;
}

static tutti_status borrow(const request* call, size_t bytes, memory* lent) {
    void* shared = NULL;
    lent->is_shared = number_in(call->words, "shared", 0) != 0;
    if (lent->is_shared) {
        const tutti_status status =
            tutti_memory_alloc(operations_group, bytes, NULL, &shared, call->error);
        lent->bytes = (unsigned char*)shared;
        return status;
    }
    lent->bytes = (unsigned char*)calloc(1, bytes);
    if (lent->bytes == NULL) abort();
    return TUTTI_OK;
}

void give_back(memory* lent) {
    if (lent->is_shared) {
        tutti_memory_release(lent->bytes);
    } else {
        free(lent->bytes);
    }
}

static tutti_status prepare(request* call, memory* lent) {
    const char* words = call->words;
    const int64_t more = number_in(words, "more", 0);
    call->options.timeout_ms = number_in(words, "timeout", 0);
    call->count = number_in(words, "count", 16);
    call->dtype = (tutti_dtype)number_in(words, "dtype", TUTTI_FLOAT32);
    call->op = (tutti_reduce_op)number_in(words, "op", TUTTI_SUM);
    call->root = (int32_t)number_in(words, "root", 0);
    call->rank = tutti_get_rank(operations_group);
    const int32_t size = tutti_get_world_size(operations_group);
    call->ranks = size > 0 && size <= MOST_PIECES ? (size_t)size : 1;
    const size_t room =
        (size_t)(call->count * (int64_t)call->ranks + more) * (size_t)tutti_dtype_size(call->dtype);
    lent->size = (size_t)call->count * (size_t)tutti_dtype_size(call->dtype);
    const tutti_status status = borrow(call, 2 * room + 1, lent);
    if (status != TUTTI_OK) return status;
    const tutti_buffer whole = TUTTI_BUFFER_INIT(lent->bytes, call->count, call->dtype);
    call->whole = whole;
    call->row = lay_out(call, lent->bytes, call->given, call->give,
                        number_in(words, "gives", 0) ? more : 0);
    call->other_row = lay_out(call, lent->bytes + room, call->taken, call->take,
                              number_in(words, "takes", 0) ? more : 0);
    return TUTTI_OK;
}

static tutti_status coalesce(const request* call) {
    tutti_group* coalescing = NULL;
    tutti_status status = tutti_coalescing_begin(operations_group, NULL, &coalescing, call->error);
    for (size_t rank = 0; status == TUTTI_OK && rank < call->ranks; ++rank) {
        status = tutti_all_reduce(coalescing, NULL, &call->given[rank], call->op, NULL, NULL,
                                  call->error);
    }
    if (status == TUTTI_OK) {
        return tutti_coalescing_end(coalescing, &call->options, call->work, call->error);
    }
    tutti_group_release(coalescing);
    return status;
}

static tutti_status reduce(const request* call) {
    tutti_group* group = operations_group;
    const char* words = call->words;
    if (begins(words, "reduce")) {
        return tutti_reduce(group, NULL, &call->whole, call->op, call->root, &call->options,
                            call->work, call->error);
    }
    if (begins(words, "reduce_scatter")) {
        return tutti_reduce_scatter(group, call->given, call->ranks, &call->given[call->rank],
                                    call->op, &call->options, call->work, call->error);
    }
    if (begins(words, "reduce_scatter_tensor")) {
        return tutti_reduce_scatter_tensor(group, &call->row, &call->taken[0], call->op,
                                           &call->options, call->work, call->error);
    }
    return tutti_all_reduce(group, NULL, &call->whole, call->op, &call->options, call->work,
                            call->error);
}

static tutti_status move(const request* call) {
    tutti_group* group = operations_group;
    const char* words = call->words;
    const int is_root = call->rank == call->root;
    if (begins(words, "broadcast")) {
        return tutti_broadcast(group, &call->whole, call->root, &call->options, call->work,
                               call->error);
    }
    if (begins(words, "all_gather")) {
        return tutti_all_gather(group, NULL, call->given, call->ranks, &call->options, call->work,
                                call->error);
    }
    if (begins(words, "all_gather_into_tensor")) {
        return tutti_all_gather_into_tensor(group, NULL, &call->row, &call->options, call->work,
                                            call->error);
    }
    if (begins(words, "gather")) {
        return tutti_gather(group, is_root ? NULL : &call->taken[0], is_root ? call->given : NULL,
                            is_root ? call->ranks : 0, call->root, &call->options, call->work,
                            call->error);
    }
    if (begins(words, "scatter")) {
        return tutti_scatter(group, is_root ? call->given : NULL, is_root ? call->ranks : 0,
                             is_root ? NULL : &call->taken[0], call->root, &call->options,
                             call->work, call->error);
    }
    if (begins(words, "all_to_all")) {
        return tutti_all_to_all(group, call->given, call->ranks, call->taken, call->ranks,
                                &call->options, call->work, call->error);
    }
    const int splits = number_in(words, "splits", 0) != 0;
    return tutti_all_to_all_single(group, &call->row, splits ? call->give : NULL,
                                   splits ? call->ranks : 0, &call->other_row,
                                   splits ? call->take : NULL, splits ? call->ranks : 0,
                                   &call->options, call->work, call->error);
}

static tutti_status send_or_receive(const request* call, memory* lent) {
    const int32_t tag = (int32_t)number_in(call->words, "tag", 0);
    if (begins(call->words, "send")) {
        for (size_t index = 0; index < lent->size; ++index) lent->bytes[index] = pattern(index);
        const int32_t to = (int32_t)number_in(call->words, "to", 0);
        return tutti_send(operations_group, &call->whole, to, tag, &call->options, call->work,
                          call->error);
    }
    const int32_t from = (int32_t)number_in(call->words, "from", -1);
    return tutti_recv(operations_group, &call->whole, from, tag, &call->options, NULL, call->work,
                      call->error);
}

static int is_one_of(const char* operation, const char* const* names) {
    for (; *names != NULL; ++names) {
        if (begins(operation, *names)) return 1;
    }
    return 0;
}

tutti_status operate(const char* operation, memory* lent, tutti_work** work, tutti_error* error) {
    static const char* const reductions[] = {"all_reduce", "reduce", "reduce_scatter",
                                             "reduce_scatter_tensor", NULL};
    static const char* const moves[] = {
        "broadcast", "all_gather", "all_gather_into_tensor", "gather",
        "scatter",   "all_to_all", "all_to_all_single",      NULL};
    static const char* const messages[] = {"send", "recv", NULL};
    request call;
    memset(&call, 0, sizeof call);
    tutti_call_options_init(&call.options, sizeof call.options);
    call.words = operation;
    call.work = work;
    call.error = error;
    const tutti_status status = prepare(&call, lent);
    if (status != TUTTI_OK) return status;
    if (is_one_of(operation, reductions)) return reduce(&call);
    if (is_one_of(operation, moves)) return move(&call);
    if (is_one_of(operation, messages)) return send_or_receive(&call, lent);
    if (begins(operation, "coalesced")) return coalesce(&call);
    if (begins(operation, "barrier")) {
        return tutti_barrier(operations_group, &call.options, work, error);
    }
    if (begins(operation, "monitored_barrier")) {
        return tutti_monitored_barrier(operations_group,
                                       (int32_t)number_in(operation, "wait_all_ranks", 0),
                                       &call.options, error);
    }
    fprintf(stderr, "worker: no operation \"%s\"\n", operation);
    exit(2);
}

void check_received(const char* operation, const memory* lent) {
    if (!begins(operation, "recv")) return;
    for (size_t index = 0; index < lent->size; ++index) {
        if (lent->bytes[index] == pattern(index)) continue;
        fprintf(stderr, "worker: byte %zu of %zu came in wrong\n", index, lent->size);
        exit(3);
    }
}
