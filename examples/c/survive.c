/* Training that goes on when ranks die: those that are left make a smaller group, take the newest
 * of their models, and repeat the step that was interrupted. At most one step is lost. Start it
 * with
 *     tuttirun --nproc-per-node 4 --on-failure=shrink survive [RANK STEP]...
 * Each RANK kills itself in that STEP: "survive 2 100 0 150" ends with two ranks. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/tutti.h>

#include "digits.h"
#include "network.h"

enum { STEPS = 400, SHOWN = 50, BATCH = 64 };
enum { FIRST_LAYER, SECOND_LAYER, LAYERS }; /* the reducer's parameters */
static const double LEARNING_RATE = 0.03;
static const double MOMENTUM = 0.9;
static const unsigned long long SEED = 1998;

/* All that a step changes: what a rank must have to go on. */
typedef struct {
    double weights[NETWORK_WEIGHTS];
    double velocity[NETWORK_WEIGHTS];
} model;

typedef struct {
    model model;
    int64_t step; /* that comes next */
    int64_t last; /* in which this rank kills itself; -1: none */
    digit* digits;
    size_t training_count; /* of the digits; the others test */
    size_t testing_count;
    tutti_reducer* reducer;
} training;

static const size_t layer_begin[LAYERS] = {0, NETWORK_FIRST};
static const size_t layer_weights[LAYERS] = {NETWORK_FIRST, NETWORK_SECOND};

/* Ends this rank when it cannot go on. */
static void check(tutti_status status, const tutti_error* error) {
    if (status == TUTTI_OK) return;
    fprintf(stderr, "%s: %s\n", tutti_status_name(status), error->message);
    exit(1);
}

static tutti_status make_reducer(training* run, tutti_error* error) {
    tutti_reducer_options choice = TUTTI_REDUCER_OPTIONS_INIT;
    tutti_buffer parameters[LAYERS];
    for (int layer = 0; layer < LAYERS; ++layer) {
        tutti_buffer weights = TUTTI_BUFFER_INIT(run->model.weights + layer_begin[layer],
                                                 layer_weights[layer], TUTTI_FLOAT64);
        parameters[layer] = weights;
    }
    choice.sum = 1; /* over the images of a batch, however many ranks share them */
    choice.first_bucket_cap_bytes = NETWORK_SECOND * (int64_t)sizeof(double);
    return tutti_reducer_create(TUTTI_GROUP_WORLD, parameters, NULL, NULL, LAYERS, &choice,
                                &run->reducer, error);
}

/* The gradients of this rank's images of the batch, which depends on the step alone. */
static void add_gradients(const training* run, int layer, double* gradient) {
    unsigned long long random = SEED + (unsigned long long)run->step;
    int rank = tutti_get_rank(TUTTI_GROUP_WORLD);
    int size = tutti_get_world_size(TUTTI_GROUP_WORLD);
    memset(gradient, 0, layer_weights[layer] * sizeof *gradient);
    for (int i = 0; i < BATCH; ++i) {
        const digit* image = &run->digits[digits_random(&random) % run->training_count];
        network_activations of;
        if (i % size != rank) continue;
        network_forward(run->model.weights, image, &of);
        if (layer == SECOND_LAYER) {
            network_add_second_gradient(&of, gradient);
        } else {
            network_add_first_gradient(run->model.weights, image, &of, gradient);
        }
    }
}

/* Changes the model only if all went well. */
static tutti_status train_step(training* run, tutti_error* error) {
    tutti_buffer gradient[LAYERS];
    tutti_status status = tutti_reducer_begin(run->reducer, 1, error);
    for (int layer = SECOND_LAYER; status == TUTTI_OK && layer >= FIRST_LAYER; --layer) {
        tutti_reducer_gradient(run->reducer, layer, &gradient[layer], error);
        add_gradients(run, layer, (double*)gradient[layer].data);
        status = tutti_reducer_mark_ready(run->reducer, layer, NULL, error);
        if (run->step == run->last) raise(SIGKILL);
    }
    if (status == TUTTI_OK) status = tutti_reducer_finish(run->reducer, NULL, error);
    for (int layer = 0; status == TUTTI_OK && layer < LAYERS; ++layer) {
        const double* sums = (const double*)gradient[layer].data;
        double* weights = run->model.weights + layer_begin[layer];
        double* velocity = run->model.velocity + layer_begin[layer];
        for (size_t i = 0; i < layer_weights[layer]; ++i) {
            velocity[i] = MOMENTUM * velocity[i] - LEARNING_RATE * sums[i] / BATCH;
            weights[i] += velocity[i];
        }
    }
    return status;
}

