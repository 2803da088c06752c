#include <math.h>
#include <stdlib.h>

#include "graph.h"

/*
 * Pulls the rank of every page from the pages that link to it.  The whole
 * iteration is one parallel region; `delta`, `dangling` and `iter` are
 * shared and reset by one thread between the sweeps.
 */
struct pr_result pagerank(const csr_t *in, const size_t *out_degree,
			  double damping, double tol, int max_iter, double *rank)
{
	struct pr_result res = { 0, 0.0, 0.0 };
	long n = in->n;
	double *share = xmalloc((size_t)n * sizeof(double));
	double delta = 1.0, dangling = 0.0;
	int iter = 0;

#pragma omp parallel
	{
		long v;

#pragma omp for
		for (v = 0; v < n; v++)
			rank[v] = 1.0 / n;

		while (delta > tol && iter < max_iter) {
			/* all threads have read the condition before it changes */
#pragma omp barrier
#pragma omp single
			{
				delta = 0.0;
				dangling = 0.0;
				iter++;
			}

#pragma omp for reduction(+:dangling)
			for (v = 0; v < n; v++) {
				if (out_degree[v] == 0) {
					dangling += rank[v];
					share[v] = 0.0;
				} else {
					share[v] = rank[v] / out_degree[v];
				}
			}

			double base = (1.0 - damping) / n + damping * dangling / n;

#pragma omp for schedule(dynamic, 1024) reduction(+:delta)
			for (v = 0; v < n; v++) {
				double sum = 0.0;
				size_t k = in->row_ptr[v];
				size_t end = in->row_ptr[v + 1];

				while (k < end) {
					sum += share[in->col[k]];
					k++;
				}
				sum = base + damping * sum;
				delta += fabs(sum - rank[v]);
				rank[v] = sum;
			}
		}
	}

	res.iterations = iter;
	res.delta = delta;
	res.dangling = dangling;
	free(share);
	return res;
}
