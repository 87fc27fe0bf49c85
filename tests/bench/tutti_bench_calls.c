/* One call of each operation on tensors. */
#include <stdlib.h>

#include "messages.h"
#include "tutti_bench.h"

tutti_error failure = TUTTI_ERROR_INIT;

/* Arguments of the cell that is measured, so that a call need not make them. */
static tutti_buffer input, output, bucket[DDP_BUCKETS], part[MOST_RANKS];
static size_t part_count;
static int32_t rank;
static tutti_p2p_op exchanged[2][MOST_MESSAGES]; /* by phase */

static tutti_work* pending[MOST_MESSAGES];
static int64_t pending_count;

static tutti_buffer section(const cell* of, void* from, int64_t first, int64_t count) {
    const size_t offset = (size_t)first * element_types[of->element].size;
    char* const data = from == NULL ? NULL : (char*)from + offset; /* a barrier has no memory */
    const tutti_buffer made = TUTTI_BUFFER_INIT(data, count, (tutti_dtype)of->element);
    return made;
}

static void prepare_messages(const cell* of) {
    const tutti_dtype dtype = (tutti_dtype)(element_of(of) - element_types);
    for (int phase = 0; phase < 2; ++phase)
        for (int i = 0; i < message_count(); ++i) {
            const message* const one = &messages_of_phase(phase)[i];
            const tutti_p2p_op made =
                TUTTI_P2P_OP_INIT(one->sends ? TUTTI_ISEND : TUTTI_IRECV, one->data, one->count,
                                  dtype, one->other, one->tag);
            exchanged[phase][i] = made;
        }
}

void prepare_call(const cell* of) {
    const int32_t ranks = tutti_get_world_size(TUTTI_GROUP_WORLD);
    const operation_kind kind = of->op->kind;
    const int all = kind == REDUCE_SCATTER || kind == ALL_TO_ALL;
    rank = tutti_get_rank(TUTTI_GROUP_WORLD);
    part_count = 0;
    if (has_messages(of)) prepare_messages(of);
    input = section(of, of->input, 0, all ? of->piece * ranks : of->count);
    output = section(of, of->output, 0,
                     kind == REDUCE_SCATTER || kind == SCATTER ? of->piece
                     : kind == ALL_TO_ALL                      ? of->piece * ranks
                     : kind == ALL_GATHER                      ? of->count * ranks
                                                               : of->count);
    for (int i = 0; i < DDP_BUCKETS; ++i)
        bucket[i] = section(of, of->input, i * (of->count / DDP_BUCKETS), of->count / DDP_BUCKETS);
    if (rank == 0 && (kind == GATHER || kind == SCATTER)) {
        part_count = (size_t)ranks;
        for (int32_t i = 0; i < ranks; ++i)
            part[i] = kind == GATHER ? section(of, of->output, i * of->count, of->count)
                                     : section(of, of->input, i * of->piece, of->piece);
    }
}

static tutti_status ping_pong(void) {
    tutti_group* const world = TUTTI_GROUP_WORLD;
    if (rank > 1) return TUTTI_OK;
    const int32_t other = 1 - rank;
    tutti_status status = TUTTI_OK;
    if (rank == 0) status = tutti_send(world, &input, other, 0, NULL, NULL, &failure);
    if (status == TUTTI_OK)
        status = tutti_recv(world, &output, other, 0, NULL, NULL, NULL, &failure);
    if (status == TUTTI_OK && rank == 1)
        status = tutti_send(world, &input, other, 0, NULL, NULL, &failure);
    return status;
}

/* Rank 1 posts a receive for each piece, from the last to the first, then rank 0 sends them. */
static tutti_status move_pieces(const cell* of) {
    static tutti_work* works[MANY];
    static char go;
    tutti_group* const world = TUTTI_GROUP_WORLD;
    const tutti_buffer word = TUTTI_BUFFER_INIT(&go, 1, TUTTI_UINT8);
    const int64_t messages = messages_of(of);
    tutti_status status = TUTTI_OK;
    int64_t started = 0;
    if (rank > 1) return TUTTI_OK;
    if (rank == 0) status = tutti_recv(world, &word, 1, MANY, NULL, NULL, NULL, &failure);
    for (; started < messages && status == TUTTI_OK; ++started) {
        const int64_t number = rank == 0 ? started : messages - 1 - started;
        const int32_t tag = (int32_t)number;
        const tutti_buffer one =
            section(of, rank == 0 ? of->input : of->output, number * of->piece, of->piece);
        works[started] = NULL;
        status = rank == 0 ? tutti_send(world, &one, 1, tag, NULL, &works[started], &failure)
                           : tutti_recv(world, &one, 0, tag, NULL, NULL, &works[started], &failure);
    }
    if (rank == 1 && status == TUTTI_OK)
        status = tutti_send(world, &word, 0, MANY, NULL, NULL, &failure);
    if (status == TUTTI_OK) status = tutti_work_wait_all(works, started, 0, &failure);
    for (int64_t i = 0; i < started; ++i) tutti_work_release(works[i]);
    return status;
}

