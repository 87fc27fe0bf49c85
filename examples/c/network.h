/* A small neural network: 64 pixels, 64 hidden units (tanh), 10 classes (softmax). Its weights are
 * one flat array, and so is a gradient: what is sent to other ranks needs no packing. */
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

/* Adds the gradient of the loss (cross entropy) of one image to `gradient`; returns the loss. */
double network_add_gradient(const double* weights, const digit* image, double* gradient);

/* The class that the network takes the image for. */
int network_classify(const double* weights, const digit* image);

#endif
