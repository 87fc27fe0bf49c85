/* The beginning of tests of reproducible groups. C99 and C++. */
#ifndef TUTTI_TESTS_EXACT_ON_RANKS_H
#define TUTTI_TESTS_EXACT_ON_RANKS_H

#include "on_ranks.h"
#include "support/exact.h"
#include "support/sanitizers.h"

enum { MOST_RANKS = 8 };

static tutti_group* reproducible_group(rank_context* me) {
    tutti_new_group_options options = TUTTI_NEW_GROUP_OPTIONS_INIT;
    tutti_group* group = NULL;
    options.reproducible = TUTTI_REPRODUCIBLE;
    if (tutti_new_group(me->group, NULL, 0, NULL, NULL, &options, &group, &me->error) != TUTTI_OK)
        rank_failed(me, __FILE__, __LINE__, "tutti_new_group", me->error.status);
    return group;
}

/* Whether so many ranks try it: any, but only 3 where the same is tried once more, or slowly. */
static int try_with(int32_t ranks) {
#if defined(__cplusplus)
    return ranks == 3;
#else
    return !SANITIZED || ranks == 3;
#endif
}

typedef struct trials {
    void (*function)(rank_context*);
    numbers of[(int)EXACT_DTYPES * (int)KINDS];
    int count;
} trials;

static void try_each(rank_context* me) {
    trials* const all = (trials*)me->user;
    for (int i = 0; i < all->count && !me->failed; ++i) {
        me->user = &all->of[i];
        all->function(me);
    }
}

/* 1, 2, ... and MOST_RANKS ranks run the function, whose `user` is numbers of MOST_RANKS addends,
 * of every dtype and of the kinds in [from, to). */
static void try_numbers(void (*function)(rank_context*), int64_t count, int from, int to) {
    trials all;
    all.function = function;
    all.count = 0;
    for (int i = 0; i < EXACT_DTYPES; ++i) {
        for (int kind = from; kind < to; ++kind) {
            all.of[all.count++] =
                make_numbers(exact_dtypes[i], kind, MOST_RANKS, count, (uint64_t)(1000 * i + kind));
        }
    }
    for (int32_t size = 1; size <= MOST_RANKS; size += size < 5 ? 1 : 3) {
        if (try_with(size)) RUN_WITH(size, try_each, &all);
    }
    while (all.count > 0) free_numbers(&all.of[--all.count]);
}

#endif
