#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csr.h"

void *xmalloc(size_t bytes)
{
	void *p = malloc(bytes ? bytes : 1);

	if (!p) {
		fprintf(stderr, "cannot allocate %zu bytes\n", bytes);
		exit(1);
	}
	return p;
}

static csr_t *csr_new(vertex_t n, size_t nnz)
{
	csr_t *a = xmalloc(sizeof(*a));

	a->n = n;
	a->nnz = nnz;
	a->row_ptr = xmalloc((n + (size_t)1) * sizeof(*a->row_ptr));
	a->col = xmalloc(nnz * sizeof(*a->col));
	a->val = NULL;
	memset(a->row_ptr, 0, (n + (size_t)1) * sizeof(*a->row_ptr));
	return a;
}

/* counting sort of the edges by their source */
csr_t *csr_from_edges(vertex_t n, const edge_t *edges, size_t m)
{
	csr_t *a = csr_new(n, m);
	size_t *next = xmalloc(n * sizeof(*next));
	size_t k;
	vertex_t v;

	for (k = 0; k < m; k++)
		a->row_ptr[edges[k].from + 1]++;
	for (v = 0; v < n; v++)
		a->row_ptr[v + 1] += a->row_ptr[v];
	for (v = 0; v < n; v++)
		next[v] = a->row_ptr[v];
	for (k = 0; k < m; k++)
		a->col[next[edges[k].from]++] = edges[k].to;

	free(next);
	return a;
}

csr_t *csr_transpose(const csr_t *a)
{
	csr_t *t = csr_new(a->n, a->nnz);
	size_t *next = xmalloc(a->n * sizeof(*next));
	size_t k;
	vertex_t v;

	for (k = 0; k < a->nnz; k++)
		t->row_ptr[a->col[k] + 1]++;
	for (v = 0; v < a->n; v++)
		t->row_ptr[v + 1] += t->row_ptr[v];
	memcpy(next, t->row_ptr, a->n * sizeof(*next));
	for (v = 0; v < a->n; v++)
		for (k = a->row_ptr[v]; k < a->row_ptr[v + 1]; k++)
			t->col[next[a->col[k]]++] = v;

	free(next);
	return t;
}

static int by_vertex(const void *x, const void *y)
{
	vertex_t a = *(const vertex_t *)x, b = *(const vertex_t *)y;

	return (a > b) - (a < b);
}

void csr_sort_rows(csr_t *a)
{
	long v;

#pragma omp parallel for schedule(dynamic, 256)
	for (v = 0; v < (long)a->n; v++) {
		vertex_t *row = a->col + a->row_ptr[v];
		size_t len = csr_degree(a, (vertex_t)v);

		if (len > 32) {
			qsort(row, len, sizeof(*row), by_vertex);
		} else {
			for (size_t i = 1; i < len; i++) {
				vertex_t x = row[i];
				size_t j = i;

				while (j > 0 && row[j - 1] > x) {
					row[j] = row[j - 1];
					j--;
				}
				row[j] = x;
			}
		}
	}
}

/* drops double entries and the diagonal; rows have to be sorted */
void csr_unique(csr_t *a)
{
	size_t out = 0, begin = 0;

	for (vertex_t v = 0; v < a->n; v++) {
		size_t end = a->row_ptr[v + 1];
		size_t first = out;

		for (size_t k = begin; k < end; k++) {
			vertex_t c = a->col[k];

			if (c == v)
				continue;
			if (out > first && a->col[out - 1] == c)
				continue;
			a->col[out++] = c;
		}
		begin = end;
		a->row_ptr[v + 1] = out;
	}
	a->nnz = out;
}

void csr_free(csr_t *a)
{
	if (!a)
		return;
	free(a->row_ptr);
	free(a->col);
	free(a->val);
	free(a);
}
