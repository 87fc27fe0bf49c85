/* The results of tutti's reducer for models and gradients that a seed determines, for reducer.py,
 * which has PyTorch make the same. Writes into FOLDER a file for each case and rank, and the
 * buckets of random models. Under tuttirun: tuttirun --nproc-per-node 3 tutti_reducer_interop_peer
 * FOLDER SEED BACKEND */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/tutti.h>

#include "support/draw.h"

enum { PARAMETERS = 9, MOST_PARAMETERS = 40, MODELS = 200, UNUSED_BY_ALL = 4 };
/* The parameters of the cases' model. Vectors have one column. */
static const int64_t rows[PARAMETERS] = {20, 1, 50, 33, 7, 30, 8, 64, 3};
static const int64_t columns[PARAMETERS] = {35, 1, 100, 1, 9, 40, 8, 1, 3};

typedef struct {
    const char* name;
    int64_t passes;
    uint32_t find_unused, static_graph;
    int64_t synchronised_every; /* so many passes */
    int64_t power_sgd_rank;     /* 0: not compressed */
} test_case;

static const test_case cases[] = {{"plain", 50, 0, 0, 1, 0},
                                  {"no_sync", 60, 0, 0, 3, 0},
                                  {"unused", 1000, 1, 0, 1, 0},
                                  {"static_graph", 50, 0, 1, 1, 0},
                                  {"power_sgd_rank_1", 12, 0, 0, 1, 1},
                                  {"power_sgd_rank_4", 12, 0, 0, 1, 4}};

static uint64_t seed;
static int32_t rank;
static const char* folder;

static void check(tutti_status status, const tutti_error* error) {
    if (status == TUTTI_OK) return;
    fprintf(stderr, "%s: %s\n", tutti_status_name(status), error->message);
    exit(1);
}

static uint64_t draw(uint64_t whose, int64_t step, int64_t at) {
    return draw_at(seed, whose, (uint64_t)step, (uint64_t)at);
}

static float gradient_at(int64_t pass, int64_t parameter, int64_t at) {
    const uint64_t drawn = draw((uint64_t)(1000 + rank * 100 + parameter), pass, at);
    return (float)((double)(drawn >> 40) / (1 << 23) - 1);
}

static int uses(const test_case* of, int64_t pass, int64_t parameter) {
    if (of->static_graph) return parameter != UNUSED_BY_ALL;
    if (!of->find_unused || parameter == pass % PARAMETERS) return 1;
    return (int)(draw((uint64_t)(2000 + rank), pass, parameter) & 1);
}

static FILE* open_file(const char* name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.%d", folder, name, (int)rank);
    FILE* const file = fopen(path, "wb");
    if (file != NULL) return file;
    perror(path);
    exit(1);
}

static tutti_buffer make_buffer(int64_t count, tutti_dtype dtype) {
    const size_t size = (size_t)count * (size_t)tutti_dtype_size(dtype) + 1;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(calloc(size, 1), count, dtype);
    if (buffer.data == NULL) exit(1);
    return buffer;
}

static tutti_buffer place_of(tutti_reducer* reducer, int64_t parameter) {
    tutti_error error = TUTTI_ERROR_INIT;
    tutti_buffer place;
    check(tutti_reducer_gradient(reducer, parameter, &place, &error), &error);
    return place;
}

static void run_pass(const test_case* of, tutti_reducer* reducer, int64_t pass) {
    tutti_error error = TUTTI_ERROR_INIT;
    int64_t order[PARAMETERS];
    draw_order(seed, (uint64_t)(3000 + rank), (uint64_t)pass, PARAMETERS, order);
    const uint32_t synchronise = (pass + 1) % of->synchronised_every == 0;
    check(tutti_reducer_begin(reducer, synchronise, &error), &error);
    for (int i = 0; i < PARAMETERS; ++i) {
        const int64_t parameter = order[i];
        if (!uses(of, pass, parameter)) continue;
        const tutti_buffer place = place_of(reducer, parameter);
        for (int64_t at = 0; at < place.count; ++at) {
            ((float*)place.data)[at] += gradient_at(pass, parameter, at);
        }
        check(tutti_reducer_mark_ready(reducer, parameter, NULL, &error), &error);
    }
    check(tutti_reducer_finish(reducer, NULL, &error), &error);
}

/* For each parameter whether it is used, then its gradient; all are zero afterwards. */
static void write_gradients(tutti_reducer* reducer, FILE* file) {
    for (int64_t i = 0; i < PARAMETERS; ++i) {
        const tutti_buffer place = place_of(reducer, i);
        const float is_used = (float)tutti_reducer_is_used(reducer, i);
        fwrite(&is_used, sizeof is_used, 1, file);
        fwrite(place.data, sizeof(float), (size_t)place.count, file);
        memset(place.data, 0, (size_t)place.count * sizeof(float));
    }
}

