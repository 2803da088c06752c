#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "net.h"

static const int channels[BLOCKS + 1] = { 3, 16, 32, 48 };

static unsigned state;

static float uniform(void)
{
	state = state * 1103515245u + 12345u;
	return ((state >> 9) & 0x3fffff) / 4194304.0f;
}

/* roughly normal */
static float gauss(void)
{
	float s = 0.0f;

	for (int i = 0; i < 12; i++)
		s += uniform();
	return s - 6.0f;
}

static float *vector(size_t n)
{
	float *v = malloc(n * sizeof(*v));

	if (!v) {
		fprintf(stderr, "convnet: out of memory\n");
		exit(1);
	}
	return v;
}

static void conv_init(struct conv_layer *l, int in, int out, int k, int fan_in)
{
	size_t n = (size_t)out * fan_in;
	float dev = sqrtf(2.0f / fan_in);

	*l = (struct conv_layer){ .in = in, .out = out, .k = k, .stride = 1, .pad = k / 2 };
	l->weight = vector(n);
	l->bias = vector(out);
	for (size_t i = 0; i < n; i++)
		l->weight[i] = dev * gauss();
	for (int o = 0; o < out; o++)
		l->bias[o] = 0.1f * gauss();
}

static void norm_init(struct norm_layer *l, int c)
{
	*l = (struct norm_layer){ c, vector(c), vector(c), vector(c), vector(c) };
	for (int i = 0; i < c; i++) {
		l->mean[i] = 0.05f * gauss();
		l->var[i] = 0.5f + uniform();
		l->gamma[i] = 0.8f + 0.4f * uniform();
		l->beta[i] = 0.1f * gauss();
	}
}

static void dense_init(struct dense_layer *l, int in, int out)
{
	float dev = sqrtf(1.0f / in);

	l->in = in;
	l->out = out;
	l->weight = vector((size_t)in * out);
	l->bias = vector(out);
	for (size_t i = 0; i < (size_t)in * out; i++)
		l->weight[i] = dev * gauss();
	for (int i = 0; i < out; i++)
		l->bias[i] = 0.0f;
}

void net_init(struct net *net, unsigned seed)
{
	state = seed;
	for (int b = 0; b < BLOCKS; b++) {
		struct block *k = &net->block[b];
		int in = channels[b], out = channels[b + 1];

		conv_init(&k->enter, in, out, b == 0 ? 5 : 3, in * (b == 0 ? 25 : 9));
		norm_init(&k->enter_norm, out);
		conv_init(&k->depth, out, out, 3, 9);
		norm_init(&k->depth_norm, out);
		conv_init(&k->point, out, out, 1, out);
	}
	dense_init(&net->hidden, channels[BLOCKS], 64);
	dense_init(&net->out, 64, CLASSES);
}

static void conv_free(struct conv_layer *l)
{
	free(l->weight);
	free(l->bias);
}

static void norm_free(struct norm_layer *l)
{
	free(l->mean);
	free(l->var);
	free(l->gamma);
	free(l->beta);
}

void net_free(struct net *net)
{
	for (int b = 0; b < BLOCKS; b++) {
		struct block *k = &net->block[b];

		conv_free(&k->enter);
		norm_free(&k->enter_norm);
		conv_free(&k->depth);
		norm_free(&k->depth_norm);
		conv_free(&k->point);
	}
	free(net->hidden.weight);
	free(net->hidden.bias);
	free(net->out.weight);
	free(net->out.bias);
}

long net_parameters(const struct net *net)
{
	long sum = 0;

	for (int b = 0; b < BLOCKS; b++) {
		const struct block *k = &net->block[b];

		sum += (long)k->enter.out * (k->enter.in * k->enter.k * k->enter.k + 1);
		sum += (long)k->depth.out * (k->depth.k * k->depth.k + 1);
		sum += (long)k->point.out * (k->point.in + 1);
		sum += 4L * (k->enter_norm.c + k->depth_norm.c);
	}
	sum += (long)net->hidden.out * (net->hidden.in + 1);
	sum += (long)net->out.out * (net->out.in + 1);
	return sum;
}

struct tensor net_forward(const struct net *net, const struct tensor *images,
			  struct report *rep)
{
	struct tensor x = *images;

	for (int b = 0; b < BLOCKS; b++) {
		const struct block *k = &net->block[b];
		struct tensor y, z;

		y = conv_forward(&k->enter, &x);
		if (b > 0)
			tensor_free(&x);
		norm_forward(&k->enter_norm, &y);
		relu_forward(&y);

		z = depthwise_forward(&k->depth, &y);
		norm_forward(&k->depth_norm, &z);
		relu_forward(&z);
		x = conv_forward(&k->point, &z);
		tensor_free(&z);
		add_forward(&x, &y);
		tensor_free(&y);
		relu_forward(&x);

		rep->norm[b] = tensor_norm(&x);
		rep->asleep[b] = tensor_zeros(&x);
		rep->peak[b] = tensor_max(&x);

		y = maxpool_forward(&x, b == 0 ? 3 : 2, 2);
		tensor_free(&x);
		x = y;
	}

	struct tensor pooled = avgpool_global(&x);
	tensor_free(&x);
	standardize(&pooled);
	struct tensor h = dense_forward(&net->hidden, &pooled);
	tensor_free(&pooled);
	relu_forward(&h);
	struct tensor out = dense_forward(&net->out, &h);
	tensor_free(&h);
	softmax_forward(&out);
	return out;
}
