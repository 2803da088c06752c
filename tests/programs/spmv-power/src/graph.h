#ifndef GRAPH_H
#define GRAPH_H

#include "csr.h"

/* graph.c */
edge_t *graph_generate(vertex_t n, size_t m, uint64_t seed);

/* pagerank.c */
struct pr_result {
	int iterations;
	double delta;
	double dangling;
};
struct pr_result pagerank(const csr_t *in, const size_t *out_degree,
			  double damping, double tol, int max_iter, double *rank);

/* eigen.c */
struct eig_result {
	int iterations;
	double lambda;
	double mean_row;
};
csr_t *symmetric_part(const csr_t *a, const csr_t *at);
struct eig_result largest_eigenvalue(const csr_t *s, double tol, int max_iter,
				     double *x);

/* components.c */
vertex_t count_components(const csr_t *s, vertex_t *label, vertex_t *largest);

#endif
