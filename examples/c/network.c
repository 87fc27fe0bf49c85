/* Forward and backward through the network, one image at a time. */
#include "network.h"

#include <math.h>

/* outputs[j] = bias[j] + sum of weights[j][i] * inputs[i]; the bias is the last of each row. */
static void apply_layer(const double* weights, const double* inputs, int input_count,
                        double* outputs, int output_count) {
    for (int j = 0; j < output_count; ++j) {
        const double* row = weights + j * (input_count + 1);
        double sum = row[input_count];
        for (int i = 0; i < input_count; ++i) sum += row[i] * inputs[i];
        outputs[j] = sum;
    }
}

/* Adds to the layer's gradient what the derivatives by its outputs give. */
static void add_layer_gradient(double* gradient, const double* inputs, int input_count,
                               const double* output_gradient, int output_count) {
    for (int j = 0; j < output_count; ++j) {
        double* row = gradient + j * (input_count + 1);
        for (int i = 0; i < input_count; ++i) row[i] += output_gradient[j] * inputs[i];
        row[input_count] += output_gradient[j];
    }
}

static void forward(const double* weights, const digit* image, double* hidden, double* scores) {
    apply_layer(weights, image->pixels, DIGITS_PIXELS, hidden, NETWORK_HIDDEN);
    for (int j = 0; j < NETWORK_HIDDEN; ++j) hidden[j] = tanh(hidden[j]);
    apply_layer(weights + NETWORK_FIRST, hidden, NETWORK_HIDDEN, scores, DIGITS_CLASSES);
}

static int highest(const double* scores) {
    int best = 0;
    for (int k = 1; k < DIGITS_CLASSES; ++k) {
        if (scores[k] > scores[best]) best = k;
    }
    return best;
}

void network_initialise(double* weights, unsigned long long* state) {
    for (int i = 0; i < NETWORK_WEIGHTS; ++i) {
        double uniform = (double)(digits_random(state) >> 11) / 9007199254740992.0; /* 2^53 */
        weights[i] = (2.0 * uniform - 1.0) / 8.0; /* 8: the square root of a unit's inputs */
    }
}

double network_forward(const double* weights, const digit* image, network_activations* out) {
    double scores[DIGITS_CLASSES];
    forward(weights, image, out->hidden, scores);
    double total = 0.0;
    double top = scores[highest(scores)]; /* subtracted, so that exp does not overflow */
    for (int k = 0; k < DIGITS_CLASSES; ++k) total += exp(scores[k] - top);
    for (int k = 0; k < DIGITS_CLASSES; ++k) {
        out->score_gradient[k] = exp(scores[k] - top) / total - (k == image->label ? 1.0 : 0.0);
    }
    return log(total) + top - scores[image->label];
}

void network_add_second_gradient(const network_activations* of, double* gradient) {
    add_layer_gradient(gradient, of->hidden, NETWORK_HIDDEN, of->score_gradient, DIGITS_CLASSES);
}

void network_add_first_gradient(const double* weights, const digit* image,
                                const network_activations* of, double* gradient) {
    double hidden_gradient[NETWORK_HIDDEN];
    const double* second = weights + NETWORK_FIRST;
    for (int j = 0; j < NETWORK_HIDDEN; ++j) {
        double sum = 0.0;
        for (int k = 0; k < DIGITS_CLASSES; ++k) {
            sum += of->score_gradient[k] * second[k * (NETWORK_HIDDEN + 1) + j];
        }
        hidden_gradient[j] = sum * (1.0 - of->hidden[j] * of->hidden[j]);
    }
    add_layer_gradient(gradient, image->pixels, DIGITS_PIXELS, hidden_gradient, NETWORK_HIDDEN);
}

int network_classify(const double* weights, const digit* image) {
    double hidden[NETWORK_HIDDEN], scores[DIGITS_CLASSES];
    forward(weights, image, hidden, scores);
    return highest(scores);
}
