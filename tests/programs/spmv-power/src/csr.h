#ifndef CSR_H
#define CSR_H

#include <stdint.h>
#include <stddef.h>

typedef uint32_t vertex_t;

/* rows of a sparse matrix one after the other; val may be NULL (all ones) */
typedef struct {
	vertex_t   n;
	size_t     nnz;
	size_t    *row_ptr;	/* n + 1 */
	vertex_t  *col;		/* nnz */
	double    *val;		/* nnz or NULL */
} csr_t;

typedef struct {
	vertex_t from, to;
} edge_t;

csr_t *csr_from_edges(vertex_t n, const edge_t *edges, size_t m);
csr_t *csr_transpose(const csr_t *a);
void   csr_sort_rows(csr_t *a);
void   csr_unique(csr_t *a);
void   csr_free(csr_t *a);

void *xmalloc(size_t bytes);

static inline size_t csr_degree(const csr_t *a, vertex_t v)
{
	return a->row_ptr[v + 1] - a->row_ptr[v];
}

#endif
