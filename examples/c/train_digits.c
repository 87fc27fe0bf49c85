/* Data-parallel training: the ranks share the images of every batch, and a reducer adds up their
 * gradients, those of the last layer while the first one's are computed. All ranks then take the
 * same step, so their weights stay the same without being sent. The sums run over the same images
 * however many ranks there are: 1, 2 and 4 ranks reach the same model to rounding. Start it with
 *     tuttirun --nproc-per-node 4 train_digits [--epochs N] [--data FILE] [--save FILE]
 * or by mpirun. With --power-sgd RANK the gradients travel as products of two matrices with RANK
 * columns; with --backend NAME they go by that backend: "mpi", say, or "cpu:gloo,cuda:nccl". */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/tutti.h>

#include "digits.h"
#include "network.h"

enum { BATCH = 64 };
enum { FIRST_LAYER, SECOND_LAYER, LAYERS }; /* the reducer's parameters */
static const double LEARNING_RATE = 0.1;
static const double MOMENTUM = 0.9;
static const double TRAINING_SHARE = 0.8; /* of the images; the others test */
static const unsigned long long SEED = 1998;

typedef struct {
    int epochs;
    const char* data;
    const char* save;    /* NULL: nowhere */
    int power_sgd;       /* columns of the factors of gradients; 0: gradients travel as they are */
    const char* backend; /* NULL: the best that there is */
} options;

typedef struct {
    digit* digits; /* first those for training, then those for testing */
    size_t training_count;
    size_t testing_count;
    double weights[NETWORK_WEIGHTS];
    double velocity[NETWORK_WEIGHTS];
    network_activations activations[BATCH];
    tutti_reducer* reducer;
} training;

static const size_t layer_begin[LAYERS] = {0, NETWORK_FIRST};
static const size_t layer_weights[LAYERS] = {NETWORK_FIRST, NETWORK_SECOND};

/* Ends this rank when a call has failed; tuttirun ends the others. */
static void check(tutti_status status, const tutti_error* error) {
    if (status == TUTTI_OK) return;
    fprintf(stderr, "%s: %s\n", tutti_status_name(status), error->message);
    exit(1);
}

static void sum_over_ranks(double* values, int64_t count) {
    tutti_error error = TUTTI_ERROR_INIT;
    tutti_buffer buffer = TUTTI_BUFFER_INIT(values, count, TUTTI_FLOAT64);
    check(tutti_all_reduce(TUTTI_GROUP_WORLD, NULL, &buffer, TUTTI_SUM, NULL, NULL, &error),
          &error);
}

/* All ranks begin with the weights of rank 0. */
static void make_reducer(training* run) {
    static const char* const names[LAYERS] = {"first layer", "second layer"};
    tutti_reducer_options choice = TUTTI_REDUCER_OPTIONS_INIT;
    tutti_error error = TUTTI_ERROR_INIT;
    tutti_buffer parameters[LAYERS];
    for (int layer = 0; layer < LAYERS; ++layer) {
        tutti_buffer weights = TUTTI_BUFFER_INIT(run->weights + layer_begin[layer],
                                                 layer_weights[layer], TUTTI_FLOAT64);
        parameters[layer] = weights;
    }
    choice.sum = 1; /* the ranks' parts of a batch differ in size */
    choice.first_bucket_cap_bytes = NETWORK_SECOND * (int64_t)sizeof(double);
    check(tutti_reducer_create(TUTTI_GROUP_WORLD, parameters, names, NULL, LAYERS, &choice,
                               &run->reducer, &error),
          &error);
}

static void compress_gradients(training* run, int columns) {
    static const int64_t rows[LAYERS] = {NETWORK_HIDDEN, DIGITS_CLASSES};
    tutti_power_sgd_options choice = TUTTI_POWER_SGD_OPTIONS_INIT;
    tutti_error error = TUTTI_ERROR_INIT;
    choice.matrix_approximation_rank = columns;
    choice.start_iteration = 10; /* of hundreds */
    check(tutti_reducer_set_power_sgd(run->reducer, rows, LAYERS, &choice, &error), &error);
}

