/* Each collective as the matrix sees it: what a rank gives, what shall be where afterwards, and the
 * call. One function each. */
#include <string.h>

#include "conformance.h"

#define GROUP me->rank->group
#define ERROR &me->rank->error
#define OPTIONS (me->on_device == NULL ? NULL : &me->options)

enum { OUT = 1 << OUT_OF_PLACE, IN = 1 << IN_PLACE, SAME = 1 << SAME_MEMORY };

static tutti_work** work_of(attempt* me) {
    return me->cell->async ? &me->work : NULL;
}

/* The piece of rank `one` where pieces differ: from next to nothing to twice the even one. */
static int64_t uneven(const attempt* me, int32_t one) {
    return me->count * (2 * one + 1) / me->cell->ranks;
}

/* The piece that goes from one rank to another where pieces differ; some are empty. */
static int64_t between(const attempt* me, int32_t from, int32_t to) {
    return me->count * ((from + 2 * to) % me->cell->ranks) / me->cell->ranks;
}

static tutti_status broadcast(attempt* me) {
    const content result = data_of(me->cell->root, 0);
    const int is_root = me->rank->rank == me->cell->root;
    const tutti_buffer buffer = make_buffer(me, me->count, is_root ? result : junk(), result);
    return tutti_broadcast(GROUP, &buffer, me->cell->root, OPTIONS, work_of(me), ERROR);
}

static tutti_status all_reduce(attempt* me) {
    const content mine = data_of(me->rank->rank, 0);
    if (me->cell->where == OUT_OF_PLACE) {
        const tutti_buffer input = make_buffer(me, me->count, mine, mine);
        const tutti_buffer output = make_buffer(me, me->count, junk(), reduced(0));
        return tutti_all_reduce(GROUP, &input, &output, me->op, OPTIONS, work_of(me), ERROR);
    }
    const tutti_buffer output = make_buffer(me, me->count, mine, reduced(0));
    const tutti_buffer* const input = me->cell->where == SAME_MEMORY ? &output : NULL;
    return tutti_all_reduce(GROUP, input, &output, me->op, OPTIONS, work_of(me), ERROR);
}

static tutti_status reduce(attempt* me) {
    const content mine = data_of(me->rank->rank, 0);
    const int is_root = me->rank->rank == me->cell->root;
    tutti_buffer input, output;
    const tutti_buffer *from = NULL, *to = &output;
    if (me->cell->where == OUT_OF_PLACE) {
        input = make_buffer(me, me->count, mine, mine);
        from = &input;
        if (is_root) {
            output = make_buffer(me, me->count, junk(), reduced(0));
        } else {
            to = NULL;
        }
    } else {
        output = make_buffer(me, me->count, mine, is_root ? reduced(0) : mine);
        if (me->cell->where == SAME_MEMORY) from = to;
    }
    return tutti_reduce(GROUP, from, to, me->op, me->cell->root, OPTIONS, work_of(me), ERROR);
}

/* A list of what every rank gives; this rank's place in it holds its own already unless the call is
 * out of place. */
static void gathered(attempt* me, tutti_buffer* outputs, int is_uneven) {
    for (int32_t from = 0; from < me->cell->ranks; ++from) {
        const content its = data_of(from, 0);
        const int is_there = from == me->rank->rank && me->cell->where != OUT_OF_PLACE;
        outputs[from] =
            make_buffer(me, is_uneven ? uneven(me, from) : me->count, is_there ? its : junk(), its);
    }
}

static const tutti_buffer* gather_input(attempt* me, tutti_buffer* input, int64_t count,
                                        const tutti_buffer* place_of_mine) {
    const content mine = data_of(me->rank->rank, 0);
    if (me->cell->where == IN_PLACE) return NULL;
    if (me->cell->where == SAME_MEMORY) return place_of_mine;
    *input = make_buffer(me, count, mine, mine);
    return input;
}

static tutti_status all_gather_list(attempt* me, int is_uneven) {
    tutti_buffer outputs[MOST_RANKS], own;
    gathered(me, outputs, is_uneven);
    const tutti_buffer* const mine = &outputs[me->rank->rank];
    const tutti_buffer* const input = gather_input(me, &own, mine->count, mine);
    return tutti_all_gather(GROUP, input, outputs, (size_t)me->cell->ranks, OPTIONS, work_of(me),
                            ERROR);
}

