#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "points.h"

static const char *skip_blanks(const char *s)
{
	while (*s != '\0' && isspace((unsigned char)*s))
		s++;
	return s;
}

static int parse_cloud(const char *line, int dims, struct cloud *c)
{
	char *end;
	int i;

	c->weight = strtod(line, &end);
	if (end == line)
		return -1;
	line = end;
	c->spread = strtod(line, &end);
	if (end == line)
		return -1;
	for (i = 0; i < dims; i++) {
		line = end;
		c->centre[i] = strtod(line, &end);
		if (end == line)
			return -1;
	}
	return c->weight > 0.0 && c->spread >= 0.0 ? 0 : -1;
}

int mixture_read(struct mixture *m)
{
	char buffer[1024];
	const char *line;
	int number = 0;

	m->dims = 0;
	m->clouds = 0;
	while (fgets(buffer, sizeof buffer, stdin) != NULL) {
		number++;
		line = skip_blanks(buffer);
		if (*line == '\0' || *line == '#')
			continue;
		if (strncmp(line, "end", 3) == 0)
			break;
		if (strncmp(line, "dims", 4) == 0) {
			m->dims = atoi(line + 4);
			if (m->dims < 1 || m->dims > MAX_DIMS) {
				fprintf(stderr, "line %d: dims out of range\n", number);
				return -1;
			}
			continue;
		}
		if (m->dims == 0 || m->clouds == MAX_CLOUDS ||
		    parse_cloud(line, m->dims, &m->cloud[m->clouds]) != 0) {
			fprintf(stderr, "line %d: cannot use it\n", number);
			return -1;
		}
		m->clouds++;
	}
	return m->clouds > 0 ? 0 : -1;
}

/* Marsaglia's multiply-with-carry */
static unsigned mwc_z, mwc_w;

static double random01(void)
{
	mwc_z = 36969 * (mwc_z & 65535) + (mwc_z >> 16);
	mwc_w = 18000 * (mwc_w & 65535) + (mwc_w >> 16);
	return (((mwc_z << 16) + mwc_w) + 0.5) / 4294967296.0;
}

static double random_normal(void)
{
	double u, v, s;

	do {
		u = 2.0 * random01() - 1.0;
		v = 2.0 * random01() - 1.0;
		s = u * u + v * v;
	} while (s >= 1.0 || s == 0.0);
	return u * sqrt(-2.0 * log(s) / s);
}

int points_generate(struct points *p, const struct mixture *m, int n, unsigned seed)
{
	double total = 0.0;
	int i, j, c;

	p->n = n;
	p->dims = m->dims;
	p->x = malloc((size_t)n * m->dims * sizeof(double));
	p->truth = malloc((size_t)n * sizeof(int));
	if (p->x == NULL || p->truth == NULL) {
		points_free(p);
		return -1;
	}
	mwc_z = 362436069 + seed;
	mwc_w = 521288629;
	for (c = 0; c < m->clouds; c++)
		total += m->cloud[c].weight;
	for (i = 0; i < n; i++) {
		double pick = total * random01();

		c = 0;
		while (c < m->clouds - 1 && pick > m->cloud[c].weight) {
			pick -= m->cloud[c].weight;
			c++;
		}
		p->truth[i] = c;
		for (j = 0; j < m->dims; j++)
			p->x[(size_t)i * m->dims + j] = m->cloud[c].centre[j] +
				m->cloud[c].spread * random_normal();
	}
	return 0;
}

/* Mean 0 and variance 1 in each dimension. */
void points_scale(struct points *p)
{
	int i, j, d = p->dims;

	for (j = 0; j < d; j++) {
		double sum = 0.0, squares = 0.0, mean, inverse;

		for (i = 0; i < p->n; i++)
			sum += p->x[(size_t)i * d + j];
		mean = sum / p->n;
		for (i = 0; i < p->n; i++) {
			double t = p->x[(size_t)i * d + j] - mean;

			squares += t * t;
		}
		inverse = squares > 0.0 ? 1.0 / sqrt(squares / p->n) : 1.0;
		for (i = 0; i < p->n; i++)
			p->x[(size_t)i * d + j] = (p->x[(size_t)i * d + j] - mean) * inverse;
	}
}

void points_free(struct points *p)
{
	free(p->x);
	free(p->truth);
	p->x = NULL;
	p->truth = NULL;
}
