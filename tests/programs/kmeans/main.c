/*
 * Clusters of points drawn from a mixture that is read from the standard
 * input.
 *
 *	kmeans points [from k] [to k] [rounds] < mixture.txt
 *
 * Tries every k and says which has the best silhouette.
 */
#include <stdio.h>
#include <stdlib.h>

#include "kmeans.h"

static void print_clusters(const struct clustering *c)
{
	int m, j;

	for (m = 0; m < c->k; m++) {
		double length = 0.0;

		for (j = 0; j < c->dims; j++)
			length += c->centre[m][j] * c->centre[m][j];
		printf("  %2d: %7d points, first coordinate %.9g, |centre|^2 %.9g\n", m,
		       c->size[m], c->centre[m][0], length);
	}
}

int main(int argc, char **argv)
{
	static struct mixture mixture;
	static struct clustering c;
	struct points p;
	int n = argc > 1 ? atoi(argv[1]) : 10000;
	int from = argc > 2 ? atoi(argv[2]) : 8;
	int to = argc > 3 ? atoi(argv[3]) : 12;
	int rounds = argc > 4 ? atoi(argv[4]) : 50;
	double best = -2.0;
	int k, bestk = 0;

	if (n < 2 || from < 1 || to < from || to > MAX_K || rounds < 1) {
		fprintf(stderr, "usage: %s points from-k to-k rounds < mixture\n", argv[0]);
		return 2;
	}
	if (mixture_read(&mixture) != 0) {
		fprintf(stderr, "%s: no mixture on the standard input\n", argv[0]);
		return 1;
	}
	if (points_generate(&p, &mixture, n, 1u) != 0) {
		fprintf(stderr, "%s: no memory for %d points\n", argv[0], n);
		return 1;
	}
	points_scale(&p);
	printf("%d points in %d dimensions from %d clouds\n", p.n, p.dims, mixture.clouds);

	for (k = from; k <= to; k++) {
		double s;

		if (kmeans_init(&c, &p, k, 17u) != 0) {
			fprintf(stderr, "%s: cannot start with k = %d\n", argv[0], k);
			points_free(&p);
			return 1;
		}
		kmeans_run(&c, &p, rounds);
		s = kmeans_silhouette(&c, &p);
		printf("k %d: %d rounds, inertia %.9g, silhouette %.9g, purity %.6f\n", k,
		       c.rounds, c.inertia, s, kmeans_purity(&c, &p, mixture.clouds));
		if (k == to)
			print_clusters(&c);
		if (s > best) {
			best = s;
			bestk = k;
		}
		kmeans_free(&c);
	}
	printf("best k %d\n", bestk);
	points_free(&p);
	return 0;
}
