#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kmeans.h"

static double distance2(const double *a, const double *b, int dims)
{
	double d = 0.0;
	int j;

	for (j = 0; j < dims; j++) {
		double t = a[j] - b[j];

		d += t * t;
	}
	return d;
}

/* Seeds far from each other: each next one is drawn with odds that grow with
 * the distance from those there are. */
int kmeans_init(struct clustering *c, const struct points *p, int k, unsigned seed)
{
	double *near, sum, pick;
	int i, m, chosen;
	unsigned s = seed;

	if (k < 1 || k > MAX_K || k > p->n)
		return -1;
	c->k = k;
	c->dims = p->dims;
	c->member = malloc((size_t)p->n * sizeof(int));
	near = malloc((size_t)p->n * sizeof(double));
	if (c->member == NULL || near == NULL) {
		free(c->member);
		free(near);
		return -1;
	}
	for (i = 0; i < p->n; i++) {
		c->member[i] = -1;
		near[i] = DBL_MAX;
	}
	chosen = (int)(seed % (unsigned)p->n);
	for (m = 0; m < k; m++) {
		memcpy(c->centre[m], p->x + (size_t)chosen * p->dims,
		       p->dims * sizeof(double));
		sum = 0.0;
		for (i = 0; i < p->n; i++) {
			double d = distance2(p->x + (size_t)i * p->dims,
					     c->centre[m], p->dims);

			if (d < near[i])
				near[i] = d;
			sum += near[i];
		}
		s = s * 1664525u + 1013904223u;
		pick = sum * ((s >> 8) + 0.5) / 16777216.0;
		chosen = 0;
		while (chosen < p->n - 1 && pick > near[chosen]) {
			pick -= near[chosen];
			chosen++;
		}
	}
	free(near);
	return 0;
}

void kmeans_run(struct clustering *c, const struct points *p, int max_rounds)
{
	int n = p->n, k = c->k, dims = p->dims;
	double sums[MAX_K][MAX_DIMS];
	int i, j, m, moved;
	double inertia;

	for (c->rounds = 0; c->rounds < max_rounds; ) {
		memset(sums, 0, sizeof sums);
		for (m = 0; m < k; m++)
			c->size[m] = 0;
		moved = 0;
		inertia = 0.0;

#pragma omp parallel private(i, j, m)
		{
			double my_sums[MAX_K][MAX_DIMS];
			int my_size[MAX_K];
			int my_moved = 0;
			double my_inertia = 0.0;

			memset(my_sums, 0, sizeof my_sums);
			memset(my_size, 0, sizeof my_size);

#pragma omp for nowait
			for (i = 0; i < n; i++) {
				const double *x = p->x + (size_t)i * dims;
				double best = DBL_MAX;
				int bestk = 0;

				for (m = 0; m < k; m++) {
					double d = distance2(x, c->centre[m], dims);

					if (d < best) {
						best = d;
						bestk = m;
					}
				}
				if (c->member[i] != bestk) {
					c->member[i] = bestk;
					my_moved++;
				}
				my_inertia += best;
				my_size[bestk]++;
				for (j = 0; j < dims; j++)
					my_sums[bestk][j] += x[j];
			}

#pragma omp critical
			{
				for (m = 0; m < k; m++) {
					c->size[m] += my_size[m];
					for (j = 0; j < dims; j++)
						sums[m][j] += my_sums[m][j];
				}
				moved += my_moved;
				inertia += my_inertia;
			}
		}

		for (m = 0; m < k; m++)
			if (c->size[m] > 0)
				for (j = 0; j < dims; j++)
					c->centre[m][j] = sums[m][j] / c->size[m];
		c->inertia = inertia;
		c->rounds++;
		if (moved == 0)
			break;
	}
}

/* Simplified silhouette: own centre against the nearest other one. */
double kmeans_silhouette(const struct clustering *c, const struct points *p)
{
	double total = 0.0;
	int i, m;

	if (c->k < 2)
		return 0.0;
#pragma omp parallel for private(m) reduction(+:total)
	for (i = 0; i < p->n; i++) {
		const double *x = p->x + (size_t)i * p->dims;
		double own = sqrt(distance2(x, c->centre[c->member[i]], p->dims));
		double other = DBL_MAX, larger;

		for (m = 0; m < c->k; m++) {
			double d;

			if (m == c->member[i])
				continue;
			d = sqrt(distance2(x, c->centre[m], p->dims));
			if (d < other)
				other = d;
		}
		larger = own > other ? own : other;
		total += larger > 0.0 ? (other - own) / larger : 0.0;
	}
	return total / p->n;
}

/* Share of points whose cluster is mostly of their own cloud. */
double kmeans_purity(const struct clustering *c, const struct points *p, int clouds)
{
	static int table[MAX_K][MAX_CLOUDS];
	int i, m, t, good = 0;

	memset(table, 0, sizeof table);
	for (i = 0; i < p->n; i++)
		table[c->member[i]][p->truth[i]]++;
	for (m = 0; m < c->k; m++) {
		int most = 0;

		for (t = 0; t < clouds; t++)
			if (table[m][t] > most)
				most = table[m][t];
		good += most;
	}
	return (double)good / p->n;
}

void kmeans_free(struct clustering *c)
{
	free(c->member);
	c->member = NULL;
}
