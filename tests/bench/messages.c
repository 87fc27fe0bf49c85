/* Which messages a rank exchanges with its neighbours. */
#include "messages.h"

#include <stdlib.h>

static message made[2][MOST_MESSAGES];
static int count, current;

int neighbours_of(const cell* of) {
    if (of->op->kind == HALO2D) return 4;
    if (of->op->kind != EXCHANGE) return 1;
    return of->value == NULL ? 2 : of->value[0] - '0';
}

int messages_each(const cell* of) {
    return of->op->kind != EXCHANGE || of->value == NULL ? 1 : of->value[2] - '0';
}

static int in_ring(int rank, int step, int ranks) {
    return ((rank + step) % ranks + ranks) % ranks;
}

static int in_grid(int rank, int ranks, int direction) {
    int rows, columns;
    ranks_in_grid(ranks, &rows, &columns);
    int row = rank / columns, column = rank % columns;
    if (direction == UP || direction == DOWN)
        row = in_ring(row, direction == UP ? -1 : 1, rows);
    else
        column = in_ring(column, direction == LEFT ? -1 : 1, columns);
    return row * columns + column;
}

int neighbour(const cell* of, int rank, int ranks, int number) {
    static const int steps[MOST_NEIGHBOURS] = {1, -1, 2, -2};
    if (of->op->kind == EXCHANGE_CALL) return rank ^ 1;
    if (of->op->kind == HALO2D) return in_grid(rank, ranks, number);
    return in_ring(rank, steps[number], ranks);
}

int opposite_of(const cell* of, int number) {
    return of->op->kind == EXCHANGE_CALL ? number : number ^ 1;
}

/* Message `i` of those to or from a neighbour. */
static void* place(const cell* of, int phase, int number, int i, int sends) {
    if (of->op->kind == HALO2D) return halo_edge(of, phase, number, !sends);
    const int64_t before = (number * messages_each(of) + i) * of->count;
    return (char*)(sends ? of->input : of->output) + (size_t)before * element_of(of)->size;
}

static void make_phase(const cell* of, int phase, int rank, int ranks) {
    const int each = messages_each(of);
    count = 0;
    for (int number = 0; number < neighbours_of(of); ++number)
        for (int i = 0; i < 2 * each; ++i) {
            const int sends = i >= each;
            const int from = sends ? number : opposite_of(of, number);
            message* const one = &made[phase][count++];
            one->sends = sends;
            one->other = neighbour(of, rank, ranks, number);
            one->tag = from * each + i % each;
            one->data = place(of, phase, number, i % each, sends);
            one->count = of->op->kind == HALO2D ? of->piece : of->count;
        }
}

void make_messages(const cell* of, int rank, int ranks) {
    count = current = 0;
    if (!has_messages(of)) return;
    for (int phase = 0; phase < 2; ++phase) make_phase(of, phase, rank, ranks);
}

int message_count(void) {
    return count;
}

const message* messages_of_phase(int phase) {
    return made[phase];
}

int message_phase(void) {
    return current;
}

void next_phase(void) {
    current = 1 - current;
}
