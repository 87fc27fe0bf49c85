/* A replica in C of a job of DistributedDataParallel, for replica.py, which has the same module.
 * Public headers only.
 *   tutti_torch_replica_peer STORE RANK SIZE SEED ROLE PASSES EVERY FIND STATIC CAP BUFFERS DTYPES
 * STORE: the port of PyTorch's, or a file, if all ranks are in C.
 * ROLE: live; die (in the middle of pass 3); shape, count (has other parameters). EVERY: of so many
 * passes one is synchronised. CAP: bytes of a bucket, 0: PyTorch's. BUFFERS: 0: they are not sent,
 * 2: init_sync is False. DTYPES: numbers of tutti's, separated by commas, which the parameters have
 * in turn. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/torch/replica.h>

#include "replica_refusals.h"
#include "replica_values.h"
#include "support/draw.h"
#include "support/timing.h"

enum { PARAMETERS = 12, TENSORS = PARAMETERS + 4, UNUSED_BY_ALL = 4, MOST_RANKS = 8 };
static const int64_t shapes[TENSORS][2] = {{20, 35}, {6, 0}, {50, 100}, {33, 0}, {7, 9},  {0, 0},
                                           {30, 40}, {0, 5}, {8, 0},    {8, 8},  {64, 0}, {3, 3},
                                           {9, 0},   {5, 0}, {0, 0},    {7, 0}};
static const int32_t dimensions[TENSORS] = {2, 1, 2, 1, 2, 0, 2, 2, 1, 2, 1, 2, 1, 1, 0, 1};

static tutti_error error;
static tutti_torch_tensor tensors[TENSORS];
/* Gradients in memory of the program, of every other parameter; 1 if it was marked with them. */
static tutti_buffer own[PARAMETERS];
static int is_own[PARAMETERS];
static int32_t rank, size;
static uint64_t seed;
static int64_t passes, every;
static tutti_torch_replica_options options;

/* Ends the rank with a line for replica.py, if the call has failed. */
static void must(tutti_status status) {
    if (status == TUTTI_OK) return;
    printf("told %d %.6f %s %s\n", rank, now_s(), tutti_status_name(status), error.message);
    exit(0);
}

static void need(int is_right, const char* what, int64_t pass, int64_t which) {
    if (is_right) return;
    fprintf(stderr, "C rank %d: pass %d: %s %d is wrong\n", rank, (int)pass, what, (int)which);
    exit(3);
}

static double gradient_at(int32_t of, int64_t pass, int64_t parameter, int64_t at) {
    const uint64_t drawn =
        draw_at(seed, (uint64_t)(1000 + of * 100 + parameter), (uint64_t)pass, (uint64_t)at);
    return (double)(int64_t)(drawn >> 58) / 32 - 1;
}

static int uses(int32_t of, int64_t pass, int64_t parameter) {
    if (options.static_graph) return parameter != UNUSED_BY_ALL;
    if (!options.find_unused_parameters || parameter == pass % PARAMETERS) return 1;
    return (int)(draw_at(seed, (uint64_t)(2000 + of), (uint64_t)pass, (uint64_t)parameter) & 1);
}

static void fill(const tutti_buffer* of, double value) {
    for (int64_t at = 0; at < of->count; ++at) put(of, at, value);
}

static void check_filled(const tutti_buffer* of, double value, const char* what, int64_t pass,
                         int64_t which) {
    for (int64_t at = 0; at < of->count; ++at) need(get(of, at) == value, what, pass, which);
}

