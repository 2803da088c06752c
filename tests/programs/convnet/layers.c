#include <assert.h>
#include <float.h>
#include <math.h>

#include "layers.h"

static int out_extent(int in, int k, int stride, int pad)
{
	return (in + 2 * pad - k) / stride + 1;
}

struct tensor conv_forward(const struct conv_layer *l, const struct tensor *x)
{
	assert(x->c == l->in);
	struct tensor y = tensor_new(x->n, l->out, out_extent(x->h, l->k, l->stride, l->pad),
				     out_extent(x->w, l->k, l->stride, l->pad));

#pragma omp parallel for collapse(2) schedule(static)
	for (int n = 0; n < y.n; n++) {
		for (int o = 0; o < y.c; o++) {
			for (int i = 0; i < y.h; i++) {
				for (int j = 0; j < y.w; j++) {
					float sum = l->bias[o];

					for (int c = 0; c < l->in; c++) {
						for (int p = 0; p < l->k; p++) {
							int row = i * l->stride + p - l->pad;

							if (row < 0 || row >= x->h)
								continue;
							for (int q = 0; q < l->k; q++) {
								int col = j * l->stride + q - l->pad;

								if (col >= 0 && col < x->w)
									sum += x->data[tensor_at(x, n, c, row, col)] *
									       l->weight[((o * l->in + c) * l->k + p) * l->k + q];
							}
						}
					}
					y.data[tensor_at(&y, n, o, i, j)] = sum;
				}
			}
		}
	}
	return y;
}

/* one filter per channel, adds tap by tap into the output */
struct tensor depthwise_forward(const struct conv_layer *l, const struct tensor *x)
{
	assert(x->c == l->in && l->in == l->out);
	struct tensor y = tensor_new(x->n, l->out, out_extent(x->h, l->k, l->stride, l->pad),
				     out_extent(x->w, l->k, l->stride, l->pad));

#pragma omp parallel for collapse(2)
	for (int n = 0; n < y.n; n++) {
		for (int c = 0; c < y.c; c++) {
			float *out = y.data + tensor_at(&y, n, c, 0, 0);
			const float *in = x->data + tensor_at(x, n, c, 0, 0);

			for (int i = 0; i < y.h * y.w; i++)
				out[i] = l->bias[c];
			for (int p = 0; p < l->k; p++) {
				for (int q = 0; q < l->k; q++) {
					float w = l->weight[(c * l->k + p) * l->k + q];

					for (int i = 0; i < y.h; i++) {
						int row = i * l->stride + p - l->pad;

						if (row < 0 || row >= x->h)
							continue;
						for (int j = 0; j < y.w; j++) {
							int col = j * l->stride + q - l->pad;

							if (col < 0 || col >= x->w)
								continue;
							out[i * y.w + j] += w * in[row * x->w + col];
						}
					}
				}
			}
		}
	}
	return y;
}

void norm_forward(const struct norm_layer *l, struct tensor *x)
{
	const float eps = 1e-5f;
	int area = x->h * x->w;

#pragma omp parallel for collapse(2)
	for (int n = 0; n < x->n; n++) {
		for (int c = 0; c < x->c; c++) {
			float scale = l->gamma[c] / sqrtf(l->var[c] + eps);
			float shift = l->beta[c] - l->mean[c] * scale;
			float *p = x->data + tensor_at(x, n, c, 0, 0);

			for (int i = 0; i < area; i++)
				p[i] = p[i] * scale + shift;
		}
	}
}

void relu_forward(struct tensor *x)
{
	size_t size = tensor_size(x);

#pragma omp parallel for
	for (size_t i = 0; i < size; i++)
		if (x->data[i] < 0.0f)
			x->data[i] = 0.0f;
}

void add_forward(struct tensor *x, const struct tensor *skip)
{
	size_t size = tensor_size(x);

#pragma omp parallel for simd
	for (size_t i = 0; i < size; i++)
		x->data[i] += skip->data[i];
}

struct tensor maxpool_forward(const struct tensor *x, int size, int stride)
{
	struct tensor y = tensor_new(x->n, x->c, (x->h - 1) / stride + 1, (x->w - 1) / stride + 1);

#pragma omp parallel for collapse(2)
	for (int n = 0; n < y.n; n++)
		for (int c = 0; c < y.c; c++)
			for (int i = 0; i < y.h; i++)
				for (int j = 0; j < y.w; j++) {
					float best = -FLT_MAX;

					for (int p = 0; p < size; p++)
						for (int q = 0; q < size; q++) {
							int row = i * stride + p;
							int col = j * stride + q;

							/* windows at the rim are smaller */
							if (row >= x->h || col >= x->w)
								break;
							float v = x->data[tensor_at(x, n, c, row, col)];
							best = v > best ? v : best;
						}
					y.data[tensor_at(&y, n, c, i, j)] = best;
				}
	return y;
}

struct tensor avgpool_global(const struct tensor *x)
{
	struct tensor y = tensor_new(x->n, x->c, 1, 1);
	int area = x->h * x->w;

#pragma omp parallel for collapse(2)
	for (int n = 0; n < x->n; n++)
		for (int c = 0; c < x->c; c++) {
			float sum = 0.0f;

			for (int i = 0; i < area; i++)
				sum += x->data[tensor_at(x, n, c, 0, 0) + i];
			y.data[tensor_at(&y, n, c, 0, 0)] = sum / area;
		}
	return y;
}

/* every feature to mean 0 and deviation 1 over the batch */
void standardize(struct tensor *x)
{
	int len = x->c * x->h * x->w;

#pragma omp parallel for
	for (int i = 0; i < len; i++) {
		float mean = 0.0f, var = 0.0f;

		for (int n = 0; n < x->n; n++)
			mean += x->data[n * len + i];
		mean /= x->n;
		for (int n = 0; n < x->n; n++) {
			float d = x->data[n * len + i] - mean;
			var += d * d;
		}
		float scale = 1.0f / sqrtf(var / x->n + 1e-4f);
		for (int n = 0; n < x->n; n++)
			x->data[n * len + i] = (x->data[n * len + i] - mean) * scale;
	}
}

struct tensor dense_forward(const struct dense_layer *l, const struct tensor *x)
{
	assert(x->c * x->h * x->w == l->in);
	struct tensor y = tensor_new(x->n, l->out, 1, 1);

#pragma omp parallel for collapse(2)
	for (int n = 0; n < x->n; n++)
		for (int o = 0; o < l->out; o++) {
			const float *in = x->data + (size_t)n * l->in;
			const float *w = l->weight + (size_t)o * l->in;
			float sum = l->bias[o];

			for (int i = 0; i < l->in; i++)
				sum += w[i] * in[i];
			y.data[n * l->out + o] = sum;
		}
	return y;
}

void softmax_forward(struct tensor *x)
{
	int len = x->c * x->h * x->w;

	for (int n = 0; n < x->n; n++) {
		float *p = x->data + (size_t)n * len;
		float top = p[0], sum = 0.0f;

		for (int i = 1; i < len; i++)
			if (p[i] > top)
				top = p[i];
		for (int i = 0; i < len; i++) {
			p[i] = expf(p[i] - top);
			sum += p[i];
		}
		for (int i = 0; i < len; i++)
			p[i] /= sum;
	}
}
