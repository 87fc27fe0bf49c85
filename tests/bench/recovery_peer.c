/* A rank that sums in a loop until that fails, and goes on with those that are left.
 *   tutti_recovery_peer BACKEND COUNT LEFT    the environment of env://; BACKEND may be "any";
 *                                             COUNT float32s; LEFT ranks are left in the end
 * Prints "RANK ready", "RANK lost NANOSECONDS" when a sum fails, and "RANK whole NANOSECONDS SIZE"
 * when the first one of the next group is right, by CLOCK_MONOTONIC. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tutti/tutti.h>

static tutti_error error = TUTTI_ERROR_INIT;
static float* numbers;
static int64_t count;

static int give_up(const char* what) {
    fprintf(stderr, "%s: %s: %s\n", getenv("RANK"), what, error.message);
    return 1;
}

static void tell(const char* what, int size) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("%s %s %lld %d\n", getenv("RANK"), what,
           (long long)now.tv_sec * 1000000000 + now.tv_nsec, size);
    fflush(stdout);
}

/* False also if the sum is wrong. */
static int sum(int32_t size) {
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(numbers, count, TUTTI_FLOAT32);
    for (int64_t index = 0; index < count; ++index) numbers[index] = 1;
    if (tutti_all_reduce(TUTTI_GROUP_WORLD, NULL, &buffer, TUTTI_SUM, NULL, NULL, &error)) return 0;
    for (int64_t index = 0; index < count; ++index) {
        if (numbers[index] == (float)size) continue;
        fprintf(stderr, "a sum is wrong\n");
        exit(1);
    }
    return 1;
}

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    const char* const backend = strcmp(argv[1], "any") == 0 ? NULL : argv[1];
    count = strtoll(argv[2], NULL, 10);
    const int left = atoi(argv[3]);
    numbers = calloc((size_t)count, sizeof *numbers);
    if (numbers == NULL) return 1;
    if (tutti_init_process_group(backend, NULL, NULL, -1, -1, NULL, &error)) return give_up("init");
    int32_t size = tutti_get_world_size(TUTTI_GROUP_WORLD);
    if (!sum(size)) return give_up("all_reduce");
    tell("ready", size);
    while (size > left) {
        while (sum(size)) {
        }
        tell("lost", size);
        if (tutti_shrink_group(TUTTI_GROUP_WORLD, NULL, 0, TUTTI_SHRINK_DEFAULT, NULL, NULL, NULL,
                               &error))
            return give_up("shrink_group");
        size = tutti_get_world_size(TUTTI_GROUP_WORLD);
        if (sum(size)) tell("whole", size);
    }
    if (tutti_barrier(TUTTI_GROUP_WORLD, NULL, NULL, &error)) return give_up("barrier");
    free(numbers);
    return tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error) ? give_up("destroy") : 0;
}