static void make_tensors(const char* dtypes) {
    tutti_dtype known[8];
    int count = 0;
    for (const char* at = dtypes; at != NULL; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        known[count++] = (tutti_dtype)atoi(at);
    }
    for (int i = 0; i < TENSORS; ++i) {
        tutti_torch_tensor* const tensor = &tensors[i];
        int64_t elements = 1;
        tensor->sizes = shapes[i];
        tensor->dimensions = dimensions[i];
        tensor->kind = i < PARAMETERS    ? TUTTI_TORCH_PARAMETER
                       : i == PARAMETERS ? TUTTI_TORCH_FROZEN
                                         : TUTTI_TORCH_BUFFER;
        for (int d = 0; d < dimensions[i]; ++d) elements *= shapes[i][d];
        const tutti_dtype dtype = i < PARAMETERS     ? known[i % count]
                                  : i == TENSORS - 2 ? TUTTI_INT64
                                                     : TUTTI_FLOAT32;
        const tutti_buffer values =
            TUTTI_BUFFER_INIT(calloc((size_t)elements + 1, 8), elements, dtype);
        tensor->values = values;
        fill(&tensor->values, rank + 1 + i);
        if (i >= PARAMETERS || i % 2 == 0) continue;
        own[i] = values;
        own[i].data = calloc((size_t)elements + 1, 8);
    }
}

/* The mean of what ranks have added in the passes since the last synchronised one. */
static double wanted(int64_t pass, int64_t parameter, int64_t at) {
    double sum = 0;
    for (int32_t of = 0; of < size; ++of) {
        for (int64_t one = pass - every + 1; one <= pass; ++one) {
            if (uses(of, one, parameter)) sum += gradient_at(of, one, parameter, at);
        }
    }
    return sum / size;
}

static int is_used(int64_t pass, int64_t parameter) {
    for (int32_t of = 0; of < size; ++of) {
        for (int64_t one = pass - every + 1; one <= pass; ++one) {
            if (uses(of, one, parameter)) return 1;
        }
    }
    return 0;
}

static tutti_buffer gradient_of(tutti_torch_replica* replica, int32_t parameter, int in_pass) {
    tutti_buffer place;
    must(tutti_torch_replica_gradient(replica, parameter, &place, &error));
    const int has_own = in_pass ? parameter % 2 : is_own[parameter];
    return has_own ? own[parameter] : place;
}

/* The gradients are the means, and have the same bits on all ranks. */
static void check_gradients(tutti_group* group, tutti_torch_replica* replica, int64_t pass) {
    int64_t sums[PARAMETERS] = {0}, all[MOST_RANKS][PARAMETERS];
    const tutti_buffer input = TUTTI_BUFFER_INIT(sums, PARAMETERS, TUTTI_INT64);
    tutti_buffer outputs[MOST_RANKS], reset;
    for (int32_t i = 0; i < PARAMETERS; ++i) {
        need(tutti_torch_replica_is_used(replica, i) == is_used(pass, i), "use of", pass, i);
        const tutti_buffer place = gradient_of(replica, i, 0);
        const double near = place.dtype == TUTTI_BFLOAT16  ? 0.02
                            : place.dtype == TUTTI_FLOAT16 ? 0.003
                                                           : 1e-6;
        if (is_used(pass, i)) {
            for (int64_t at = 0; at < place.count; ++at) {
                need(fabs(get(&place, at) - wanted(pass, i, at)) <= near, "gradient", pass, i);
            }
            sums[i] =
                crc32_of(place.data, (size_t)place.count * (size_t)tutti_dtype_size(place.dtype));
        }
        fill(&place, 0);
        must(tutti_torch_replica_gradient(replica, i, &reset, &error));
        fill(&reset, 0);
        is_own[i] = 0;
    }
    for (int32_t i = 0; i < size; ++i) {
        outputs[i] = input;
        outputs[i].data = all[i];
    }
    must(tutti_all_gather(group, &input, outputs, size, NULL, NULL, &error));
    for (int32_t i = 0; i < size; ++i)
        need(memcmp(all[i], sums, sizeof sums) == 0, "bits of rank", pass, i);
}