static tutti_status all_gather(attempt* me) {
    return all_gather_list(me, 0);
}

static tutti_status all_gather_uneven(attempt* me) {
    return all_gather_list(me, 1);
}

static tutti_status all_gather_into_tensor(attempt* me) {
    stretch pieces[MOST_RANKS];
    for (int32_t from = 0; from < me->cell->ranks; ++from) {
        const content its = data_of(from, 0);
        const int is_there = from == me->rank->rank && me->cell->where != OUT_OF_PLACE;
        const stretch piece = {me->count, is_there ? its : junk(), its};
        pieces[from] = piece;
    }
    const tutti_buffer output = make_area(me, pieces, me->cell->ranks);
    tutti_buffer mine = output, own;
    mine.count = me->count;
    mine.data = (char*)output.data +
                (size_t)me->rank->rank * (size_t)me->count * tutti_dtype_size(me->cell->dtype);
    const tutti_buffer* const input = gather_input(me, &own, me->count, &mine);
    return tutti_all_gather_into_tensor(GROUP, input, &output, OPTIONS, work_of(me), ERROR);
}

static tutti_status gather(attempt* me) {
    const int32_t root = me->cell->root;
    const content mine = data_of(me->rank->rank, 0);
    tutti_buffer outputs[MOST_RANKS], own;
    if (me->rank->rank != root) {
        own = make_buffer(me, me->count, mine, mine);
        return tutti_gather(GROUP, &own, NULL, 0, root, OPTIONS, work_of(me), ERROR);
    }
    gathered(me, outputs, 0);
    const tutti_buffer* const input = gather_input(me, &own, me->count, &outputs[root]);
    return tutti_gather(GROUP, input, outputs, (size_t)me->cell->ranks, root, OPTIONS, work_of(me),
                        ERROR);
}

static tutti_status scatter(attempt* me) {
    const int32_t root = me->cell->root;
    const content mine = data_of(root, me->rank->rank);
    tutti_buffer inputs[MOST_RANKS], output;
    const tutti_buffer* to = &output;
    if (me->rank->rank != root) {
        output = make_buffer(me, me->count, junk(), mine);
        return tutti_scatter(GROUP, NULL, 0, to, root, OPTIONS, work_of(me), ERROR);
    }
    for (int32_t rank = 0; rank < me->cell->ranks; ++rank) {
        inputs[rank] = make_buffer(me, me->count, data_of(root, rank), data_of(root, rank));
    }
    if (me->cell->where == OUT_OF_PLACE) output = make_buffer(me, me->count, junk(), mine);
    if (me->cell->where == IN_PLACE) to = NULL;
    if (me->cell->where == SAME_MEMORY) to = &inputs[root];
    return tutti_scatter(GROUP, inputs, (size_t)me->cell->ranks, to, root, OPTIONS, work_of(me),
                         ERROR);
}

static tutti_status reduce_scatter_list(attempt* me, int is_uneven) {
    const int32_t rank = me->rank->rank;
    tutti_buffer inputs[MOST_RANKS], output;
    for (int32_t to = 0; to < me->cell->ranks; ++to) {
        const content its = data_of(rank, to);
        const int is_result = to == rank && me->cell->where == SAME_MEMORY;
        inputs[to] = make_buffer(me, is_uneven ? uneven(me, to) : me->count, its,
                                 is_result ? reduced(rank) : its);
    }
    output = inputs[rank];
    if (me->cell->where == OUT_OF_PLACE) {
        output = make_buffer(me, output.count, junk(), reduced(rank));
    }
    return tutti_reduce_scatter(GROUP, inputs, (size_t)me->cell->ranks, &output, me->op, OPTIONS,
                                work_of(me), ERROR);
}

static tutti_status reduce_scatter(attempt* me) {
    return reduce_scatter_list(me, 0);
}

static tutti_status reduce_scatter_uneven(attempt* me) {
    return reduce_scatter_list(me, 1);
}

