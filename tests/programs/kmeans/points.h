#ifndef POINTS_H
#define POINTS_H

#define MAX_DIMS 32
#define MAX_CLOUDS 64

struct cloud {
	double weight;
	double spread;
	double centre[MAX_DIMS];
};

struct mixture {
	int dims;
	int clouds;
	struct cloud cloud[MAX_CLOUDS];
};

/* one point after the other, dims numbers each */
struct points {
	int n;
	int dims;
	double *x;
	int *truth;		/* the cloud each came from */
};

int mixture_read(struct mixture *m);
int points_generate(struct points *p, const struct mixture *m, int n, unsigned seed);
void points_scale(struct points *p);
void points_free(struct points *p);

#endif
