#ifndef KMEANS_H
#define KMEANS_H

#include "points.h"

#define MAX_K 64

struct clustering {
	int k;
	int dims;
	double centre[MAX_K][MAX_DIMS];
	int size[MAX_K];
	int *member;		/* of each point */
	double inertia;		/* sum of squared distances */
	int rounds;
};

int kmeans_init(struct clustering *c, const struct points *p, int k, unsigned seed);
void kmeans_run(struct clustering *c, const struct points *p, int max_rounds);
double kmeans_silhouette(const struct clustering *c, const struct points *p);
double kmeans_purity(const struct clustering *c, const struct points *p, int clouds);
void kmeans_free(struct clustering *c);

#endif
