/* made-up pictures: a shape on a striped background, with noise */
#include <math.h>
#include <stdlib.h>

#include "net.h"

static unsigned hash(unsigned x)
{
	x ^= x >> 16;
	x *= 0x7feb352du;
	x ^= x >> 15;
	x *= 0x846ca68bu;
	x ^= x >> 16;
	return x;
}

static int inside(int shape, float u, float v)
{
	switch (shape % 5) {
	case 0:
		return u * u + v * v < 0.2f;
	case 1:
		return fabsf(u) < 0.4f && fabsf(v) < 0.3f;
	case 2:
		return fabsf(u) + fabsf(v) < 0.5f;
	case 3:
		return u * u + v * v < 0.3f && u * u + v * v > 0.12f;
	default:
		return fabsf(u) < 0.12f || fabsf(v) < 0.12f;
	}
}

void images_fill(struct tensor *x, int *label, unsigned seed)
{
#pragma omp parallel for
	for (int n = 0; n < x->n; n++) {
		unsigned key = hash(seed * 7919u + (unsigned)n);
		int shape = (int)(key % CLASSES);
		float angle = (key >> 8) % 64 * 0.1f;
		float ca = cosf(angle), sa = sinf(angle);

		label[n] = shape;
		for (int c = 0; c < x->c; c++)
			for (int i = 0; i < x->h; i++)
				for (int j = 0; j < x->w; j++) {
					float u = 2.0f * (j + 0.5f) / x->w - 1.0f;
					float v = 2.0f * (i + 0.5f) / x->h - 1.0f;
					float ur = ca * u - sa * v, vr = sa * u + ca * v;
					unsigned h = hash(key ^ (unsigned)tensor_at(x, 0, c, i, j));
					float value = 0.3f * sinf((5 + c) * ur);

					if (inside(shape, ur, vr))
						value = shape < 5 ? 0.9f - 0.3f * c : 0.2f + 0.3f * c;
					x->data[tensor_at(x, n, c, i, j)] =
						value + 0.1f * ((h & 0xffff) / 65536.0f - 0.5f);
				}
	}
}