static tutti_status reduce_scatter_tensor(attempt* me) {
    const int32_t rank = me->rank->rank;
    stretch pieces[MOST_RANKS];
    for (int32_t to = 0; to < me->cell->ranks; ++to) {
        const content its = data_of(rank, to);
        const int is_result = to == rank && me->cell->where == SAME_MEMORY;
        const stretch piece = {me->count, its, is_result ? reduced(rank) : its};
        pieces[to] = piece;
    }
    const tutti_buffer input = make_area(me, pieces, me->cell->ranks);
    tutti_buffer output = input;
    output.count = me->count;
    output.data =
        (char*)input.data + (size_t)rank * (size_t)me->count * tutti_dtype_size(me->cell->dtype);
    if (me->cell->where == OUT_OF_PLACE) {
        output = make_buffer(me, me->count, junk(), reduced(rank));
    }
    return tutti_reduce_scatter_tensor(GROUP, &input, &output, me->op, OPTIONS, work_of(me), ERROR);
}

static tutti_status all_to_all_list(attempt* me, int is_uneven) {
    const int32_t rank = me->rank->rank, ranks = me->cell->ranks;
    const int is_in_place = me->cell->where != OUT_OF_PLACE;
    tutti_buffer inputs[MOST_RANKS], outputs[MOST_RANKS];
    for (int32_t peer = 0; peer < ranks; ++peer) {
        const int64_t in = is_uneven ? between(me, peer, rank) : me->count;
        const int64_t out = is_uneven ? between(me, rank, peer) : me->count;
        const content given = data_of(rank, peer), taken = data_of(peer, rank);
        outputs[peer] = make_buffer(me, in, is_in_place ? given : junk(), taken);
        inputs[peer] = is_in_place ? outputs[peer] : make_buffer(me, out, given, given);
    }
    const int names_inputs = me->cell->where != IN_PLACE;
    return tutti_all_to_all(GROUP, names_inputs ? inputs : NULL, names_inputs ? (size_t)ranks : 0,
                            outputs, (size_t)ranks, OPTIONS, work_of(me), ERROR);
}

static tutti_status all_to_all(attempt* me) {
    return all_to_all_list(me, 0);
}

static tutti_status all_to_all_uneven(attempt* me) {
    return all_to_all_list(me, 1);
}

static tutti_status all_to_all_tensor(attempt* me, int is_uneven) {
    const int32_t rank = me->rank->rank, ranks = me->cell->ranks;
    const int is_in_place = me->cell->where != OUT_OF_PLACE;
    stretch in[MOST_RANKS], out[MOST_RANKS];
    int64_t in_sizes[MOST_RANKS], out_sizes[MOST_RANKS];
    for (int32_t peer = 0; peer < ranks; ++peer) {
        const content given = data_of(rank, peer), taken = data_of(peer, rank);
        in_sizes[peer] = is_uneven ? between(me, rank, peer) : me->count;
        out_sizes[peer] = is_uneven ? between(me, peer, rank) : me->count;
        const stretch from = {in_sizes[peer], given, given};
        const stretch to = {out_sizes[peer], is_in_place ? given : junk(), taken};
        in[peer] = from;
        out[peer] = to;
    }
    const tutti_buffer output = make_area(me, out, ranks);
    tutti_buffer input = output;
    if (!is_in_place) input = make_area(me, in, ranks);
    const size_t split = is_uneven ? (size_t)ranks : 0;
    return tutti_all_to_all_single(
        GROUP, me->cell->where == IN_PLACE ? NULL : &input, is_uneven ? in_sizes : NULL, split,
        &output, is_uneven ? out_sizes : NULL, split, OPTIONS, work_of(me), ERROR);
}

static tutti_status all_to_all_single(attempt* me) {
    return all_to_all_tensor(me, 0);
}

static tutti_status all_to_all_single_split(attempt* me) {
    return all_to_all_tensor(me, 1);
}

int is_listed(const char* list, const char* name) {
    const size_t length = strcspn(name, ",");
    for (const char* at = list; at != NULL && *at != '\0';
         at += strcspn(at, "/"), at += *at == '/') {
        if (strcspn(at, "/") == length && strncmp(at, name, length) == 0) return 1;
    }
    return 0;
}

