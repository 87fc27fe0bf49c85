/* Random collectives, checked against the reference of the conformance matrix; see schedule.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schedule.h"

enum { LONGEST = 256 * 1024 };
static const size_t arena_bytes = (size_t)(2 * MOST_RANKS + 2) * (2u * LONGEST + 3 * 4096u);

static void finish(player* one, turn* of) {
    if (!of->runs) return;
    char text[200];
    attempt* const mine = &of->attempt;
    of->runs = 0;
    if (of->cell.async) {
        const tutti_status status = tutti_work_wait(mine->work, 0, &one->error);
        tutti_work_release(mine->work);
        if (status != TUTTI_OK) {
            fail_schedule(one, __FILE__, __LINE__,
                          cell_text(of->what, &of->cell, text, sizeof text), one->error.message);
        }
    }
    if (!areas_are(mine, 1)) {
        fail_schedule(one, __FILE__, __LINE__, cell_text(of->what, &of->cell, text, sizeof text),
                      mine->complaint);
    }
    free(mine->arena);
    mine->arena = NULL;
}

void finish_turns(player* one) {
    for (uint64_t i = 0; i < MOST_PENDING; ++i) finish(one, &one->turns[i]);
}

/* Mostly short, for it is the order of things that is on trial. */
static int64_t bytes_of(const player* one, uint64_t salt) {
    static const uint64_t longest[] = {1, 64, 4096, 4096, 20000, LONGEST};
    const uint64_t which = chance(one, salt + 1, sizeof longest / sizeof *longest);
    return (int64_t)chance(one, salt + 2, longest[which]);
}

static cell choose_cell(const player* one, const collective* what, int32_t ranks, uint64_t salt,
                        int may_be_async) {
    cell made;
    memset(&made, 0, sizeof made);
    made.ranks = ranks;
    made.root = what->has_root ? (int32_t)chance(one, salt + 3, (uint64_t)ranks) : -1;
    made.dtype = (tutti_dtype)chance(one, salt + 4, DTYPES);
    made.op = what->has_op ? (int)chance(one, salt + 5, MATRIX_OPS) : -1;
    while (made.op >= 0 && !is_op_of(made.dtype, made.op)) made.op = (made.op + 1) % MATRIX_OPS;
    made.bytes = what->has_data ? bytes_of(one, salt) : 0;
    int where = (int)chance(one, salt + 6, PLACES);
    while ((what->places >> where & 1) == 0) where = (where + 1) % PLACES;
    made.where = (place)where;
    made.async = may_be_async && chance(one, salt + 7, 2) == 0;
    made.salt = (int)chance(one, salt + 8, 100000);
    return made;
}

void call_something(player* one, tutti_group* group, uint64_t salt, int may_be_async) {
    turn* const of = &one->turns[one->next_turn++ % MOST_PENDING];
    attempt* const mine = &of->attempt;
    finish(one, of);
    of->what = &collectives[chance(one, salt, (uint64_t)collective_count)];
    of->cell = choose_cell(one, of->what, tutti_get_world_size(group), salt, may_be_async);
    memset(mine, 0, sizeof *mine);
    of->rank.group = group;
    of->rank.rank = tutti_get_rank(group);
    of->rank.size = of->cell.ranks;
    tutti_error_init(&of->rank.error, sizeof of->rank.error);
    mine->rank = &of->rank;
    mine->cell = &of->cell;
    mine->count = of->what->has_data ? of->cell.bytes / tutti_dtype_size(of->cell.dtype) : 0;
    mine->room = arena_bytes;
    mine->arena = (char*)malloc(mine->room);
    HOLDS(one, mine->arena != NULL);
    tutti_status status = make_op(mine);
    if (status == TUTTI_OK) status = of->what->call(mine);
    tutti_reduce_op_release(mine->op);
    if (status != TUTTI_OK) {
        char text[200];
        fail_schedule(one, __FILE__, __LINE__, cell_text(of->what, &of->cell, text, sizeof text),
                      of->rank.error.message);
    }
    of->runs = 1;
    if (!of->cell.async) finish(one, of);
}
