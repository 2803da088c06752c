#ifndef LAYERS_H
#define LAYERS_H

#include "tensor.h"

struct conv_layer {
	int in, out;         /* channels */
	int k, stride, pad;
	float *weight;       /* out x in x k x k */
	float *bias;         /* out */
};

struct norm_layer {
	int c;
	float *mean, *var, *gamma, *beta;
};

struct dense_layer {
	int in, out;
	float *weight;       /* out x in */
	float *bias;
};

struct tensor conv_forward(const struct conv_layer *l, const struct tensor *x);
struct tensor depthwise_forward(const struct conv_layer *l, const struct tensor *x);
void norm_forward(const struct norm_layer *l, struct tensor *x);
void relu_forward(struct tensor *x);
void add_forward(struct tensor *x, const struct tensor *skip);
struct tensor maxpool_forward(const struct tensor *x, int size, int stride);
struct tensor avgpool_global(const struct tensor *x);
void standardize(struct tensor *x);
struct tensor dense_forward(const struct dense_layer *l, const struct tensor *x);
void softmax_forward(struct tensor *x);

#endif