/* Two of them, and one of something else between, if the backend has that. */
static tutti_status coalesced(attempt* me) {
    const content mine = data_of(me->rank->rank, 0), other = data_of(me->rank->rank, 1);
    const tutti_buffer first = make_buffer(me, me->count, mine, reduced(0));
    const int has_broadcast = !is_listed(me->lacks, "broadcast");
    const content sent = me->rank->rank == 0 ? mine : junk();
    const tutti_buffer copied =
        make_buffer(me, me->count, sent, has_broadcast ? data_of(0, 0) : sent);
    const tutti_buffer second = make_buffer(me, me->count, other, reduced(1));
    const tutti_reduce_op op = me->op;
    tutti_group* coalescing = NULL;
    tutti_coalescing_options options = TUTTI_COALESCING_OPTIONS_INIT;
    options.device_type = first.device_type;
    options.device_index = first.device_index;
    tutti_status status = tutti_coalescing_begin(GROUP, &options, &coalescing, ERROR);
    if (status == TUTTI_OK) {
        status = tutti_all_reduce(coalescing, NULL, &first, op, NULL, NULL, ERROR);
    }
    if (status == TUTTI_OK && has_broadcast) {
        status = tutti_broadcast(coalescing, &copied, 0, NULL, NULL, ERROR);
    }
    if (status == TUTTI_OK) {
        status = tutti_all_reduce(coalescing, NULL, &second, op, NULL, NULL, ERROR);
    }
    if (status == TUTTI_OK) return tutti_coalescing_end(coalescing, OPTIONS, work_of(me), ERROR);
    tutti_group_release(coalescing);
    return status;
}

/* To the next rank and from the one before; a rank alone, to itself, which takes works. */
static tutti_status messages(attempt* me) {
    const int32_t rank = me->rank->rank, ranks = me->cell->ranks;
    const int32_t next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
    const tutti_buffer out = make_buffer(me, me->count, data_of(rank, 0), data_of(rank, 0));
    const tutti_buffer in = make_buffer(me, me->count, junk(), data_of(previous, 0));
    const int waits = !me->cell->async && ranks > 1;
    tutti_work *sending, *receiving = NULL;
    tutti_status status = tutti_send(GROUP, &out, next, 7, OPTIONS, &sending, ERROR);
    if (status != TUTTI_OK) return status;
    status = tutti_recv(GROUP, &in, previous, 7, OPTIONS, NULL, waits ? NULL : &receiving, ERROR);
    if (me->cell->async) {
        me->work = receiving;
    } else if (receiving != NULL) {
        status = tutti_work_wait(receiving, 0, ERROR);
        tutti_work_release(receiving);
    }
    if (status == TUTTI_OK) status = tutti_work_wait(sending, 0, ERROR);
    tutti_work_release(sending);
    return status;
}

static tutti_status barrier(attempt* me) {
    return tutti_barrier(GROUP, OPTIONS, work_of(me), ERROR);
}

const collective collectives[] = {
    {"broadcast", 0, 1, 1, IN, broadcast, NULL},
    {"all_reduce", 1, 0, 1, OUT | IN | SAME, all_reduce, NULL},
    {"reduce", 1, 1, 1, OUT | IN | SAME, reduce, NULL},
    {"all_gather", 0, 0, 1, OUT | IN | SAME, all_gather, NULL},
    {"all_gather, uneven", 0, 0, 1, OUT | IN | SAME, all_gather_uneven, NULL},
    {"all_gather_into_tensor", 0, 0, 1, OUT | IN | SAME, all_gather_into_tensor, NULL},
    {"gather", 0, 1, 1, OUT | IN | SAME, gather, NULL},
    {"scatter", 0, 1, 1, OUT | IN | SAME, scatter, NULL},
    {"reduce_scatter", 1, 0, 1, OUT | SAME, reduce_scatter, NULL},
    {"reduce_scatter, uneven", 1, 0, 1, OUT | SAME, reduce_scatter_uneven, NULL},
    {"reduce_scatter_tensor", 1, 0, 1, OUT | SAME, reduce_scatter_tensor, NULL},
    {"all_to_all", 0, 0, 1, OUT | IN | SAME, all_to_all, NULL},
    {"all_to_all, uneven", 0, 0, 1, OUT, all_to_all_uneven, NULL},
    {"all_to_all_single", 0, 0, 1, OUT | IN | SAME, all_to_all_single, NULL},
    {"all_to_all_single, split", 0, 0, 1, OUT, all_to_all_single_split, NULL},
    {"coalesced", 1, 0, 1, IN, coalesced, "all_reduce"},
    {"send, recv", 0, 0, 1, OUT, messages, NULL},
    {"barrier", 0, 0, 0, OUT, barrier, NULL},
};
const int collective_count = sizeof collectives / sizeof *collectives;
