/*
 * spmv-power VERTICES EDGES TOLERANCE SEED
 *
 * Builds a random web of pages, ranks them, and reports the largest
 * eigenvalue of its weighted undirected version.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "graph.h"

#define TOP 10

static void print_top(const double *rank, vertex_t n, const size_t *out_degree,
		      const csr_t *in)
{
	vertex_t best[TOP];
	int count = 0;

	for (vertex_t v = 0; v < n; v++) {
		int p = count;

		while (p > 0 && rank[best[p - 1]] < rank[v]) {
			if (p < TOP)
				best[p] = best[p - 1];
			p--;
		}
		if (p < TOP) {
			best[p] = v;
			if (count < TOP)
				count++;
		}
	}
	printf("  place  page       in    out   rank\n");
	for (int i = 0; i < count; i++)
		printf("  %5d  %-8u %5zu  %5zu   %.10g\n", i + 1, best[i],
		       csr_degree(in, best[i]), out_degree[best[i]], rank[best[i]]);
}

static double rank_entropy(const double *rank, long n)
{
	double h = 0.0;

#pragma omp parallel for reduction(+:h)
	for (long v = 0; v < n; v++)
		if (rank[v] > 0.0)
			h += rank[v] * log2(rank[v]);
	return -h;
}

int main(int argc, char *argv[])
{
	if (argc != 5) {
		fprintf(stderr, "usage: %s vertices edges tolerance seed\n", argv[0]);
		return 2;
	}

	vertex_t n = (vertex_t)strtoul(argv[1], NULL, 10);
	size_t m = strtoull(argv[2], NULL, 10);
	double tol = atof(argv[3]);
	uint64_t seed = strtoull(argv[4], NULL, 10);

	if (n < 2 || m < 1) {
		fprintf(stderr, "%s: the graph is too small\n", argv[0]);
		return 2;
	}

	edge_t *edges = graph_generate(n, m, seed);
	csr_t *out = csr_from_edges(n, edges, m);
	free(edges);
	csr_sort_rows(out);
	csr_unique(out);
	csr_t *in = csr_transpose(out);

	size_t *out_degree = xmalloc(n * sizeof(*out_degree));
	size_t max_out = 0, max_in = 0;
	vertex_t no_out = 0, no_in = 0;

	for (vertex_t v = 0; v < n; v++) {
		size_t di = csr_degree(in, v);

		out_degree[v] = csr_degree(out, v);
		if (out_degree[v] > max_out)
			max_out = out_degree[v];
		if (di > max_in)
			max_in = di;
		no_out += out_degree[v] == 0;
		no_in += di == 0;
	}
	printf("graph: %u pages, %zu links\n", n, out->nnz);
	printf("  largest out-degree %zu, in-degree %zu\n", max_out, max_in);
	printf("  %u pages without links, %u without links to them\n", no_out, no_in);

	double *rank = xmalloc(n * sizeof(*rank));
	const double dampings[] = { 0.5, 0.85, 0.95 };

	for (int d = 0; d < 3; d++) {
		struct pr_result r = pagerank(in, out_degree, dampings[d], tol, 500, rank);

		printf("pagerank, damping %.2f: %d iterations, %s\n", dampings[d],
		       r.iterations, r.delta <= tol ? "converged" : "not converged");
		printf("  rank in dead ends %.10g, entropy %.10g bits\n", r.dangling,
		       rank_entropy(rank, n));
	}
	print_top(rank, n, out_degree, in);

	csr_t *sym = symmetric_part(out, in);
	struct eig_result e = largest_eigenvalue(sym, tol, 300, rank);

	printf("undirected: %zu entries, %.6f in a row\n", sym->nnz, e.mean_row);
	printf("  largest eigenvalue %.9g after %d iterations\n", e.lambda, e.iterations);

	vertex_t *label = xmalloc(n * sizeof(*label));
	vertex_t largest;
	vertex_t parts = count_components(sym, label, &largest);

	printf("  %u connected parts, the largest has %u pages\n", parts, largest);

	free(label);
	csr_free(sym);
	free(rank);
	free(out_degree);
	csr_free(in);
	csr_free(out);
	return 0;
}
