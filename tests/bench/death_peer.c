/* A rank that sums in a loop until that fails, and says then when it learnt of whom.
 *   tutti_death_peer [COUNT [BACKEND]]    the environment of env://; COUNT float32s
 * Prints "ready", and at the end "STATUS RANK NANOSECONDS", by CLOCK_MONOTONIC. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <tutti/tutti.h>

static tutti_error error = TUTTI_ERROR_INIT;

static int give_up(const char* what) {
    fprintf(stderr, "%s: %s\n", what, error.message);
    return 1;
}

int main(int argc, char** argv) {
    const char* const backend = argc > 2 ? argv[2] : NULL;
    const long count = argc > 1 ? strtol(argv[1], NULL, 10) : 4096;
    float* const values = calloc((size_t)count, sizeof *values);
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(values, count, TUTTI_FLOAT32);
    struct timespec now;
    if (values == NULL) return 1;
    if (tutti_init_process_group(backend, NULL, NULL, -1, -1, NULL, &error) != TUTTI_OK)
        return give_up("init");
    puts("ready");
    fflush(stdout);
    while (tutti_all_reduce(TUTTI_GROUP_WORLD, NULL, &buffer, TUTTI_MAX, NULL, NULL, &error) ==
           TUTTI_OK) {
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("%s %d %lld\n", tutti_status_name(error.status), (int)error.rank,
           (long long)now.tv_sec * 1000000000 + now.tv_nsec);
    free(values);
    tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error);
    return 0;
}
