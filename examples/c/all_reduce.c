/* Every rank gives one number, every rank gets the sum. Start it with
 *     tuttirun --nproc-per-node 4 ./all_reduce */
#include <stdio.h>
#include <tutti/tutti.h>

static int fail(const tutti_error* error) {
    fprintf(stderr, "%s: %s\n", tutti_status_name(error->status), error->message);
    return 1;
}

int main(void) {
    tutti_error error = TUTTI_ERROR_INIT;
    if (tutti_init_process_group(NULL, "env://", NULL, -1, -1, NULL, &error)) return fail(&error);
    int rank = tutti_get_rank(TUTTI_GROUP_WORLD);
    int size = tutti_get_world_size(TUTTI_GROUP_WORLD);

    double sum = rank + 1;
    tutti_buffer buffer = TUTTI_BUFFER_INIT(&sum, 1, TUTTI_FLOAT64);
    if (tutti_all_reduce(TUTTI_GROUP_WORLD, NULL, &buffer, TUTTI_SUM, NULL, NULL, &error))
        return fail(&error);
    printf("rank %d of %d: sum = %g\n", rank, size, sum);

    if (tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error)) return fail(&error);
    return 0;
}
