#include <math.h>
#include <stdlib.h>

#include "graph.h"

/*
 * The links between pages without their direction, weighted so that a link
 * between two busy pages counts less: w = 1 / sqrt(1 + min(deg)).
 * Rows of a and at are sorted; they are merged.
 */
csr_t *symmetric_part(const csr_t *a, const csr_t *at)
{
	csr_t *s = xmalloc(sizeof(*s));
	long n = a->n;

	s->n = a->n;
	s->row_ptr = xmalloc(((size_t)n + 1) * sizeof(*s->row_ptr));
	s->row_ptr[0] = 0;

#pragma omp parallel for schedule(guided)
	for (long v = 0; v < n; v++) {
		size_t i = a->row_ptr[v], iend = a->row_ptr[v + 1];
		size_t j = at->row_ptr[v], jend = at->row_ptr[v + 1];
		size_t count = 0;

		while (i < iend && j < jend) {
			vertex_t p = a->col[i], q = at->col[j];

			i += p <= q;
			j += q <= p;
			count++;
		}
		s->row_ptr[v + 1] = count + (iend - i) + (jend - j);
	}

	for (long v = 0; v < n; v++)
		s->row_ptr[v + 1] += s->row_ptr[v];
	s->nnz = s->row_ptr[n];
	s->col = xmalloc(s->nnz * sizeof(*s->col));
	s->val = xmalloc(s->nnz * sizeof(*s->val));

#pragma omp parallel for schedule(guided)
	for (long v = 0; v < n; v++) {
		size_t i = a->row_ptr[v], iend = a->row_ptr[v + 1];
		size_t j = at->row_ptr[v], jend = at->row_ptr[v + 1];
		size_t k = s->row_ptr[v];
		size_t dv = s->row_ptr[v + 1] - s->row_ptr[v];

		while (i < iend || j < jend) {
			vertex_t c;

			if (j == jend || (i < iend && a->col[i] < at->col[j])) {
				c = a->col[i++];
			} else if (i == iend || at->col[j] < a->col[i]) {
				c = at->col[j++];
			} else {
				c = a->col[i++];
				j++;
			}
			size_t dc = s->row_ptr[c + 1] - s->row_ptr[c];

			s->col[k] = c;
			s->val[k] = 1.0 / sqrt(1.0 + (double)(dv < dc ? dv : dc));
			k++;
		}
	}
	return s;
}

struct eig_result largest_eigenvalue(const csr_t *s, double tol, int max_iter,
				     double *x)
{
	struct eig_result res = { 0, 0.0, 0.0 };
	long n = s->n, i;
	double *y = xmalloc((size_t)n * sizeof(double));
	double lambda = 0.0, norm2 = 0.0, xy = 0.0, change = 1.0;
	int iter = 0, done = 0;

	for (i = 0; i < n; i++)
		x[i] = 1.0 / sqrt((double)n);

#pragma omp parallel private(i)
	{
		while (!done) {
#pragma omp for schedule(dynamic, 512) reduction(+:norm2, xy)
			for (i = 0; i < n; i++) {
				double sum = 0.0;

				for (size_t k = s->row_ptr[i]; k < s->row_ptr[i + 1]; k++)
					sum += s->val[k] * x[s->col[k]];
				y[i] = sum;
				norm2 += sum * sum;
				xy += sum * x[i];
			}

			double scale = 1.0 / sqrt(norm2);

#pragma omp for nowait
			for (i = 0; i < n; i++)
				x[i] = y[i] * scale;

#pragma omp barrier
#pragma omp single
			{
				change = fabs(xy - lambda) / fabs(xy);
				lambda = xy;
				norm2 = 0.0;
				xy = 0.0;
				iter++;
				if (change < tol || iter >= max_iter)
					done = 1;
			}
			/* the barrier of single keeps `done` in step */
		}
	}

	res.iterations = iter;
	res.lambda = lambda;
	res.mean_row = (double)s->nnz / n;
	free(y);
	return res;
}
