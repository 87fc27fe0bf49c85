/* A small neural network: 64 pixels, 64 hidden units (tanh), 10 classes (softmax). Its weights are
 * one flat array, layer by layer. */
#ifndef NETWORK_H
#define NETWORK_H

#include "digits.h"

enum {
    NETWORK_HIDDEN = 64,
    NETWORK_FIRST = NETWORK_HIDDEN * (DIGITS_PIXELS + 1), /* weights and bias of each unit */
    NETWORK_SECOND = DIGITS_CLASSES * (NETWORK_HIDDEN + 1),
    NETWORK_WEIGHTS = NETWORK_FIRST + NETWORK_SECOND
};

/* Random weights, small enough that no unit starts saturated. */
void network_initialise(double* weights, unsigned long long* state);

/* The values of an image that the backward pass needs. */
typedef struct {
    double hidden[NETWORK_HIDDEN];
    double score_gradient[DIGITS_CLASSES];
} network_activations;

/* The loss (cross entropy) of one image. */
double network_forward(const double* weights, const digit* image, network_activations* out);

/* The backward pass adds the gradient of one image's loss, from the last layer to the first: by the
 * NETWORK_SECOND weights, then by the NETWORK_FIRST ones. */
void network_add_second_gradient(const network_activations* of, double* gradient);
void network_add_first_gradient(const double* weights, const digit* image,
                                const network_activations* of, double* gradient);

/* The class that the network takes the image for. */
int network_classify(const double* weights, const digit* image);

#endif
