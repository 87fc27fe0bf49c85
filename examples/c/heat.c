/* Heat spreads along a rod. Every rank has a part of the rod; the temperatures at the ends of a
 * part travel to the neighbours while the rank computes what lies between. Start it with
 *     tuttirun --nproc-per-node 4 heat
 * Any number of ranks prints the same. */
#include <stdio.h>
#include <stdlib.h>
#include <tutti/tutti.h>

enum { cells = 200, steps = 2000, to_left = 0, to_right = 1 };

/* A part of the rod: count cells, and one cell of each neighbour before and after them. */
typedef struct part {
    int count;
    double* now;
    double* next;
} part;

static void fail(const tutti_error* error) {
    fprintf(stderr, "%s: %s\n", tutti_status_name(error->status), error->message);
    exit(1);
}

static double spread(const double* now, int i) {
    return now[i] + 0.25 * (now[i - 1] - 2 * now[i] + now[i + 1]);
}

/* Sends the cell at `ours` to a neighbour, and takes the neighbour's into `theirs`. */
static int exchange(int neighbour, double* ours, double* theirs, int tag, tutti_work** works) {
    tutti_error error = TUTTI_ERROR_INIT;
    tutti_buffer out = TUTTI_BUFFER_INIT(ours, 1, TUTTI_FLOAT64);
    tutti_buffer in = TUTTI_BUFFER_INIT(theirs, 1, TUTTI_FLOAT64);
    if (neighbour < 0 || neighbour >= tutti_get_world_size(TUTTI_GROUP_WORLD)) {
        *theirs = *ours; /* the end of the rod keeps its heat */
        return 0;
    }
    if (tutti_send(TUTTI_GROUP_WORLD, &out, neighbour, tag, NULL, &works[0], &error)) fail(&error);
    if (tutti_recv(TUTTI_GROUP_WORLD, &in, neighbour, !tag, NULL, NULL, &works[1], &error))
        fail(&error);
    return 2;
}

static void step(part* rod) {
    tutti_error error = TUTTI_ERROR_INIT;
    tutti_work* works[4];
    int rank = tutti_get_rank(TUTTI_GROUP_WORLD), last = rod->count, started = 0, i;

    started += exchange(rank - 1, &rod->now[1], &rod->now[0], to_left, works);
    started += exchange(rank + 1, &rod->now[last], &rod->now[last + 1], to_right, works + started);
    for (i = 2; i < last; i++) rod->next[i] = spread(rod->now, i);

    if (tutti_work_wait_all(works, (size_t)started, 0, &error)) fail(&error);
    for (i = 0; i < started; i++) tutti_work_release(works[i]);
    rod->next[1] = spread(rod->now, 1);
    rod->next[last] = spread(rod->now, last);

    double* const old = rod->now;
    rod->now = rod->next;
    rod->next = old;
}

int main(void) {
    tutti_error error = TUTTI_ERROR_INIT;
    if (tutti_init_process_group(NULL, "env://", NULL, -1, -1, NULL, &error)) fail(&error);
    int rank = tutti_get_rank(TUTTI_GROUP_WORLD);
    int size = tutti_get_world_size(TUTTI_GROUP_WORLD);

    int first = cells * rank / size, i, n;
    part rod = {cells * (rank + 1) / size - first, NULL, NULL};
    rod.now = calloc((size_t)rod.count + 2, sizeof(double));
    rod.next = calloc((size_t)rod.count + 2, sizeof(double));
    if (rod.now == NULL || rod.next == NULL || rod.count < 2) return 1;
    for (i = 0; i < rod.count; i++) rod.now[i + 1] = first + i < cells / 10 ? 100 : 0;

    for (n = 1; n <= steps; n++) {
        step(&rod);
        if (n % (steps / 4) != 0) continue;
        double warmest = 0;
        tutti_buffer buffer = TUTTI_BUFFER_INIT(&warmest, 1, TUTTI_FLOAT64);
        for (i = 1; i <= rod.count; i++)
            if (first + i > cells / 2 && rod.now[i] > warmest) warmest = rod.now[i];
        if (tutti_all_reduce(TUTTI_GROUP_WORLD, NULL, &buffer, TUTTI_MAX, NULL, NULL, &error))
            fail(&error);
        if (rank == 0) printf("step %4d: warmest cell of the far half %.12e\n", n, warmest);
    }

    free(rod.now);
    free(rod.next);
    if (tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error)) fail(&error);
    return 0;
}