/* Ranks that had ended the step are ahead of the others, which take the model of one of them. It is
 * copied when it is there: the rank that has it may die, too. */
static tutti_status take_newest_model(training* run, tutti_error* error) {
    int64_t newest = run->step << 16 | tutti_get_rank(TUTTI_GROUP_WORLD);
    tutti_buffer number = TUTTI_BUFFER_INIT(&newest, 1, TUTTI_INT64);
    model taken = run->model;
    tutti_buffer buffer = TUTTI_BUFFER_INIT(&taken, sizeof taken / sizeof(double), TUTTI_FLOAT64);
    tutti_status status =
        tutti_all_reduce(TUTTI_GROUP_WORLD, NULL, &number, TUTTI_MAX, NULL, NULL, error);
    if (status != TUTTI_OK) return status;
    status =
        tutti_broadcast(TUTTI_GROUP_WORLD, &buffer, (int32_t)(newest & 0xffff), NULL, NULL, error);
    if (status != TUTTI_OK) return status;
    run->model = taken;
    run->step = newest >> 16;
    return TUTTI_OK;
}

/* All ranks that are left come here. */
static tutti_status go_on(training* run, tutti_error* error) {
    fprintf(stderr, "step %d: %s\n", (int)run->step, error->message);
    check(tutti_shrink_group(TUTTI_GROUP_WORLD, NULL, 0, TUTTI_SHRINK_DEFAULT, NULL, NULL, NULL,
                             error),
          error); /* or the others have gone on without this rank, which had stopped */
    tutti_status status = tutti_reducer_shrink(run->reducer, TUTTI_GROUP_WORLD, error);
    return status == TUTTI_OK ? take_newest_model(run, error) : status;
}

static void show(const training* run) {
    double loss = 0.0;
    int right = 0;
    for (size_t i = 0; i < run->testing_count; ++i) {
        const digit* image = &run->digits[run->training_count + i];
        network_activations of;
        loss += network_forward(run->model.weights, image, &of);
        right += network_classify(run->model.weights, image) == image->label;
    }
    printf("step %3d, %d ranks: loss %.4f, test accuracy %.2f %%\n", (int)run->step,
           (int)tutti_get_world_size(TUTTI_GROUP_WORLD), loss / (double)run->testing_count,
           100.0 * right / (double)run->testing_count);
}

static void train(training* run) {
    tutti_error error = TUTTI_ERROR_INIT;
    check(make_reducer(run, &error), &error);
    while (run->step < STEPS) {
        tutti_status status = train_step(run, &error);
        if (status == TUTTI_OK) {
            ++run->step;
            if (run->step % SHOWN == 0 && tutti_get_rank(TUTTI_GROUP_WORLD) == 0) show(run);
        }
        while (status == TUTTI_ERR_PEER_LOST || status == TUTTI_ERR_ABORTED) {
            status = go_on(run, &error); /* again, if another rank dies meanwhile */
        }
        check(status, &error);
    }
    tutti_reducer_release(run->reducer);
}

static void prepare(training* run) {
    unsigned long long random = SEED;
    size_t count;
    run->digits = digits_read(DIGITS_FILE, &count);
    if (run->digits == NULL) exit(1);
    digits_shuffle(run->digits, count, &random);
    run->training_count = count * 4 / 5;
    run->testing_count = count - run->training_count;
    network_initialise(run->model.weights, &random);
}

int main(int count, char** arguments) {
    static training run;
    tutti_error error = TUTTI_ERROR_INIT;
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    check(tutti_init_process_group(NULL, "env://", NULL, -1, -1, NULL, &error), &error);
    run.last = -1;
    for (int i = 1; i + 1 < count; i += 2) {
        if (atoi(arguments[i]) == tutti_get_rank(TUTTI_GROUP_WORLD)) {
            run.last = atoi(arguments[i + 1]);
        }
    }
    prepare(&run);
    train(&run);
    check(tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error), &error);
    free(run.digits);
    return 0;
}
