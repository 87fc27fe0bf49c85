/* A reducer beside bare all_reduces: a pass over gradients in four buckets, computed where they lie
 * or copied in, and as many all_reduces of the same size, in memory that the ranks share, which are
 * issued together and then waited for. The ways alternate; the slowest rank's time counts. Also
 * what a mark costs that does not complete its bucket. Under tuttirun:
 *     tuttirun --nproc-per-node 4 tutti_reducer_peer [--mebibytes N] [--rounds N] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/tutti.h>

#include "support/timing.h"

enum { BUCKETS = 4, WAYS = 3, MOST_ROUNDS = 1000, MARKS = 20000 };
static const char* const way_names[WAYS] = {"four all_reduces", "reducer, in place",
                                            "reducer, copied"};

typedef struct {
    int64_t count; /* elements of a bucket */
    int rounds;
    tutti_reducer* reducer;
    tutti_buffer bare[BUCKETS], own[BUCKETS];
    double took[WAYS][MOST_ROUNDS];
} bench;

static double now_ms(void) {
    return now_us() / 1e3;
}

static void check(tutti_status status, const tutti_error* error) {
    if (status == TUTTI_OK) return;
    fprintf(stderr, "%s: %s\n", tutti_status_name(status), error->message);
    exit(1);
}

static void* need(void* memory) {
    if (memory != NULL) return memory;
    perror("tutti_reducer_peer");
    exit(1);
}

static void make_reducer(tutti_reducer** out, tutti_buffer* parameters, int64_t count,
                         int64_t cap) {
    tutti_reducer_options options = TUTTI_REDUCER_OPTIONS_INIT;
    tutti_error error = TUTTI_ERROR_INIT;
    options.bucket_cap_bytes = cap;
    options.first_bucket_cap_bytes = cap;
    options.no_initial_broadcast = 1;
    check(tutti_reducer_create(TUTTI_GROUP_WORLD, parameters, NULL, NULL, count, &options, out,
                               &error),
          &error);
}

static void prepare(bench* run) {
    const int64_t size = run->count * (int64_t)sizeof(float);
    tutti_error error = TUTTI_ERROR_INIT;
    for (int i = 0; i < BUCKETS; ++i) {
        void* memory = NULL;
        check(tutti_memory_alloc(TUTTI_GROUP_WORLD, size, NULL, &memory, &error), &error);
        const tutti_buffer bare = TUTTI_BUFFER_INIT(memory, run->count, TUTTI_FLOAT32);
        const tutti_buffer own =
            TUTTI_BUFFER_INIT(need(calloc(1, (size_t)size)), run->count, TUTTI_FLOAT32);
        run->bare[i] = bare;
        run->own[i] = own;
    }
    make_reducer(&run->reducer, run->own, BUCKETS, size);
}

static void all_reduce(const bench* run) {
    tutti_work* works[BUCKETS];
    tutti_error error = TUTTI_ERROR_INIT;
    for (int i = 0; i < BUCKETS; ++i) {
        check(tutti_all_reduce(TUTTI_GROUP_WORLD, NULL, &run->bare[i], TUTTI_AVG, NULL, &works[i],
                               &error),
              &error);
    }
    check(tutti_work_wait_all(works, BUCKETS, 0, &error), &error);
    for (int i = 0; i < BUCKETS; ++i) tutti_work_release(works[i]);
}

static void run_pass(const bench* run, int is_own) {
    tutti_error error = TUTTI_ERROR_INIT;
    check(tutti_reducer_begin(run->reducer, 1, &error), &error);
    for (int i = BUCKETS - 1; i >= 0; --i) {
        check(tutti_reducer_mark_ready(run->reducer, i, is_own ? &run->own[i] : NULL, &error),
              &error);
    }
    check(tutti_reducer_finish(run->reducer, NULL, &error), &error);
}

