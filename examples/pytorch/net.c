/* Forward and backward through the network, one image at a time. */
#include "net.h"

#include <math.h>

const int net_dimensions[NET_TENSORS] = {2, 1, 2, 1};
const long long net_sizes[NET_TENSORS][2] = {
    {NET_HIDDEN, DIGITS_PIXELS}, {NET_HIDDEN}, {DIGITS_CLASSES, NET_HIDDEN}, {DIGITS_CLASSES}};

long long net_count(int i) {
    return net_dimensions[i] == 1 ? net_sizes[i][0] : net_sizes[i][0] * net_sizes[i][1];
}

float* net_tensor(net* of, int i) {
    float* const all[NET_TENSORS] = {of->first_weight[0], of->first_bias, of->second_weight[0],
                                     of->second_bias};
    return all[i];
}

void net_initialise(net* weights, unsigned long long* state) {
    for (int i = 0; i < NET_TENSORS; ++i) {
        for (long long at = 0; at < net_count(i); ++at) {
            const float uniform = (float)(digits_random(state) >> 40) / 16777216; /* 2^24 */
            net_tensor(weights, i)[at] = (2 * uniform - 1) / 8;
        }
    }
}

static void forward(const net* weights, const digit* image, float* hidden, float* scores) {
    for (int j = 0; j < NET_HIDDEN; ++j) {
        float sum = weights->first_bias[j];
        for (int i = 0; i < DIGITS_PIXELS; ++i) {
            sum += weights->first_weight[j][i] * (float)image->pixels[i];
        }
        hidden[j] = tanhf(sum);
    }
    for (int k = 0; k < DIGITS_CLASSES; ++k) {
        scores[k] = weights->second_bias[k];
        for (int j = 0; j < NET_HIDDEN; ++j) scores[k] += weights->second_weight[k][j] * hidden[j];
    }
}

static int highest(const float* scores) {
    int best = 0;
    for (int k = 1; k < DIGITS_CLASSES; ++k) {
        if (scores[k] > scores[best]) best = k;
    }
    return best;
}

float net_backward(const net* weights, const digit* image, float share, net* gradients) {
    float hidden[NET_HIDDEN], scores[DIGITS_CLASSES], hidden_gradient[NET_HIDDEN] = {0};
    forward(weights, image, hidden, scores);
    const float top = scores[highest(scores)]; /* subtracted, so that exp does not overflow */
    float total = 0;
    for (int k = 0; k < DIGITS_CLASSES; ++k) total += expf(scores[k] - top);
    for (int k = 0; k < DIGITS_CLASSES; ++k) {
        const float probability = expf(scores[k] - top) / total;
        const float slope = share * (probability - (k == image->label ? 1.0F : 0.0F));
        gradients->second_bias[k] += slope;
        for (int j = 0; j < NET_HIDDEN; ++j) {
            gradients->second_weight[k][j] += slope * hidden[j];
            hidden_gradient[j] += slope * weights->second_weight[k][j];
        }
    }
    for (int j = 0; j < NET_HIDDEN; ++j) {
        const float slope = hidden_gradient[j] * (1 - hidden[j] * hidden[j]);
        gradients->first_bias[j] += slope;
        for (int i = 0; i < DIGITS_PIXELS; ++i) {
            gradients->first_weight[j][i] += slope * (float)image->pixels[i];
        }
    }
    return logf(total) + top - scores[image->label];
}

float net_accuracy(const net* weights, const digit* images, size_t count) {
    size_t right = 0;
    for (size_t i = 0; i < count; ++i) {
        float hidden[NET_HIDDEN], scores[DIGITS_CLASSES];
        forward(weights, &images[i], hidden, scores);
        if (highest(scores) == images[i].label) ++right;
    }
    return (float)right / (float)count;
}
