/* Does a backend do what the contract says? tutti-conformance BACKEND tries the matrix with ranks
 * that are threads, and prints what came of every cell; arguments.c has its arguments. With
 * "processes" each rank is a process that a launcher has started with these arguments, and their
 * number is that of the ranks. With "--store" the calls of a store are tried instead, see stores.h.
 * A cell that fails ends its group; those behind it are tried in groups of their own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "processes.h"
#include "stores.h"

/* A rank's report of the cell that it failed in. */
typedef struct complaint {
    tutti_status status;
    char text[600]; /* "": nothing */
} complaint;

/* The state shared by the ranks of one collective and number of ranks. */
typedef struct trial {
    const settings* chosen;
    const collective* what;
    const plan* cells;
    int32_t ranks;
    size_t begin, end;                   /* the cells that one group tries */
    unsigned char* verdicts[MOST_RANKS]; /* of each rank, for each cell of the plan */
    complaint complaints[MOST_RANKS];    /* of the group */
} trial;

/* The most complaints that are printed, and cells that hang for a minute before the rest is left.
 * */
enum { MOST_LINES = 60, MOST_TIMEOUTS = 3 };
static int timeouts;

/* Enough for the inputs and the outputs of the largest cell. */
static const size_t arena_bytes = (size_t)(2 * MOST_RANKS + 2) * ((2u << 20) + 3 * 4096u);

/* Calls are gathered, or not, before there is a dtype that their op might not have. */
static int is_refusal(const settings* chosen, const collective* what, const cell* which) {
    const int has_begun = what->gathers == NULL || !is_listed(chosen->lacks, what->name);
    return what->has_op && !is_op_of(which->dtype, which->op) && has_begun;
}

static int is_lacking(const char* list, const collective* what, const cell* which) {
    return is_listed(list, what->name) ||
           (what->gathers != NULL && is_listed(list, what->gathers)) ||
           (what->has_data && is_listed(list, dtype_text(which->dtype))) ||
           (what->has_op && is_listed(list, op_text(which->op)));
}

static int names_op_and_dtype(const char* message, const cell* which) {
    return strstr(message, dtype_text(which->dtype)) != NULL &&
           strstr(message, op_text(which->op)) != NULL;
}

static verdict complain(attempt* me, const char* why, tutti_status status) {
    trial* const of = (trial*)me->rank->user;
    complaint* const mine = &of->complaints[me->rank->rank];
    char text[200];
    mine->status = status;
    (void)snprintf(mine->text, sizeof mine->text, "rank %d: %s: %s", (int)me->rank->rank,
                   cell_text(of->what, me->cell, text, sizeof text), why);
    return FAILED;
}

/* The error of a call that must be refused. */
static verdict expect_refusal(attempt* me, tutti_status status, tutti_status wanted,
                              int names_why) {
    if (status != wanted) return complain(me, "was not refused as it must be", status);
    if (!names_why) return complain(me, me->rank->error.message, status);
    return areas_are(me, 0) ? REFUSED : complain(me, me->complaint, TUTTI_OK);
}

static verdict try_cell(attempt* me, const settings* chosen, const collective* what) {
    const char* const message = me->rank->error.message;
    me->used = 0;
    me->areas = 0;
    me->work = NULL;
    me->count = what->has_data ? me->cell->bytes / (int64_t)tutti_dtype_size(me->cell->dtype) : 0;
    if (me->cell->bytes == 1) me->count = 1; /* one element, however wide */
    tutti_status status = make_op(me);
    if (status != TUTTI_OK) return complain(me, message, status);
    status = what->call(me);
    tutti_reduce_op_release(me->op); /* a call that runs keeps it */
    if (chosen->may_refuse && status == TUTTI_ERR_UNSUPPORTED) {
        return expect_refusal(me, status, TUTTI_ERR_UNSUPPORTED,
                              strstr(message, chosen->backend) != NULL);
    }
    if (is_refusal(chosen, what, me->cell)) {
        return expect_refusal(me, status, TUTTI_ERR_INVALID_ARGUMENT,
                              names_op_and_dtype(message, me->cell));
    }
    if (is_lacking(chosen->lacks, what, me->cell)) {
        return expect_refusal(me, status, TUTTI_ERR_UNSUPPORTED,
                              strstr(message, chosen->backend) != NULL);
    }
    if (status != TUTTI_OK) return complain(me, message, status);
    const int is_async = me->cell->async;
    int is_right = 1;
    if (is_async && me->options.stream != NULL) {
        status = tutti_work_synchronize(me->work, me->options.stream, &me->rank->error);
        is_right = status == TUTTI_OK && areas_are(me, 1); /* before this thread has waited */
    }
    if (is_async) {
        if (status == TUTTI_OK) status = tutti_work_wait(me->work, 0, &me->rank->error);
        tutti_work_release(me->work);
    }
    if (status != TUTTI_OK) return complain(me, message, status);
    return is_right && areas_are(me, 1) ? PASSED : complain(me, me->complaint, TUTTI_OK);
}