static void measure(bench* run) {
    tutti_error error = TUTTI_ERROR_INIT;
    for (int round = -2; round < run->rounds; ++round) { /* two that warm up */
        for (int way = 0; way < WAYS; ++way) {
            check(tutti_barrier(TUTTI_GROUP_WORLD, NULL, NULL, &error), &error);
            const double began = now_ms();
            if (way == 0) {
                all_reduce(run);
            } else {
                run_pass(run, way == 2);
            }
            double took = now_ms() - began;
            const tutti_buffer slowest = TUTTI_BUFFER_INIT(&took, 1, TUTTI_FLOAT64);
            check(
                tutti_all_reduce(TUTTI_GROUP_WORLD, NULL, &slowest, TUTTI_MAX, NULL, NULL, &error),
                &error);
            if (round >= 0) run->took[way][round] = took;
        }
    }
}

/* For all parameters but the last one, which would complete the bucket. */
static double mark_ns(void) {
    static float values[MARKS];
    tutti_buffer* const parameters = (tutti_buffer*)need(calloc(MARKS, sizeof *parameters));
    tutti_reducer* reducer = NULL;
    tutti_error error = TUTTI_ERROR_INIT;
    for (int i = 0; i < MARKS; ++i) {
        const tutti_buffer one = TUTTI_BUFFER_INIT(&values[i], 1, TUTTI_FLOAT32);
        parameters[i] = one;
    }
    make_reducer(&reducer, parameters, MARKS, INT32_MAX);
    free(parameters);
    double took = 0;
    for (int pass = 0; pass < 3; ++pass) { /* the last one counts */
        check(tutti_reducer_begin(reducer, 1, &error), &error);
        const double began = now_ms();
        for (int i = 1; i < MARKS; ++i) {
            check(tutti_reducer_mark_ready(reducer, i, NULL, &error), &error);
        }
        took = now_ms() - began;
        check(tutti_reducer_mark_ready(reducer, 0, NULL, &error), &error);
        check(tutti_reducer_finish(reducer, NULL, &error), &error);
    }
    tutti_reducer_release(reducer);
    return took * 1e6 / (MARKS - 1);
}

/* A ratio is the median of the rounds' ratios. */
static void report(bench* run) {
    double ratios[WAYS][MOST_ROUNDS];
    for (int way = 0; way < WAYS; ++way) {
        for (int i = 0; i < run->rounds; ++i) ratios[way][i] = run->took[way][i] / run->took[0][i];
    }
    printf("%d ranks, %d buckets of %.1f MiB, %d rounds\n",
           (int)tutti_get_world_size(TUTTI_GROUP_WORLD), BUCKETS,
           (double)run->count * sizeof(float) / (1 << 20), run->rounds);
    for (int way = 0; way < WAYS; ++way) {
        printf("%-18s %8.2f ms  %.3f\n", way_names[way], median(run->took[way], run->rounds),
               median(ratios[way], run->rounds));
    }
}

int main(int count, char** arguments) {
    static bench run;
    tutti_error error = TUTTI_ERROR_INIT;
    double mebibytes = 25;
    run.rounds = 21;
    for (int i = 1; i + 1 < count; i += 2) {
        if (strcmp(arguments[i], "--mebibytes") == 0) mebibytes = atof(arguments[i + 1]);
        if (strcmp(arguments[i], "--rounds") == 0) run.rounds = atoi(arguments[i + 1]);
    }
    run.count = (int64_t)(mebibytes * (1 << 20) / sizeof(float));
    if (run.count < 1 || run.rounds < 1 || run.rounds > MOST_ROUNDS) {
        fprintf(stderr, "usage: tutti_reducer_peer [--mebibytes N] [--rounds N]\n");
        return 2;
    }
    check(tutti_init_process_group(NULL, "env://", NULL, -1, -1, NULL, &error), &error);
    prepare(&run);
    measure(&run);
    const double mark = mark_ns();
    if (tutti_get_rank(TUTTI_GROUP_WORLD) == 0) {
        report(&run);
        printf("a mark that completes no bucket: %.0f ns\n", mark);
    }
    tutti_reducer_release(run.reducer);
    for (int i = 0; i < BUCKETS; ++i) {
        tutti_memory_release(run.bare[i].data);
        free(run.own[i].data);
    }
    check(tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error), &error);
    return 0;
}
