/* How fast collectives of buffers on a CUDA device are: device_bench, started by tuttirun. Prints
 * `library,op,ranks,bytes,median_us,GBps` for each, as torch_bench.py does for PyTorch. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/tutti.h>

#include "support/cuda.h"
#include "support/timing.h"

enum { MOST_ITERATIONS = 200, FEWEST_ITERATIONS = 10, WARM_UP = 3 };

static tutti_error error = TUTTI_ERROR_INIT;

static void ok(tutti_status status) {
    if (status == TUTTI_OK) return;
    fprintf(stderr, "device_bench: %s\n", error.message);
    exit(1);
}

typedef struct setting {
    tutti_buffer part, whole; /* a rank's, and what all ranks have together */
    int32_t ranks;
} setting;

static void all_reduce(const setting* with) {
    ok(tutti_all_reduce(TUTTI_GROUP_WORLD, NULL, &with->part, TUTTI_SUM, NULL, NULL, &error));
}

static void broadcast(const setting* with) {
    ok(tutti_broadcast(TUTTI_GROUP_WORLD, &with->part, 0, NULL, NULL, &error));
}

static void all_gather(const setting* with) {
    ok(tutti_all_gather_into_tensor(TUTTI_GROUP_WORLD, &with->part, &with->whole, NULL, NULL,
                                    &error));
}

static const struct {
    const char* name;
    void (*call)(const setting* with);
} operations[] = {{"all_reduce", all_reduce}, {"broadcast", broadcast}, {"all_gather", all_gather}};

static void measure(int op, const setting* with) {
    static double took[MOST_ITERATIONS];
    const int64_t bytes = with->part.count * 4;
    const int64_t fitting = (int64_t)(1 << 28) / (bytes + 1);
    const int iterations = fitting > MOST_ITERATIONS     ? MOST_ITERATIONS
                           : fitting < FEWEST_ITERATIONS ? FEWEST_ITERATIONS
                                                         : (int)fitting;
    for (int i = -WARM_UP; i < iterations; ++i) {
        ok(tutti_barrier(TUTTI_GROUP_WORLD, NULL, NULL, &error));
        const double begin = now_us();
        operations[op].call(with);
        if (i >= 0) took[i] = now_us() - begin;
    }
    const double middle = median(took, iterations);
    if (tutti_get_rank(TUTTI_GROUP_WORLD) == 0) {
        printf("tutti-%s,%s,%d,%lld,%.1f,%.3f\n", tutti_get_backend(TUTTI_GROUP_WORLD),
               operations[op].name, (int)with->ranks, (long long)bytes, middle,
               (double)bytes / middle / 1e3);
    }
}

int main(int argc, char** argv) {
    char why[300];
    if (cuda_devices(why, sizeof why) == 0) {
        printf("skipped: %s\n", why);
        return 77;
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    ok(tutti_init_process_group(argc > 1 ? argv[1] : NULL, NULL, NULL, -1, -1, NULL, &error));
    const int32_t rank = tutti_get_rank(TUTTI_GROUP_WORLD);
    setting with;
    memset(&with, 0, sizeof with);
    with.ranks = tutti_get_world_size(TUTTI_GROUP_WORLD);
    const int32_t device = rank % cuda_devices(why, sizeof why);
    const int64_t most = (int64_t)64 << 20;
    cuda_use(device);
    tutti_buffer all =
        TUTTI_BUFFER_INIT(cuda_alloc((size_t)(most * (with.ranks + 1))), 0, TUTTI_FLOAT32);
    all.device_type = TUTTI_CUDA;
    all.device_index = device;
    cuda_fill(all.data, 0, (size_t)(most * (with.ranks + 1)), NULL);
    cuda_wait(NULL);
    for (int op = 0; op < (int)(sizeof operations / sizeof *operations); ++op) {
        for (int64_t bytes = 1024; bytes <= most; bytes *= 8) {
            with.part = with.whole = all;
            with.part.count = bytes / 4;
            with.whole.count = with.part.count * with.ranks;
            with.whole.data = (char*)all.data + most;
            measure(op, &with);
        }
    }
    cuda_free(all.data);
    ok(tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error));
    return 0;
}