/* Where the reducer has a layer's gradient, which the optimizer and the ranks share. */
static double* gradient_of(const training* run, int layer) {
    tutti_error error = TUTTI_ERROR_INIT;
    tutti_buffer place;
    check(tutti_reducer_gradient(run->reducer, layer, &place, &error), &error);
    return (double*)place.data;
}

/* Where this rank's part of `count` images begins; the next rank's begins where it ends. */
static size_t share_begin(size_t count, int rank) {
    return count * (size_t)rank / (size_t)tutti_get_world_size(TUTTI_GROUP_WORLD);
}

/* The gradients of this rank's images, layer by layer. */
static void backward(const training* run, const digit* images, size_t count) {
    tutti_error error = TUTTI_ERROR_INIT;
    check(tutti_reducer_begin(run->reducer, 1, &error), &error);
    for (int layer = SECOND_LAYER; layer >= FIRST_LAYER; --layer) {
        double* gradient = gradient_of(run, layer);
        memset(gradient, 0, layer_weights[layer] * sizeof *gradient);
        for (size_t i = 0; i < count; ++i) {
            if (layer == SECOND_LAYER) {
                network_add_second_gradient(&run->activations[i], gradient);
            } else {
                network_add_first_gradient(run->weights, &images[i], &run->activations[i],
                                           gradient);
            }
        }
        check(tutti_reducer_mark_ready(run->reducer, layer, NULL, &error), &error);
    }
    check(tutti_reducer_finish(run->reducer, NULL, &error), &error);
}

/* One step on one batch; returns the loss of this rank's images, summed. */
static double train_batch(training* run, const digit* batch, size_t count) {
    int rank = tutti_get_rank(TUTTI_GROUP_WORLD);
    size_t begin = share_begin(count, rank), end = share_begin(count, rank + 1);
    double loss = 0.0;
    for (size_t i = begin; i < end; ++i) {
        loss += network_forward(run->weights, &batch[i], &run->activations[i - begin]);
    }
    backward(run, batch + begin, end - begin);
    for (int layer = 0; layer < LAYERS; ++layer) {
        const double* sums = gradient_of(run, layer);
        double* weights = run->weights + layer_begin[layer];
        double* velocity = run->velocity + layer_begin[layer];
        for (size_t i = 0; i < layer_weights[layer]; ++i) {
            velocity[i] = MOMENTUM * velocity[i] - LEARNING_RATE * sums[i] / (double)count;
            weights[i] += velocity[i];
        }
    }
    return loss;
}

/* One pass over the images for training, in a new order; returns the mean loss. */
static double train_epoch(training* run, unsigned long long* random) {
    double loss = 0.0;
    digits_shuffle(run->digits, run->training_count, random);
    for (size_t start = 0; start < run->training_count; start += BATCH) {
        size_t left = run->training_count - start;
        loss += train_batch(run, run->digits + start, left < BATCH ? left : BATCH);
    }
    sum_over_ranks(&loss, 1);
    return loss / (double)run->training_count;
}

/* The part of the images for testing that the network gets right. */
static double test_accuracy(const training* run) {
    const digit* tests = run->digits + run->training_count;
    int rank = tutti_get_rank(TUTTI_GROUP_WORLD);
    double right = 0.0;
    for (size_t i = share_begin(run->testing_count, rank);
         i < share_begin(run->testing_count, rank + 1); ++i) {
        if (network_classify(run->weights, &tests[i]) == tests[i].label) right += 1.0;
    }
    sum_over_ranks(&right, 1);
    return right / (double)run->testing_count;
}

