/* Which cells there are; see conformance.h. */
#include <stdio.h>
#include <stdlib.h>

#include "conformance.h"

static void add(plan* to, cell one) {
    if (to->count == to->room) {
        to->room = to->room == 0 ? 1024 : 2 * to->room;
        to->cells = (cell*)realloc(to->cells, to->room * sizeof *to->cells);
        if (to->cells == NULL) abort();
    }
    to->cells[to->count++] = one;
}

static int dtypes_of(const collective* what) {
    return what->has_data ? DTYPES : 1;
}

static int ops_of(const collective* what) {
    return what->has_op ? MATRIX_OPS : 1;
}

static int roots_of(const collective* what, int32_t ranks) {
    return what->has_root ? ranks : 1;
}

static int sizes_of(const collective* what) {
    return what->has_data ? piece_sizes : 1;
}

/* The n-th cell of the product of everything but place. */
static cell cell_at(const collective* what, int32_t ranks, int size, int root, int dtype, int op) {
    const cell made = {ranks,
                       what->has_root ? root : -1,
                       (tutti_dtype)dtype,
                       what->has_op ? op : -1,
                       what->has_data ? piece_bytes[size] : 0,
                       OUT_OF_PLACE,
                       0,
                       0};
    return made;
}

static void add_ways(plan* to, const collective* what, cell one) {
    for (int where = 0; where < PLACES; ++where) {
        if ((what->places >> where & 1) == 0) continue;
        for (one.async = 0; one.async < 2; ++one.async) {
            one.where = (place)where;
            add(to, one);
        }
    }
}

plan every_cell(const collective* what, int32_t ranks) {
    plan made = {NULL, 0, 0};
    for (int size = 0; size < sizes_of(what); ++size) {
        for (int root = 0; root < roots_of(what, ranks); ++root) {
            for (int dtype = 0; dtype < dtypes_of(what); ++dtype) {
                for (int op = 0; op < ops_of(what); ++op) {
                    add_ways(&made, what, cell_at(what, ranks, size, root, dtype, op));
                }
            }
        }
    }
    return made;
}

/* The parameters of which every pair of values is wanted. */
enum { SIZE, ROOT, PLACE, ASYNC, PARAMETERS, MOST_VALUES = 8 };

typedef struct pairs {
    int values[PARAMETERS]; /* how many each has */
    int place[PLACES];
    char met[PARAMETERS][PARAMETERS][MOST_VALUES][MOST_VALUES];
    int missing;
} pairs;

static pairs pairs_for(const collective* what, int32_t ranks) {
    pairs made = {{sizes_of(what), roots_of(what, ranks), 0, 2}, {0}, {{{{0}}}}, 0};
    for (int where = 0; where < PLACES; ++where) {
        if (what->places >> where & 1) made.place[made.values[PLACE]++] = where;
    }
    for (int a = 0; a < PARAMETERS; ++a) {
        for (int b = a + 1; b < PARAMETERS; ++b) made.missing += made.values[a] * made.values[b];
    }
    return made;
}

/* How many pairs a choice would meet for the first time; meets them if told to. */
static int new_pairs(pairs* of, const int* choice, int meet) {
    int found = 0;
    for (int a = 0; a < PARAMETERS; ++a) {
        for (int b = a + 1; b < PARAMETERS; ++b) {
            char* const met = &of->met[a][b][choice[a]][choice[b]];
            found += *met == 0;
            if (meet) *met = 1;
        }
    }
    return found;
}

static uint64_t next_random(uint64_t* state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static int is_allowed(const collective* what, int dtype, int op) {
    return !what->has_op || is_op_of((tutti_dtype)dtype, op);
}

/* The best of some random choices, until no pair is missing. */
static void add_pairs(plan* to, const collective* what, int32_t ranks, uint64_t* seed) {
    pairs wanted = pairs_for(what, ranks);
    while (wanted.missing > 0) {
        int best[PARAMETERS] = {0}, most = 0, dtype, op;
        while (most == 0) {
            for (int tries = 0; tries < 50; ++tries) {
                int choice[PARAMETERS];
                for (int i = 0; i < PARAMETERS; ++i) {
                    choice[i] = (int)(next_random(seed) % (uint64_t)wanted.values[i]);
                }
                const int found = new_pairs(&wanted, choice, 0);
                if (found <= most) continue;
                most = found;
                for (int i = 0; i < PARAMETERS; ++i) best[i] = choice[i];
            }
        }
        wanted.missing -= new_pairs(&wanted, best, 1);
        do {
            dtype = (int)(next_random(seed) % (uint64_t)dtypes_of(what));
            op = (int)(next_random(seed) % (uint64_t)ops_of(what));
        } while (!is_allowed(what, dtype, op));
        cell one = cell_at(what, ranks, best[SIZE], best[ROOT], dtype, op);
        one.where = (place)wanted.place[best[PLACE]];
        one.async = best[ASYNC];
        add(to, one);
    }
}

plan pairs_of_values(const collective* what, int32_t ranks, uint64_t seed) {
    const int odd_size = 2;
    plan made = {NULL, 0, 0};
    seed ^= (uint64_t)ranks * 0x9E3779B97F4A7C15u;
    for (int dtype = 0; dtype < dtypes_of(what); ++dtype) {
        for (int op = 0; op < ops_of(what); ++op) {
            const int root = (int)(next_random(&seed) % (uint64_t)ranks);
            cell one = cell_at(what, ranks, odd_size, root, dtype, op);
            while ((what->places >> one.where & 1) == 0) one.where = (place)(one.where + 1);
            add(&made, one);
        }
    }
    add_pairs(&made, what, ranks, &seed);
    return made;
}

const char* cell_text(const collective* what, const cell* which, char* text, size_t size) {
    static const char* const places[PLACES] = {"out of place", "in place", "same memory"};
    char root[32] = "";
    if (what->has_root) (void)snprintf(root, sizeof root, ", root %d", (int)which->root);
    (void)snprintf(text, size, "%s of %d ranks, %s%s%s, %lld bytes%s, %s, %s", what->name,
                   (int)which->ranks, dtype_text(which->dtype), what->has_op ? " " : "",
                   what->has_op ? op_text(which->op) : "", (long long)which->bytes, root,
                   places[which->where], which->async ? "async" : "sync");
    return text;
}
