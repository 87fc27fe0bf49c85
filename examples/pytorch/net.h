/* The network of train.py in C: torch.nn.Sequential(Linear(64, 32), Tanh(), Linear(32, 10)). */
#ifndef NET_H
#define NET_H

#include "digits.h"

enum { NET_HIDDEN = 32, NET_TENSORS = 4 };

/* Values of its parameters, or as many gradients, as PyTorch orders their elements. */
typedef struct {
    float first_weight[NET_HIDDEN][DIGITS_PIXELS], first_bias[NET_HIDDEN];
    float second_weight[DIGITS_CLASSES][NET_HIDDEN], second_bias[DIGITS_CLASSES];
} net;

/* Where tensor i begins in memory like `net`, in the order of model.named_parameters(). */
extern const int net_dimensions[NET_TENSORS];
extern const long long net_sizes[NET_TENSORS][2];
long long net_count(int i);
float* net_tensor(net* of, int i);

/* Random weights, small enough that no unit starts saturated. */
void net_initialise(net* weights, unsigned long long* state);

/* Adds the gradients of one image's loss (cross entropy) times `share`; returns the loss. */
float net_backward(const net* weights, const digit* image, float share, net* gradients);

/* The part of the images that the network gets right. */
float net_accuracy(const net* weights, const digit* images, size_t count);

#endif