static void try_cells(rank_context* rank) {
    const trial* const of = (const trial*)rank->user;
    attempt me;
    memset(&me, 0, sizeof me);
    me.rank = rank;
    me.lacks = of->chosen->lacks;
    void* shared = NULL;
    if (of->chosen->memory != OWN) {
        RANK_OK(rank, tutti_memory_alloc(rank->group, arena_bytes, NULL, &shared, &rank->error));
    }
    const int is_own = of->chosen->memory == OWN || (of->chosen->memory == MIXED && rank->rank % 2);
    me.room = arena_bytes;
    me.arena = (char*)(is_own ? malloc(me.room) : shared);
    RANK_EXPECT(rank, me.arena != NULL);
    tutti_call_options_init(&me.options, sizeof me.options);
    if (of->chosen->is_on_device) device_begin(&me);
    for (size_t i = of->begin; i < of->end && !rank->failed; ++i) {
        me.cell = &of->cells->cells[i];
        if (of->chosen->is_on_device && of->what->has_data) device_choose_stream(&me, i);
        const verdict how = try_cell(&me, of->chosen, of->what);
        of->verdicts[rank->rank][i] = (unsigned char)how;
        if (how == FAILED) rank->failed = 1; /* the others are told by the end of the group */
    }
    if (of->chosen->is_on_device) device_end(&me);
    if (is_own) free(me.arena);
    tutti_memory_release(shared);
}

/* The second rank is not in the group of the others, whose ranks are not their numbers then. */
static void try_cells_in_part(rank_context* rank) {
    int32_t members[MOST_RANKS];
    const int32_t own = rank->rank, outsider = 1;
    tutti_group *const whole = rank->group, *part = NULL;
    for (int32_t member = 0; member < rank->size - 1; ++member) {
        members[member] = member < outsider ? member : member + 1;
    }
    RANK_OK(rank, tutti_new_group(whole, members, (size_t)rank->size - 1, NULL, "part", NULL, &part,
                                  &rank->error));
    if (part != TUTTI_GROUP_NON_MEMBER) {
        rank->group = part;
        rank->rank = tutti_get_rank(part);
        try_cells(rank);
        rank->group = whole;
        rank->rank = own;
    }
    tutti_group_release(part);
}

/* Failed if any rank failed, passed or refused if all did. */
static verdict of_all_ranks(const trial* of, size_t i) {
    verdict how = (verdict)of->verdicts[0][i];
    for (int32_t rank = 1; rank < of->ranks; ++rank) {
        const verdict its = (verdict)of->verdicts[rank][i];
        if (its == FAILED || how == FAILED) {
            how = FAILED;
        } else if (its != how) {
            how = its == NOT_TRIED || how == NOT_TRIED ? NOT_TRIED : FAILED;
        }
    }
    return how;
}

static int is_right(const trial* of, size_t i) {
    const verdict how = of_all_ranks(of, i);
    return how == PASSED || how == REFUSED;
}

/* All processes then know the findings of each. */
static void share_findings(trial* of) {
    const size_t count = of->cells->count;
    unsigned char* const all = (unsigned char*)malloc((size_t)of->ranks * count);
    if (all == NULL) abort();
    memcpy(all + (size_t)process_rank() * count, of->verdicts[process_rank()], count);
    processes_share(all, count);
    for (int32_t rank = 0; rank < of->ranks; ++rank) {
        memcpy(of->verdicts[rank], all + (size_t)rank * count, count);
    }
    free(all);
    processes_share(of->complaints, sizeof of->complaints[0]);
}

static int run_trial(trial* of) {
    const char* const backend = of->chosen->backend;
    if (of->chosen->is_of_processes) {
        const int failed = run_ranks_of_processes(backend, try_cells, of);
        share_findings(of);
        return failed;
    }
    return of->chosen->is_part ? run_ranks(backend, of->ranks + 1, try_cells_in_part, of)
                               : run_ranks(backend, of->ranks, try_cells, of);
}

/* One group tries the cells from `begin`, and ends with the first that fails. Returns the first
 * that did not go well on all ranks, or `end`. */
