/* Do ranks that call different things learn it, and only those? mismatches_test BACKEND [detail]
 * [seed N] [count N]: so many times, 2 to 4 ranks each call something random, and some of them
 * something else: another collective, dtype, op, count or root, or the same two calls in the
 * other order. All must fail, and be shown both sides. As many times all call the same, and none
 * may fail. With "detail" the debug level is DETAIL: all fail in the very call, and no data have
 * moved. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance/conformance.h"
#include "support/draw.h"
#include "support/seed.h"

/* It takes a second to be sure that ranks wait for each other: several trials at a time. */
enum { LANES = 8, CALLS = 5, COLLECTIVES = 13 };
enum difference {
    OTHER_COLLECTIVE,
    OTHER_DTYPE,
    OTHER_OP,
    OTHER_COUNT,
    OTHER_ROOT,
    OTHER_ORDER,
    DIFFERENCES
};

typedef struct settings {
    const char* backend;
    uint64_t seed;
    int count, detail;
} settings;

/* A collective and its arguments. */
typedef struct call {
    const collective* what;
    cell cell;
} call;

/* The state that the ranks of one trial share. */
typedef struct trial {
    uint64_t index;
    int32_t ranks;
    call common[CALLS], odd[CALLS];
    int calls;    /* that are made, one after the other */
    int is_match; /* nobody is odd */
    uint32_t odd_ranks;
    enum difference kind;
} trial;

static settings chosen;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t next_trial;
static int failures, told[DIFFERENCES];

static uint64_t draw(const trial* of, uint64_t what, uint64_t below) {
    return draw_at(chosen.seed, of->index, 0, what) % below;
}

/* Calls that look different to the other ranks in all that may differ: the uneven ones are the even
 * ones when there is little to share. */
static const collective* collective_at(uint64_t index) {
    static const char* const names[COLLECTIVES] = {"broadcast",
                                                   "all_reduce",
                                                   "reduce",
                                                   "all_gather",
                                                   "all_gather_into_tensor",
                                                   "gather",
                                                   "scatter",
                                                   "reduce_scatter",
                                                   "reduce_scatter_tensor",
                                                   "all_to_all",
                                                   "all_to_all_single",
                                                   "coalesced",
                                                   "barrier"};
    for (int i = 0; i < collective_count; ++i) {
        if (strcmp(collectives[i].name, names[index % COLLECTIVES]) == 0) return &collectives[i];
    }
    abort();
}

static int64_t elements_of(const call* one) {
    return one->cell.bytes / tutti_dtype_size(one->cell.dtype);
}

static void set_elements(call* one, int64_t count) {
    one->cell.bytes = count * tutti_dtype_size(one->cell.dtype);
}

static void allow(call* one) {
    if (!one->what->has_op) one->cell.op = -1;
    while (one->cell.op >= 0 && !is_op_of(one->cell.dtype, one->cell.op)) {
        one->cell.op = (one->cell.op + 1) % MATRIX_OPS;
    }
    int where = (int)one->cell.where;
    while ((one->what->places >> where & 1) == 0) where = (where + 1) % PLACES;
    one->cell.where = (place)where;
}

static call random_call(const trial* of, uint64_t salt) {
    static const int64_t most[] = {2, 100, 5000, 60000};
    call made;
    memset(&made, 0, sizeof made);
    made.what = collective_at(draw(of, salt, COLLECTIVES));
    made.cell.ranks = of->ranks;
    made.cell.root = (int32_t)draw(of, salt + 1, (uint64_t)of->ranks);
    made.cell.dtype = (tutti_dtype)draw(of, salt + 2, DTYPES);
    made.cell.op = (int)draw(of, salt + 3, MATRIX_OPS);
    made.cell.where = (place)draw(of, salt + 4, PLACES);
    made.cell.async = draw(of, salt + 5, 2) == 0;
    set_elements(&made, (int64_t)draw(of, salt + 6, (uint64_t)most[draw(of, salt + 7, 4)]));
    allow(&made);
    return made;
}

/* Whether the call has what differs. */
static int can_differ(const call* one, enum difference how) {
    if (how == OTHER_DTYPE || how == OTHER_COUNT) return one->what->has_data;
    if (how == OTHER_OP) return one->what->has_op;
    if (how == OTHER_ROOT) return one->what->has_root;
    return 1;
}