static void run_pass(tutti_group* group, tutti_torch_replica* replica, int64_t pass, int dies) {
    int64_t order[PARAMETERS];
    const int synchronise = (pass + 1) % every == 0;
    const int is_sent = !options.no_forward_sync_buffers && pass % every == 0;
    for (int i = PARAMETERS + 1; i < TENSORS; ++i)
        fill(&tensors[i].values, (double)(10 * pass + rank + 1));
    must(tutti_torch_replica_begin(replica, (uint32_t)synchronise, &error));
    for (int i = PARAMETERS + 1; i < TENSORS; ++i) {
        check_filled(&tensors[i].values, (double)(10 * pass + (is_sent ? 0 : rank) + 1), "buffer",
                     pass, i);
    }
    draw_order(seed, (uint64_t)(3000 + rank), (uint64_t)pass, PARAMETERS, order);
    for (int i = 0; i < PARAMETERS; ++i) {
        const int32_t one = (int32_t)order[i];
        if (!uses(rank, pass, one)) continue;
        if (dies && i == PARAMETERS / 2) {
            printf("died %d %.6f -\n", rank, now_s());
            fflush(stdout);
            raise(SIGKILL);
        }
        const tutti_buffer place = gradient_of(replica, one, 1);
        for (int64_t at = 0; at < place.count; ++at)
            put(&place, at, get(&place, at) + gradient_at(rank, pass, one, at));
        is_own[one] = one % 2;
        must(tutti_torch_replica_mark_ready(replica, one, is_own[one] ? &place : NULL, &error));
    }
    must(tutti_torch_replica_finish(replica, &error));
    if (synchronise) check_gradients(group, replica, pass);
}

static tutti_group* meet(const char* where) {
    tutti_store *whole = NULL, *part = NULL;
    tutti_group* group = NULL;
    if (where[0] == '/') {
        must(tutti_file_store_create(where, size, NULL, &whole, &error));
    } else {
        must(tutti_tcp_store_create("127.0.0.1", atoi(where), size, rank == 0, NULL, &whole,
                                    &error));
    }
    must(tutti_prefix_store_create(whole, "default_pg/0//cpu/", &part, &error));
    must(tutti_group_create(NULL, part, "world", rank, size, NULL, &group, &error));
    tutti_store_release(part);
    tutti_store_release(whole);
    return group;
}

int main(int argc, char** argv) {
    static const int64_t turned[2] = {35, 20};
    tutti_torch_replica* replica = NULL;
    if (argc != 13) return 2;
    tutti_error_init(&error, sizeof error);
    rank = atoi(argv[2]);
    size = atoi(argv[3]);
    seed = strtoull(argv[4], NULL, 10);
    passes = atoi(argv[6]);
    every = atoi(argv[7]);
    options.find_unused_parameters = (uint32_t)atoi(argv[8]);
    options.static_graph = (uint32_t)atoi(argv[9]);
    options.bucket_cap_mb = atof(argv[10]) / 1048576;
    options.no_forward_sync_buffers = options.no_init_sync_buffers = atoi(argv[11]) == 0;
    options.no_init_sync = atoi(argv[11]) == 2;
    make_tensors(argv[12]);
    tutti_group* const group = meet(argv[1]);
    check_refusals(group, &error);
    if (strcmp(argv[5], "shape") == 0) tensors[0].sizes = turned;
    const int32_t skipped = strcmp(argv[5], "count") == 0;
    must(tutti_torch_replica_create(group, tensors + skipped, TENSORS - skipped, &options, &replica,
                                    &error));
    for (int i = 0; i < (options.no_init_sync_buffers ? PARAMETERS + 1 : TENSORS); ++i) {
        check_filled(&tensors[i].values, (options.no_init_sync ? rank : 0) + 1 + i, "initial value",
                     -1, i);
    }
    for (int64_t pass = 0; pass < passes; ++pass) {
        run_pass(group, replica, pass, pass == 3 && strcmp(argv[5], "die") == 0);
    }
    printf("told %d %.6f TUTTI_OK\n", rank, now_s());
    tutti_torch_replica_release(replica);
    must(tutti_destroy_process_group(group, NULL, &error));
    tutti_group_release(group);
    for (int i = 0; i < TENSORS; ++i) free(tensors[i].values.data);
    for (int i = 0; i < PARAMETERS; ++i) free(own[i].data);
    return 0;
}