static size_t try_in_one_group(trial* of, size_t begin, size_t end) {
    of->begin = begin;
    of->end = end;
    for (int32_t rank = 0; rank < of->ranks; ++rank) {
        memset(of->verdicts[rank] + begin, NOT_TRIED, of->cells->count - begin);
        memset(&of->complaints[rank], 0, sizeof of->complaints[rank]);
    }
    const int failed = run_trial(of);
    while (begin < end && is_right(of, begin)) ++begin;
    if (begin == end && failed > 0)
        of->verdicts[0][--begin] = FAILED; /* the end of the group did */
    int is_late = 0;
    for (int32_t rank = 0; rank < of->ranks; ++rank) {
        is_late |= of->complaints[rank].status == TUTTI_ERR_TIMEOUT;
    }
    timeouts += is_late;
    return begin;
}

static void print_complaints(const trial* of, const char* where) {
    static int lines;
    if (of->chosen->is_of_processes && process_rank() > 0) return;
    for (int32_t rank = 0; rank < of->ranks; ++rank) {
        if (of->complaints[rank].text[0] == '\0') continue;
        ++lines;
        if (lines <= MOST_LINES) fprintf(stderr, "%s%s\n", of->complaints[rank].text, where);
        if (lines == MOST_LINES) fprintf(stderr, "what else fails is in the table only\n");
    }
}

/* Reports of cells behind one that failed may be that one's doing, and so may be what a rank
 * says that was still in one before it: each is tried in a group of its own. */
static void try_in_own_groups(trial* of, size_t wrong) {
    const trial together = *of;
    int is_blamed = 0;
    for (size_t i = wrong; i < of->cells->count; ++i) {
        const int is_fine = timeouts < MOST_TIMEOUTS && try_in_one_group(of, i, i + 1) > i;
        if (is_fine) continue;
        is_blamed = 1;
        print_complaints(of, "");
        if (timeouts >= MOST_TIMEOUTS || of_all_ranks(of, i) == NOT_TRIED)
            return; /* as is the rest */
    }
    if (is_blamed) return;
    of->verdicts[0][wrong] = FAILED;
    print_complaints(&together, " (only behind the cells before it)");
}

static void try_collective(const settings* chosen, const collective* what, int32_t ranks) {
    const plan cells =
        chosen->is_full ? every_cell(what, ranks) : pairs_of_values(what, ranks, chosen->seed);
    trial shared;
    memset(&shared, 0, sizeof shared);
    shared.chosen = chosen;
    shared.what = what;
    shared.cells = &cells;
    shared.ranks = ranks;
    for (int32_t rank = 0; rank < ranks; ++rank) {
        shared.verdicts[rank] = (unsigned char*)calloc(cells.count, 1);
        if (shared.verdicts[rank] == NULL) abort();
    }
    if (timeouts < MOST_TIMEOUTS) {
        const size_t wrong = try_in_one_group(&shared, 0, cells.count);
        if (wrong < cells.count) try_in_own_groups(&shared, wrong);
    }
    for (size_t i = 0; i < cells.count; ++i) {
        report_cell(what, &cells.cells[i], of_all_ranks(&shared, i));
    }
    for (int32_t rank = 0; rank < ranks; ++rank) free(shared.verdicts[rank]);
    free(cells.cells);
}

/* With many processes the first one prints. */
static void meet(settings* chosen) {
    processes_begin();
    chosen->fewest = chosen->most = process_ranks();
    chosen->seed = processes_agree(chosen->seed);
    if (chosen->most > MOST_RANKS) {
        fprintf(stderr, "tutti-conformance: there are %d ranks, and at most %d are tried\n",
                (int)chosen->most, MOST_RANKS);
        exit(2);
    }
    if (process_rank() > 0 && freopen("/dev/null", "w", stdout) == NULL) exit(2);
}

int main(int argc, char** argv) {
    settings chosen = read_arguments(argc, argv);
    bools_are_bits = is_listed(chosen.lacks, "byte_bools");
    sums_are_rough = is_listed(chosen.lacks, "single_rounding");
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (chosen.is_on_device && !device_is_here()) return 77;
    if (chosen.is_of_processes) meet(&chosen);
    if (chosen.store != NULL) {
        const int faults = try_store(chosen.store, chosen.most, chosen.is_of_processes);
        if (chosen.is_of_processes) processes_end();
        return faults == 0 ? 0 : 1;
    }
    printf("%s of the matrix over %s%s, seed %llu\n", chosen.is_full ? "the whole" : "pairs",
           chosen.backend, chosen.is_part ? ", in a part of a group" : "",
           (unsigned long long)chosen.seed);
    for (int i = 0; i < collective_count; ++i) {
        if (chosen.only != NULL && strcmp(chosen.only, collectives[i].name) != 0) continue;
        for (int32_t ranks = chosen.fewest; ranks <= chosen.most; ++ranks) {
            try_collective(&chosen, &collectives[i], ranks);
        }
    }
    const size_t wrong = report_all(chosen.backend);
    if (chosen.is_of_processes) processes_end();
    return wrong == 0 ? 0 : 1;
}
