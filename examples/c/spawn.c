/* One program that makes its own ranks: no launcher, started like any other.
 *     spawn [PROCESSES]
 * Each process sums a part of 4/(1 + x^2) over [0, 1]; together that is pi. */
#include <stdio.h>
#include <stdlib.h>
#include <tutti/tutti.h>

typedef struct job {
    int64_t steps;
} job;

/* Runs in every process; what it returns, with the error it fills, is what tutti_spawn returns. */
static tutti_status integrate(int32_t local_rank, void* user, tutti_error* error) {
    const job* shared = (const job*)user; /* a copy of the parent's */
    if (tutti_init_process_group(NULL, "env://", NULL, -1, -1, NULL, error)) return error->status;
    const int32_t size = tutti_get_world_size(TUTTI_GROUP_WORLD);

    double sum = 0;
    for (int64_t step = local_rank; step < shared->steps; step += size) {
        const double x = ((double)step + 0.5) / (double)shared->steps;
        sum += 4 / (1 + x * x) / (double)shared->steps;
    }
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&sum, 1, TUTTI_FLOAT64);
    if (tutti_all_reduce(TUTTI_GROUP_WORLD, NULL, &buffer, TUTTI_SUM, NULL, NULL, error)) {
        return error->status;
    }
    if (local_rank == 0) printf("%d processes: pi = %.6f\n", (int)size, sum);
    if (tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, error)) return error->status;
    return TUTTI_OK;
}

int main(int count, char** arguments) {
    tutti_error error = TUTTI_ERROR_INIT;
    job shared = {10000000};
    const int processes = count > 1 ? atoi(arguments[1]) : 4;
    if (tutti_spawn(integrate, &shared, processes, NULL, NULL, &error)) {
        fprintf(stderr, "%s: %s\n", tutti_status_name(error.status), error.message);
        return 1;
    }
    return 0;
}
