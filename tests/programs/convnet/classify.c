/*
 * convnet IMAGES SIZE SEED
 *
 * Classifies made-up pictures by a network with weights out of a generator.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "net.h"

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 4;
	int size = argc > 2 ? atoi(argv[2]) : 32;
	unsigned seed = argc > 3 ? (unsigned)atoi(argv[3]) : 5u;

	if (n < 1 || size < 8) {
		fprintf(stderr, "usage: %s images size seed\n", argv[0]);
		return 2;
	}

	struct net net;
	struct report rep;
	int *label = malloc(n * sizeof(*label));
	int *guess = malloc(n * sizeof(*guess));
	if (!label || !guess)
		return 1;

	net_init(&net, seed);
	struct tensor images = tensor_new(n, 3, size, size);
	images_fill(&images, label, seed);
	printf("%d images of %d x %d, %ld parameters\n", n, size, size, net_parameters(&net));
	printf("images: norm %.6g, mean %.6g\n", tensor_norm(&images), tensor_mean(&images));

	struct tensor prob = net_forward(&net, &images, &rep);

	for (int b = 0; b < BLOCKS; b++)
		printf("block %d: norm %.6g, largest %.6g, asleep %.2f %%\n", b + 1, rep.norm[b],
		       rep.peak[b], 100.0 * rep.asleep[b]);

	int votes[CLASSES] = { 0 };
	double entropy = 0.0, confidence = 0.0;

	for (int i = 0; i < n; i++) {
		const float *p = prob.data + i * CLASSES;
		int best = 0;

		for (int k = 0; k < CLASSES; k++) {
			if (p[k] > p[best])
				best = k;
			if (p[k] > 0.0f)
				entropy -= p[k] * log((double)p[k]);
		}
		guess[i] = best;
		votes[best]++;
		confidence += p[best];
	}
	for (int i = 0; i < n && i < 12; i++)
		printf("  image %2d shape %d: class %d with %.5f\n", i, label[i], guess[i],
		       prob.data[i * CLASSES + guess[i]]);
	printf("votes:");
	for (int k = 0; k < CLASSES; k++)
		printf(" %d", votes[k]);
	printf("\nmean confidence %.6g, mean entropy %.6g\n", confidence / n, entropy / n);

	tensor_free(&prob);
	tensor_free(&images);
	net_free(&net);
	free(label);
	free(guess);
	return 0;
}