static call other_call(const trial* of, const call* one, uint64_t salt) {
    call made = *one;
    const int64_t count = one->what->has_data ? elements_of(one) : 0;
    if (of->kind == OTHER_COLLECTIVE) {
        while (made.what == one->what) made.what = collective_at(draw(of, salt++, COLLECTIVES));
        if (made.what->has_op && made.cell.op < 0) made.cell.op = TUTTI_SUM;
    } else if (of->kind == OTHER_DTYPE) {
        while (made.cell.dtype == one->cell.dtype) {
            made.cell.dtype = (tutti_dtype)draw(of, salt++, DTYPES);
        }
        if (made.cell.op >= 0) made.cell.op = TUTTI_SUM;
        set_elements(&made, count);
    } else if (of->kind == OTHER_OP) {
        do {
            made.cell.op = (int)draw(of, salt++, MATRIX_OPS);
        } while (made.cell.op == one->cell.op || !is_op_of(made.cell.dtype, made.cell.op));
    } else if (of->kind == OTHER_COUNT) {
        set_elements(&made, count + 1 + (int64_t)draw(of, salt, 3000));
    } else if (of->kind == OTHER_ROOT) {
        made.cell.root = (one->cell.root + 1) % of->ranks;
    }
    allow(&made);
    return made;
}

static int is_same(const call* one, const call* other) {
    return one->what == other->what && one->cell.dtype == other->cell.dtype &&
           one->cell.bytes == other->cell.bytes && one->cell.op == other->cell.op &&
           one->cell.root == other->cell.root;
}

static void plan_trial(trial* of) {
    of->ranks = 2 + (int32_t)draw(of, 1, 3);
    if (of->is_match) {
        of->calls = CALLS;
        for (int i = 0; i < CALLS; ++i) of->common[i] = random_call(of, 100 + 50 * (uint64_t)i);
        return;
    }
    of->kind = (enum difference)draw(of, 2, DIFFERENCES);
    of->odd_ranks = 1 + (uint32_t)draw(of, 3, (1u << of->ranks) - 2);
    uint64_t salt = 100;
    do {
        of->common[0] = random_call(of, salt += 50);
        of->common[1] = random_call(of, salt += 50);
    } while (!can_differ(&of->common[0], of->kind) ||
             (of->kind == OTHER_ORDER && of->common[0].what == of->common[1].what));
    of->calls = of->kind == OTHER_ORDER ? 2 : 1;
    of->odd[0] = of->common[1];
    of->odd[1] = of->common[0];
    if (of->kind != OTHER_ORDER) of->odd[0] = other_call(of, &of->common[0], 1000);
    if (is_same(&of->common[0], &of->odd[0])) abort();
}

/* The name as messages have it; of calls that are gathered, one of theirs. */
static int has_name(const char* message, const call* one) {
    static const char* const gathered[] = {"coalesced", "all_reduce", "broadcast"};
    const int is_gathered = strcmp(one->what->name, "coalesced") == 0;
    for (int i = 0; i < (is_gathered ? 3 : 1); ++i) {
        char wanted[64];
        (void)snprintf(wanted, sizeof wanted, "called %s #1",
                       is_gathered ? gathered[i] : one->what->name);
        if (strstr(message, wanted) != NULL) return 1;
    }
    return 0;
}

/* In words that differ; pieces that only two ranks know are told by their lengths. */
static int shows_both(const trial* of, const char* message) {
    const call *a = &of->common[0], *b = &of->odd[0];
    if (strstr(message, " sends ") != NULL && strstr(message, " where rank ") != NULL) {
        return of->kind == OTHER_COUNT && strncmp(a->what->name, "all_to_all", 10) == 0;
    }
    if (!has_name(message, a) || !has_name(message, b)) return 0;
    if (a->what != b->what) return 1;
    const char* const first = strstr(message, "called ") + strlen("called ");
    const char* const second = strstr(message, " while rank");
    const char* const other = second == NULL ? NULL : strstr(second, "called ");
    if (other == NULL) return 0;
    const char* const end = strchr(other, ')');
    const size_t length = (size_t)(second - first);
    const size_t other_length = end == NULL ? 0 : (size_t)(end + 1 - other) - strlen("called ");
    return length != other_length || memcmp(first, other + strlen("called "), length) != 0;
}

static tutti_status make_call(rank_context* rank, attempt* me, const call* one) {
    memset(me, 0, sizeof *me);
    me->rank = rank;
    me->cell = &one->cell;
    me->count = one->what->has_data ? elements_of(one) : 0;
    me->room = (size_t)(2 * MOST_RANKS + 2) * ((size_t)one->cell.bytes * 2 + 3 * 4096u);
    me->arena = (char*)malloc(me->room);
    if (me->arena == NULL) abort();
    tutti_status status = make_op(me);
    if (status == TUTTI_OK) status = one->what->call(me);
    tutti_reduce_op_release(me->op);
    if (status == TUTTI_OK && one->cell.async) {
        status = tutti_work_wait(me->work, 0, &rank->error);
        tutti_work_release(me->work);
    }
    return status;
}

static void complain(rank_context* rank, const trial* of, const char* why, tutti_status status) {
    char common[200], odd[200] = "nothing else";
    (void)cell_text(of->common[0].what, &of->common[0].cell, common, sizeof common);
    if (!of->is_match) (void)cell_text(of->odd[0].what, &of->odd[0].cell, odd, sizeof odd);
    rank->failed = 1;
    fprintf(stderr, "trial %llu, rank %d: %s: %s: %s\n  common: %s\n  odd, ranks %x: %s\n",
            (unsigned long long)of->index, (int)rank->rank, why, tutti_status_name(status),
            status == TUTTI_OK ? "" : rank->error.message, common, (unsigned)of->odd_ranks, odd);
}

