/* One rank of the network tests: meet METHOD [COUNT [BACKEND]]. Makes the default group over
 * BACKEND (default tcp; "any": none named), sums COUNT numbers of every rank (default 1), and
 * prints "rank R of N over B: sum S, M ms", M being what the making took. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tutti/tutti.h>

static long long now_ms(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static int fail(const tutti_error* error, double* numbers) {
    printf("%s: %s\n", tutti_status_name(error->status), error->message);
    free(numbers);
    return 1;
}

int main(int argc, char** argv) {
    tutti_error error = TUTTI_ERROR_INIT;
    const int64_t count = argc > 2 ? strtoll(argv[2], NULL, 10) : 1;
    double* numbers = (double*)calloc((size_t)count, sizeof *numbers);
    if (argc < 2 || count < 1 || numbers == NULL) return 2;
    const char* backend = argc > 3 ? argv[3] : "tcp";
    if (strcmp(backend, "any") == 0) backend = NULL;
    const long long began = now_ms();
    if (tutti_init_process_group(backend, argv[1], NULL, -1, -1, NULL, &error)) {
        return fail(&error, numbers);
    }
    const long long took = now_ms() - began;
    const int rank = tutti_get_rank(TUTTI_GROUP_WORLD);
    for (int64_t index = 0; index < count; ++index) numbers[index] = rank + 1;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(numbers, count, TUTTI_FLOAT64);
    if (tutti_all_reduce(TUTTI_GROUP_WORLD, NULL, &buffer, TUTTI_SUM, NULL, NULL, &error)) {
        return fail(&error, numbers);
    }
    printf("rank %d of %d over %s: sum %g, %lld ms\n", rank,
           (int)tutti_get_world_size(TUTTI_GROUP_WORLD), tutti_get_backend(TUTTI_GROUP_WORLD),
           numbers[count - 1], took);
    free(numbers);
    if (tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error)) return fail(&error, NULL);
    return 0;
}
