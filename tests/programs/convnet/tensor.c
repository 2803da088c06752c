#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tensor.h"

struct tensor tensor_new(int n, int c, int h, int w)
{
	struct tensor t = { .n = n, .c = c, .h = h, .w = w };

	t.data = calloc(tensor_size(&t), sizeof(float));
	if (!t.data) {
		fprintf(stderr, "convnet: no memory for %d x %d x %d x %d\n", n, c, h, w);
		exit(1);
	}
	return t;
}

void tensor_free(struct tensor *t)
{
	free(t->data);
	t->data = NULL;
}

size_t tensor_size(const struct tensor *t)
{
	return (size_t)t->n * t->c * t->h * t->w;
}

double tensor_norm(const struct tensor *t)
{
	double sum = 0.0;
	size_t size = tensor_size(t);

#pragma omp parallel for reduction(+ : sum)
	for (size_t i = 0; i < size; i++)
		sum += (double)t->data[i] * t->data[i];
	return sqrt(sum);
}

double tensor_mean(const struct tensor *t)
{
	double sum = 0.0;
	size_t size = tensor_size(t);

	for (size_t i = 0; i < size; i++)
		sum += t->data[i];
	return sum / size;
}

float tensor_max(const struct tensor *t)
{
	float best = -INFINITY;
	size_t size = tensor_size(t);

#pragma omp parallel for reduction(max : best)
	for (size_t i = 0; i < size; i++)
		if (t->data[i] > best)
			best = t->data[i];
	return best;
}

/* share of zero entries, the sleeping neurons after a relu */
double tensor_zeros(const struct tensor *t)
{
	long zero = 0;
	size_t size = tensor_size(t);

#pragma omp parallel for reduction(+ : zero)
	for (size_t i = 0; i < size; i++)
		zero += t->data[i] == 0.0f;
	return (double)zero / size;
}