static void match(rank_context* rank, const trial* of) {
    for (int i = 0; i < of->calls && !rank->failed; ++i) {
        attempt me;
        const tutti_status status = make_call(rank, &me, &of->common[i]);
        if (status != TUTTI_OK) complain(rank, of, "a call that is right failed", status);
        if (status == TUTTI_OK && !areas_are(&me, 1)) complain(rank, of, me.complaint, status);
        free(me.arena);
    }
}

/* Some may be done before anybody can know; the barrier that follows tells them. */
static void mismatch(rank_context* rank, const trial* of) {
    const call* const calls = of->odd_ranks >> rank->rank & 1 ? of->odd : of->common;
    /* Lengths that only two ranks know are not compared first. */
    const int is_first = chosen.detail && !(of->kind == OTHER_COUNT &&
                                            strcmp(of->common[0].what->name, "all_to_all") == 0);
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < of->calls && status == TUTTI_OK; ++i) {
        attempt me;
        status = make_call(rank, &me, &calls[i]);
        if (is_first && i == 0 && status == TUTTI_OK) {
            complain(rank, of, "the very call did not fail", status);
        }
        if (is_first && !areas_are(&me, 0)) complain(rank, of, me.complaint, status);
        free(me.arena);
    }
    if (status == TUTTI_OK) status = tutti_barrier(rank->group, NULL, NULL, &rank->error);
    if (status != TUTTI_ERR_MISMATCH) {
        complain(rank, of, "not told of a mismatch", status);
    } else if (!shows_both(of, rank->error.message)) {
        complain(rank, of, "not shown both sides", status);
    }
}

static void live(rank_context* rank) {
    const trial* const of = (const trial*)rank->user;
    if (of->is_match) {
        match(rank, of);
    } else {
        mismatch(rank, of);
    }
}

static void* try_some(void* argument) {
    (void)argument;
    for (;;) {
        trial one;
        memset(&one, 0, sizeof one);
        (void)pthread_mutex_lock(&lock);
        one.index = next_trial++;
        (void)pthread_mutex_unlock(&lock);
        if (one.index >= 2 * (uint64_t)chosen.count) return NULL;
        one.is_match = one.index % 2 == 1;
        plan_trial(&one);
        const int failed = run_ranks(chosen.backend, one.ranks, live, &one);
        (void)pthread_mutex_lock(&lock);
        failures += failed > 0;
        told[one.kind] += !one.is_match && failed == 0;
        (void)pthread_mutex_unlock(&lock);
    }
}

static void read_arguments(int argc, char** argv) {
    chosen.seed = test_seed();
    chosen.count = 200;
    for (int i = 1; i < argc; ++i) {
        const uint64_t value = i + 1 < argc ? strtoull(argv[i + 1], NULL, 10) : 0;
        if (strcmp(argv[i], "detail") == 0) {
            chosen.detail = 1;
        } else if (strcmp(argv[i], "seed") == 0) {
            chosen.seed = value, ++i;
        } else if (strcmp(argv[i], "count") == 0) {
            chosen.count = (int)value, ++i;
        } else {
            chosen.backend = argv[i];
        }
    }
    if (chosen.backend == NULL) {
        fprintf(stderr, "mismatches_test BACKEND [detail] [seed N] [count N]\n");
        exit(2);
    }
}

int main(int argc, char** argv) {
    static const char* const names[DIFFERENCES] = {"collective", "dtype", "op",
                                                   "count",      "root",  "order"};
    pthread_t lanes[LANES];
    read_arguments(argc, argv);
    printf("%d mismatches and as many matches over %s%s, seed %llu\n", chosen.count, chosen.backend,
           chosen.detail ? " under DETAIL" : "", (unsigned long long)chosen.seed);
    (void)fflush(stdout);
    /* A busy machine must not look like a stopped rank. */
    (void)setenv("TUTTI_HEARTBEAT_TIMEOUT_MS", "0", 1);
    if (tutti_set_debug_level(chosen.detail ? TUTTI_DEBUG_DETAIL : TUTTI_DEBUG_OFF, NULL)) return 1;
    for (int i = 0; i < LANES; ++i) {
        if (pthread_create(&lanes[i], NULL, try_some, NULL) != 0) abort();
    }
    for (int i = 0; i < LANES; ++i) pthread_join(lanes[i], NULL);
    printf("told of another");
    for (int kind = 0; kind < DIFFERENCES; ++kind) printf(" %s: %d", names[kind], told[kind]);
    printf("; failures: %d\n", failures);
    return failures == 0 ? 0 : 1;
}
