/* A replica in C of the model that train.py trains: one rank of a DistributedDataParallel job. It
 * computes the gradients of its share of every batch by itself, gets the means of all ranks, and
 * takes the same steps.
 *     replica FILE        FILE: examples/data/digits.csv; README.md says how it is started */
#include <string.h>
#include <tutti/torch/replica.h>

#include "join.h"
#include "net.h"

enum { BATCH = 64, EPOCHS = 20, STRIDE = 521 };
static const float rate = 0.1F, momentum = 0.9F; /* of torch.optim.SGD */

typedef struct {
    tutti_torch_replica* replica;
    net weights, velocity;
    int rank, size;
} training;

static void make_replica(training* run, tutti_group* group) {
    tutti_torch_tensor tensors[NET_TENSORS];
    tutti_error error = TUTTI_ERROR_INIT;
    int64_t sizes[NET_TENSORS][2];
    unsigned long long random = 1998;
    net_initialise(&run->weights, &random); /* all ranks begin with the weights of rank 0 */
    memset(tensors, 0, sizeof tensors);
    for (int i = 0; i < NET_TENSORS; ++i) {
        const tutti_buffer values =
            TUTTI_BUFFER_INIT(net_tensor(&run->weights, i), net_count(i), TUTTI_FLOAT32);
        for (int d = 0; d < net_dimensions[i]; ++d) sizes[i][d] = net_sizes[i][d];
        tensors[i].values = values;
        tensors[i].sizes = sizes[i];
        tensors[i].dimensions = net_dimensions[i];
        tensors[i].kind = TUTTI_TORCH_PARAMETER;
    }
    check(tutti_torch_replica_create(group, tensors, NET_TENSORS, NULL, &run->replica, &error),
          &error);
}

/* Gives gradients to the replica, the last layer's first, and takes their means. */
static void exchange(training* run, net* gradients) {
    tutti_error error = TUTTI_ERROR_INIT;
    check(tutti_torch_replica_begin(run->replica, 1, &error), &error);
    for (int i = NET_TENSORS - 1; i >= 0; --i) {
        const tutti_buffer own =
            TUTTI_BUFFER_INIT(net_tensor(gradients, i), net_count(i), TUTTI_FLOAT32);
        check(tutti_torch_replica_mark_ready(run->replica, i, &own, &error), &error);
    }
    check(tutti_torch_replica_finish(run->replica, &error), &error);
}

/* One step of stochastic gradient descent with momentum. */
static void step(training* run, net* gradients) {
    for (int i = 0; i < NET_TENSORS; ++i) {
        const float* const slopes = net_tensor(gradients, i);
        float* const weights = net_tensor(&run->weights, i);
        float* const velocity = net_tensor(&run->velocity, i);
        for (int64_t at = 0; at < net_count(i); ++at) {
            velocity[at] = momentum * velocity[at] + slopes[at];
            weights[at] -= rate * velocity[at];
        }
    }
}

static void train(training* run, const digit* images, size_t count) {
    const size_t size = (size_t)run->size;
    for (size_t batch = 0; batch < EPOCHS * (count / BATCH); ++batch) {
        net gradients;
        memset(&gradients, 0, sizeof gradients);
        size_t own = 0;
        for (size_t i = (size_t)run->rank; i < BATCH; i += size) ++own;
        for (size_t i = (size_t)run->rank; i < BATCH; i += size) {
            const size_t at = (batch * BATCH + i) * STRIDE % count;
            net_backward(&run->weights, &images[at], 1.0F / (float)own, &gradients);
        }
        exchange(run, &gradients);
        step(run, &gradients);
    }
}

int main(int count, char** arguments) {
    static training run;
    size_t all = 0;
    if (count != 2) {
        fprintf(stderr, "usage: replica FILE\n");
        return 2;
    }
    digit* const images = digits_read(arguments[1], &all);
    if (images == NULL) return 1;
    const size_t training_count = all * 4 / 5;
    tutti_group* const group = join();
    run.rank = tutti_get_rank(group);
    run.size = tutti_get_world_size(group);
    make_replica(&run, group);
    train(&run, images, training_count);
    printf("rank %d, C: test accuracy %.2f %%\n", run.rank,
           100 * net_accuracy(&run.weights, images + training_count, all - training_count));
    tutti_torch_replica_release(run.replica);
    leave(group);
    free(images);
    return 0;
}