static void prepare(training* run, const options* chosen, unsigned long long* random) {
    size_t count;
    memset(run, 0, sizeof *run);
    run->digits = digits_read(chosen->data, &count);
    if (run->digits == NULL) exit(1);
    digits_shuffle(run->digits, count, random);
    run->training_count = (size_t)((double)count * TRAINING_SHARE);
    run->testing_count = count - run->training_count;
    if (tutti_get_rank(TUTTI_GROUP_WORLD) == 0) {
        unsigned long long own = SEED;
        network_initialise(run->weights, &own);
    }
    make_reducer(run);
    if (chosen->power_sgd > 0) compress_gradients(run, chosen->power_sgd);
}

static void print_model(const training* run) {
    double sum = 0.0;
    double squares = 0.0;
    for (int i = 0; i < NETWORK_WEIGHTS; ++i) {
        sum += run->weights[i];
        squares += run->weights[i] * run->weights[i];
    }
    printf("model: sum %.12g, norm %.12g\n", sum, sqrt(squares));
}

static void save_model(const training* run, const char* path) {
    FILE* file = fopen(path, "w");
    int failed = file == NULL;
    for (int i = 0; !failed && i < NETWORK_WEIGHTS; ++i) {
        failed = fprintf(file, "%.17g\n", run->weights[i]) < 0;
    }
    if (file != NULL && fclose(file) != 0) failed = 1;
    if (failed) {
        perror(path);
        exit(1);
    }
}

static void train(const options* chosen) {
    static training run;
    unsigned long long random = SEED;
    int speaks = tutti_get_rank(TUTTI_GROUP_WORLD) == 0;
    double accuracy = 0.0;
    prepare(&run, chosen, &random);
    if (speaks) {
        printf("%lu images for training, %lu for testing, %d ranks\n",
               (unsigned long)run.training_count, (unsigned long)run.testing_count,
               (int)tutti_get_world_size(TUTTI_GROUP_WORLD));
    }
    for (int epoch = 1; epoch <= chosen->epochs; ++epoch) {
        double loss = train_epoch(&run, &random);
        accuracy = test_accuracy(&run);
        if (speaks) {
            printf("epoch %2d: loss %.6f, test accuracy %.2f %%\n", epoch, loss, 100.0 * accuracy);
        }
    }
    if (speaks) {
        printf("test accuracy: %.2f %%\n", 100.0 * accuracy);
        print_model(&run);
        if (chosen->save != NULL) save_model(&run, chosen->save);
    }
    tutti_reducer_release(run.reducer);
    free(run.digits);
}

static options parse(int count, char** arguments) {
    options chosen = {20, DIGITS_FILE, NULL, 0, NULL};
    int i = 1;
    for (; i + 1 < count; i += 2) {
        if (strcmp(arguments[i], "--epochs") == 0) {
            chosen.epochs = atoi(arguments[i + 1]);
        } else if (strcmp(arguments[i], "--data") == 0) {
            chosen.data = arguments[i + 1];
        } else if (strcmp(arguments[i], "--save") == 0) {
            chosen.save = arguments[i + 1];
        } else if (strcmp(arguments[i], "--power-sgd") == 0) {
            chosen.power_sgd = atoi(arguments[i + 1]);
        } else if (strcmp(arguments[i], "--backend") == 0) {
            chosen.backend = arguments[i + 1];
        } else {
            break;
        }
    }
    if (i != count || chosen.epochs < 1) {
        fprintf(stderr,
                "usage: train_digits [--epochs N] [--data FILE] [--save FILE]"
                " [--power-sgd RANK] [--backend NAME]\n");
        exit(2);
    }
    return chosen;
}

int main(int count, char** arguments) {
    tutti_error error = TUTTI_ERROR_INIT;
    options chosen = parse(count, arguments);
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* each epoch is to be seen when it is done */
    check(tutti_init_process_group(chosen.backend, "env://", NULL, -1, -1, NULL, &error), &error);
    train(&chosen);
    check(tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error), &error);
    return 0;
}
