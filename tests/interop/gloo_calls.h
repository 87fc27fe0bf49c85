/* How the calls of a plan are made; see gloo_peer.c. Public headers only. */
#ifndef TUTTI_TESTS_GLOO_CALLS_H
#define TUTTI_TESTS_GLOO_CALLS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/tutti.h>
#include <unistd.h>

#include "interop/gloo_values.h"
#include "support/timing.h"

enum { MOST_RANKS = 8, MOST_PIECES = MOST_RANKS };

static tutti_error error;
static tutti_store* plugin_store; /* where ranks meet whose PyTorch has the backend "tutti" */

static void die(const char* what) {
    printf("told %.6f %s: %s\n", now_s(), what, error.message);
    fflush(stdout);
    _exit(2);
}

#define MUST(what)                          \
    do {                                    \
        if ((what) != TUTTI_OK) die(#what); \
    } while (0)

/* PyTorch gives its backends complex numbers as pairs of real ones, except in the calls that are
 * named here. Backend "gloo" does that by itself. */
static int64_t reals(const call* of) {
    const int is_complex = of->dtype == TUTTI_COMPLEX64 || of->dtype == TUTTI_COMPLEX128;
    const int stays_complex = strcmp(of->kind, "reduce") == 0 || strcmp(of->kind, "gather") == 0 ||
                              strncmp(of->kind, "reduce_scatter", 14) == 0;
    return plugin_store != NULL && is_complex && !stays_complex ? 2 : 1;
}

static tutti_buffer buffer(const call* of, char* data, int64_t first, int64_t count) {
    tutti_buffer made = TUTTI_BUFFER_INIT(data + first * (int64_t)of->element, count, of->dtype);
    if (reals(of) == 2) {
        made.count = 2 * count;
        made.dtype = of->dtype == TUTTI_COMPLEX64 ? TUTTI_FLOAT32 : TUTTI_FLOAT64;
    }
    return made;
}

static void make(call* of, int64_t in_count, int64_t out_count) {
    of->in = calloc((size_t)in_count + 1, of->element);
    of->out = calloc((size_t)out_count + 1, of->element);
    of->out_count = out_count;
    for (int64_t i = 0; i < in_count; ++i) {
        store(of, of->in + i * (int64_t)of->element, value(of, of->me, i));
    }
}

static void pieces(const call* of, char* data, tutti_buffer* list) {
    for (int rank = 0; rank < of->ranks; ++rank) {
        list[rank] = buffer(of, data, rank * of->count, of->count);
    }
}

static void begin_reduction(call* of, tutti_work** work) {
    const int64_t count = of->count, all = count * of->ranks;
    const int is_scatter = strncmp(of->kind, "reduce_scatter", 14) == 0;
    const int has_result = strcmp(of->kind, "reduce") != 0 || of->me == of->root;
    make(of, is_scatter ? all : count, has_result ? count : 0);
    const tutti_buffer in = buffer(of, of->in, 0, is_scatter ? all : count);
    const tutti_buffer out = buffer(of, of->out, 0, count);
    tutti_buffer list[MOST_PIECES];
    if (strcmp(of->kind, "all_reduce") == 0) {
        MUST(tutti_all_reduce(of->group, &in, &out, of->op, NULL, work, &error));
    } else if (strcmp(of->kind, "reduce") == 0) {
        MUST(tutti_reduce(of->group, &in, has_result ? &out : NULL, of->op, of->root, NULL, work,
                          &error));
    } else if (strcmp(of->kind, "reduce_scatter") == 0) {
        pieces(of, of->in, list);
        MUST(tutti_reduce_scatter(of->group, list, of->ranks, &out, of->op, NULL, work, &error));
    } else {
        MUST(tutti_reduce_scatter_tensor(of->group, &in, &out, of->op, NULL, work, &error));
    }
}

/* Two calls as one: of `count` elements, and of one more. */
static void begin_pair(call* of, tutti_work** work) {
    const int64_t count = of->count, ranks = of->ranks;
    const int scatters = strncmp(of->kind, "reduce_scatter", 14) == 0;
    const int gathers = strstr(of->kind, "gather") != NULL;
    const int64_t ins = count * (scatters ? ranks : 1), outs = count * (gathers ? ranks : 1);
    const int64_t more_ins = scatters ? ranks : 1, more_outs = gathers ? ranks : 1;
    tutti_group* list = NULL;
    tutti_buffer parts[MOST_PIECES];
    make(of, 2 * ins + more_ins, 2 * outs + more_outs);
    for (int64_t i = 0; i < ins + more_ins; ++i) {
        store(of, of->in + (ins + i) * (int64_t)of->element, value(of, of->me, i));
    }
    MUST(tutti_coalescing_begin(of->group, NULL, &list, &error));
    for (int64_t one = 0; one < 2; ++one) {
        const tutti_buffer in = buffer(of, of->in, one * ins, ins + one * more_ins);
        const tutti_buffer out = buffer(of, of->out, one * outs, outs + one * more_outs);
        for (int64_t rank = 0; rank < ranks; ++rank) {
            parts[rank] = buffer(of, of->out, one * outs + rank * (count + one), count + one);
        }
        if (scatters) {
            MUST(tutti_reduce_scatter_tensor(list, &in, &out, of->op, NULL, NULL, &error));
        } else if (strcmp(of->kind, "all_gather_coalesced") == 0) {
            MUST(tutti_all_gather(list, &in, parts, ranks, NULL, NULL, &error));
        } else if (gathers) {
            MUST(tutti_all_gather_into_tensor(list, &in, &out, NULL, NULL, &error));
        } else {
            MUST(tutti_all_reduce(list, &in, &out, of->op, NULL, NULL, &error));
        }
    }
    MUST(tutti_coalescing_end(list, NULL, work, &error));
}

static void begin_move(call* of, tutti_work** work) {
    const int64_t count = of->count, all = count * of->ranks;
    const int is_root = of->me == of->root;
    tutti_buffer in_list[MOST_PIECES], out_list[MOST_PIECES];
    const char* const kind = of->kind;
    if (strcmp(kind, "broadcast") == 0) {
        make(of, count, count);
        if (is_root && count > 0) memcpy(of->out, of->in, (size_t)count * of->element);
    } else if (strcmp(kind, "scatter") == 0) {
        make(of, is_root ? all : 0, count);
    } else if (strcmp(kind, "gather") == 0) {
        make(of, count, is_root ? all : 0);
    } else {
        make(of, strstr(kind, "gather") != NULL ? count : all, all);
    }
    const tutti_buffer one_in = buffer(of, of->in, 0, count), all_in = buffer(of, of->in, 0, all);
    const tutti_buffer one_out = buffer(of, of->out, 0, count);
    const tutti_buffer all_out = buffer(of, of->out, 0, all);
    pieces(of, of->in, in_list);
    pieces(of, of->out, out_list);
    if (strcmp(kind, "broadcast") == 0) {
        MUST(tutti_broadcast(of->group, &one_out, of->root, NULL, work, &error));
    } else if (strcmp(kind, "all_gather") == 0) {
        MUST(tutti_all_gather(of->group, &one_in, out_list, of->ranks, NULL, work, &error));
    } else if (strcmp(kind, "all_gather_into_tensor") == 0) {
        MUST(tutti_all_gather_into_tensor(of->group, &one_in, &all_out, NULL, work, &error));
    } else if (strcmp(kind, "gather") == 0) {
        MUST(tutti_gather(of->group, &one_in, is_root ? out_list : NULL, is_root ? of->ranks : 0,
                          of->root, NULL, work, &error));
    } else if (strcmp(kind, "scatter") == 0) {
        MUST(tutti_scatter(of->group, is_root ? in_list : NULL, is_root ? of->ranks : 0, &one_out,
                           of->root, NULL, work, &error));
    } else if (strcmp(kind, "all_to_all") == 0) {
        MUST(tutti_all_to_all(of->group, in_list, of->ranks, out_list, of->ranks, NULL, work,
                              &error));
    } else {
        MUST(tutti_all_to_all_single(of->group, &all_in, NULL, 0, &all_out, NULL, 0, NULL, work,
                                     &error));
    }
}

static void begin_uneven(call* of, tutti_work** work) {
    int64_t sends[MOST_RANKS], receives[MOST_RANKS], in_count = 0, out_count = 0;
    for (int rank = 0; rank < of->ranks; ++rank) {
        in_count += sends[rank] = split(of, of->me, rank);
        out_count += receives[rank] = split(of, rank, of->me);
    }
    make(of, in_count, out_count);
    const tutti_buffer in = buffer(of, of->in, 0, in_count);
    const tutti_buffer out = buffer(of, of->out, 0, out_count);
    for (int rank = 0; rank < of->ranks; ++rank) {
        sends[rank] *= reals(of);
        receives[rank] *= reals(of);
    }
    MUST(tutti_all_to_all_single(of->group, &in, sends, of->ranks, &out, receives, of->ranks, NULL,
                                 work, &error));
}

/* Lists of buffers of which each has its own size. */
static void begin_list(call* of, tutti_work** work) {
    const int64_t count = of->count;
    const int gathers = strcmp(of->kind, "all_gather_uneven") == 0;
    const int reduces = is_reduction(of);
    int64_t in_count = gathers ? count + of->me : 0, out_count = reduces ? count + of->me : 0;
    int64_t in_sizes[MOST_RANKS], out_sizes[MOST_RANKS];
    tutti_buffer ins[MOST_RANKS], outs[MOST_RANKS];
    for (int rank = 0; rank < of->ranks; ++rank) {
        in_sizes[rank] = reduces ? count + rank : gathers ? 0 : split(of, of->me, rank);
        out_sizes[rank] = gathers ? count + rank : reduces ? 0 : split(of, rank, of->me);
        in_count += in_sizes[rank];
        out_count += out_sizes[rank];
    }
    make(of, in_count, out_count);
    for (int64_t rank = 0, in = 0, out = 0; rank < of->ranks; ++rank) {
        ins[rank] = buffer(of, of->in, in, in_sizes[rank]);
        outs[rank] = buffer(of, of->out, out, out_sizes[rank]);
        in += in_sizes[rank];
        out += out_sizes[rank];
    }
    const tutti_buffer in = buffer(of, of->in, 0, in_count);
    const tutti_buffer out = buffer(of, of->out, 0, out_count);
    if (gathers) {
        MUST(tutti_all_gather(of->group, &in, outs, of->ranks, NULL, work, &error));
    } else if (reduces) {
        MUST(tutti_reduce_scatter(of->group, ins, of->ranks, &out, of->op, NULL, work, &error));
    } else {
        MUST(tutti_all_to_all(of->group, ins, of->ranks, outs, of->ranks, NULL, work, &error));
    }
}

static void begin_message(call* of) {
    const int is_any = strcmp(of->kind, "any_source") == 0;
    const int32_t after = (of->me + 1) % of->ranks, before = (of->me + of->ranks - 1) % of->ranks;
    const int32_t tag = (int32_t)(of->step % 50) + (is_any ? 1000 : 0);
    make(of, of->count, of->count);
    const tutti_buffer in = buffer(of, of->in, 0, of->count);
    const tutti_buffer out = buffer(of, of->out, 0, of->count);
    MUST(tutti_send(of->group, &in, after, tag, NULL, &of->works[0], &error));
    MUST(tutti_recv(of->group, &out, is_any ? -1 : before, tag, NULL, NULL, &of->works[1], &error));
    of->work_count = 2;
}

static void begin(call* of) {
    tutti_work** const work = of->is_async ? of->works : NULL;
    of->work_count = of->is_async;
    if (strcmp(of->kind, "barrier") == 0) {
        MUST(tutti_barrier(of->group, NULL, work, &error));
    } else if (strcmp(of->kind, "monitored_barrier") == 0) {
        of->work_count = 0;
        MUST(tutti_monitored_barrier(of->group, 0, NULL, &error));
    } else if (strstr(of->kind, "coalesced") != NULL) {
        begin_pair(of, work);
    } else if (strcmp(of->kind, "uneven") == 0) {
        begin_uneven(of, work);
    } else if (strstr(of->kind, "_uneven") != NULL) {
        begin_list(of, work);
    } else if (is_reduction(of)) {
        begin_reduction(of, work);
    } else if (is_message(of)) {
        begin_message(of);
    } else {
        begin_move(of, work);
    }
}

#endif
