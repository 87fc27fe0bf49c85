/* Receives the parameters of the model that publish.py trains, after each of its steps, and uses
 * them: it reads the images for testing.
 *     receiver FILE        FILE: examples/data/digits.csv; README.md says how it is started */
#include "join.h"
#include "net.h"

static void receive(tutti_group* group, void* data, int64_t count, tutti_dtype dtype) {
    tutti_error error = TUTTI_ERROR_INIT;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(data, count, dtype);
    check(tutti_broadcast(group, &buffer, 0, NULL, NULL, &error), &error);
}

int main(int count, char** arguments) {
    static net weights;
    int64_t plan[2]; /* how many steps publish.py takes, and of how many it is an epoch */
    size_t all = 0;
    if (count != 2) {
        fprintf(stderr, "usage: receiver FILE\n");
        return 2;
    }
    digit* const images = digits_read(arguments[1], &all);
    if (images == NULL) return 1;
    const size_t training = all * 4 / 5;
    tutti_group* const group = join();
    receive(group, plan, 2, TUTTI_INT64);
    for (int64_t step = 1; step <= plan[0]; ++step) {
        for (int i = 0; i < NET_TENSORS; ++i) {
            receive(group, net_tensor(&weights, i), net_count(i), TUTTI_FLOAT32);
        }
        if (step % (5 * plan[1]) != 0) continue;
        printf("rank %d, C: epoch %2d: test accuracy %.2f %%\n", tutti_get_rank(group),
               (int)(step / plan[1]),
               100 * net_accuracy(&weights, images + training, all - training));
    }
    leave(group);
    free(images);
    return 0;
}