static void run_case(const test_case* of) {
    tutti_buffer parameters[PARAMETERS];
    tutti_reducer_options options = TUTTI_REDUCER_OPTIONS_INIT;
    tutti_power_sgd_options compression = TUTTI_POWER_SGD_OPTIONS_INIT;
    tutti_error error = TUTTI_ERROR_INIT;
    tutti_reducer* reducer = NULL;
    FILE* const file = open_file(of->name);
    for (int i = 0; i < PARAMETERS; ++i) {
        parameters[i] = make_buffer(rows[i] * columns[i], TUTTI_FLOAT32);
    }
    options.find_unused_parameters = of->find_unused;
    options.static_graph = of->static_graph;
    options.bucket_cap_bytes = 8192;
    check(tutti_reducer_create(TUTTI_GROUP_WORLD, parameters, NULL, NULL, PARAMETERS, &options,
                               &reducer, &error),
          &error);
    if (of->power_sgd_rank > 0) {
        compression.matrix_approximation_rank = of->power_sgd_rank;
        compression.start_iteration = 2;
        compression.random_seed = (int64_t)seed;
        check(tutti_reducer_set_power_sgd(reducer, rows, PARAMETERS, &compression, &error), &error);
    }
    for (int64_t pass = 0; pass < of->passes; ++pass) {
        run_pass(of, reducer, pass);
        if ((pass + 1) % of->synchronised_every == 0) write_gradients(reducer, file);
    }
    if (fclose(file) != 0) exit(1);
    tutti_reducer_release(reducer);
    for (int i = 0; i < PARAMETERS; ++i) free(parameters[i].data);
}

/* The parameters of each bucket: "3 2,1,0". */
static void write_buckets(tutti_reducer* reducer, FILE* file) {
    tutti_error error = TUTTI_ERROR_INIT;
    tutti_bucket bucket = TUTTI_BUCKET_INIT;
    int32_t index = 0;
    do {
        check(tutti_reducer_get_bucket(reducer, index, &bucket, &error), &error);
        for (int64_t i = 0; i < bucket.parameter_count; ++i) {
            fprintf(file, "%s%d", i > 0 ? "," : index > 0 ? " " : "", (int)bucket.parameters[i]);
        }
    } while (++index < bucket.bucket_count);
    fprintf(file, "\n");
}

/* Before the first pass and after it. */
static void run_model(int64_t model, FILE* file) {
    static const tutti_dtype dtypes[] = {TUTTI_FLOAT32, TUTTI_FLOAT16, TUTTI_FLOAT64,
                                         TUTTI_COMPLEX64};
    tutti_buffer parameters[MOST_PARAMETERS];
    int64_t order[MOST_PARAMETERS];
    tutti_reducer_options options = TUTTI_REDUCER_OPTIONS_INIT;
    tutti_error error = TUTTI_ERROR_INIT;
    tutti_reducer* reducer = NULL;
    const int64_t count = 1 + (int64_t)(draw(4000, model, 0) % MOST_PARAMETERS);
    options.first_bucket_cap_bytes = 1 + (int64_t)(draw(4001, model, 0) % 8192);
    options.bucket_cap_bytes = 1 + (int64_t)(draw(4002, model, 0) % 32768);
    for (int64_t i = 0; i < count; ++i) {
        parameters[i] =
            make_buffer((int64_t)(draw(4003, model, i) % 3000), dtypes[draw(4004, model, i) % 4]);
    }
    check(tutti_reducer_create(TUTTI_GROUP_WORLD, parameters, NULL, NULL, count, &options, &reducer,
                               &error),
          &error);
    write_buckets(reducer, file);
    /* That of rank 0 counts. */
    draw_order(seed, (uint64_t)(5000 + rank), (uint64_t)model, count, order);
    for (int pass = 0; pass < 2; ++pass) {
        check(tutti_reducer_begin(reducer, 1, &error), &error);
        if (pass == 1) write_buckets(reducer, file);
        for (int64_t i = 0; i < count; ++i) {
            check(tutti_reducer_mark_ready(reducer, order[i], NULL, &error), &error);
        }
        check(tutti_reducer_finish(reducer, NULL, &error), &error);
    }
    tutti_reducer_release(reducer);
    for (int64_t i = 0; i < count; ++i) free(parameters[i].data);
}

int main(int count, char** arguments) {
    tutti_error error = TUTTI_ERROR_INIT;
    if (count != 4) {
        fprintf(stderr, "usage: tutti_reducer_interop_peer FOLDER SEED BACKEND\n");
        return 2;
    }
    folder = arguments[1];
    seed = strtoull(arguments[2], NULL, 10);
    check(tutti_init_process_group(arguments[3], "env://", NULL, -1, -1, NULL, &error), &error);
    rank = tutti_get_rank(TUTTI_GROUP_WORLD);
    FILE* const buckets = open_file("buckets");
    for (int64_t model = 0; model < MODELS; ++model) run_model(model, buckets);
    if (fclose(buckets) != 0) return 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) run_case(&cases[i]);
    check(tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error), &error);
    return 0;
}
