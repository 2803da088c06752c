#ifndef TENSOR_H
#define TENSOR_H

#include <stddef.h>

/* images x channels x rows x columns, dense */
struct tensor {
	int n, c, h, w;
	float *data;
};

struct tensor tensor_new(int n, int c, int h, int w);
void tensor_free(struct tensor *t);
size_t tensor_size(const struct tensor *t);
double tensor_norm(const struct tensor *t);
double tensor_mean(const struct tensor *t);
float tensor_max(const struct tensor *t);
double tensor_zeros(const struct tensor *t);

static inline size_t tensor_at(const struct tensor *t, int n, int c, int y, int x)
{
	return (((size_t)n * t->c + c) * t->h + y) * t->w + x;
}

#endif