/* The pattern of gradients in buckets: all are issued, then all are waited for. */
static tutti_status reduce_buckets(void) {
    tutti_work* works[DDP_BUCKETS] = {NULL};
    tutti_status status = TUTTI_OK;
    size_t started = 0;
    for (; started < DDP_BUCKETS && status == TUTTI_OK; ++started)
        status = tutti_all_reduce(TUTTI_GROUP_WORLD, NULL, &bucket[started], TUTTI_SUM, NULL,
                                  &works[started], &failure);
    if (status == TUTTI_OK) status = tutti_work_wait_all(works, DDP_BUCKETS, 0, &failure);
    for (size_t i = 0; i < DDP_BUCKETS; ++i) tutti_work_release(works[i]);
    return status;
}

static tutti_status reduce_buckets_in_turn(void) {
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < DDP_BUCKETS && status == TUTTI_OK; ++i)
        status =
            tutti_all_reduce(TUTTI_GROUP_WORLD, NULL, &bucket[i], TUTTI_SUM, NULL, NULL, &failure);
    return status;
}

/* `work` NULL: waits. Else one of the operations that have all forms. */
static tutti_status call(const cell* of, tutti_work** work) {
    tutti_group* const world = TUTTI_GROUP_WORLD;
    tutti_error* const error = &failure;
    switch (of->op->kind) {
        case ALL_REDUCE:
            return tutti_all_reduce(world, &input, &output, TUTTI_SUM, NULL, work, error);
        case BROADCAST:
            return tutti_broadcast(world, &input, 0, NULL, work, error);
        case REDUCE:
            return tutti_reduce(world, &input, rank == 0 ? &output : NULL, TUTTI_SUM, 0, NULL, work,
                                error);
        case REDUCE_SCATTER:
            return tutti_reduce_scatter_tensor(world, &input, &output, TUTTI_SUM, NULL, work,
                                               error);
        case ALL_GATHER:
            return tutti_all_gather_into_tensor(world, &input, &output, NULL, work, error);
        case ALL_TO_ALL:
            return tutti_all_to_all_single(world, &input, NULL, 0, &output, NULL, 0, NULL, work,
                                           error);
        case BARRIER:
            return tutti_barrier(world, NULL, work, error);
        case PING_PONG:
            return ping_pong();
        case MANY_RECEIVES:
            return move_pieces(of);
        case GATHER:
            return tutti_gather(world, &input, part_count > 0 ? part : NULL, part_count, 0, NULL,
                                work, error);
        case SCATTER:
            return tutti_scatter(world, part_count > 0 ? part : NULL, part_count, &output, 0, NULL,
                                 work, error);
        case EXCHANGE_CALL:
            return tutti_batch_isend_irecv(world, exchanged[0], message_count(), NULL, NULL, error);
        case DDP:
            return reduce_buckets();
        case DDP_BLOCKING:
            return reduce_buckets_in_turn();
        default:
            return TUTTI_ERR_INVALID_ARGUMENT;
    }
}

int call_once(const cell* of) {
    return call(of, NULL) == TUTTI_OK;
}

int start_call(const cell* of) {
    tutti_status status;
    pending[0] = NULL;
    pending_count = 1;
    if (has_messages(of)) {
        pending_count = message_count();
        status = tutti_batch_isend_irecv(TUTTI_GROUP_WORLD, exchanged[message_phase()],
                                         pending_count, NULL, pending, &failure);
    } else {
        status = call(of, pending);
    }
    return status == TUTTI_OK;
}

int finish_call(void) {
    const tutti_status status = pending_count == 1
                                    ? tutti_work_wait(pending[0], 0, &failure)
                                    : tutti_work_wait_all(pending, pending_count, 0, &failure);
    for (int64_t i = 0; i < pending_count; ++i) tutti_work_release(pending[i]);
    return status == TUTTI_OK;
}
