#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csr.h"

void edge_list_init(struct edge_list *l, int capacity)
{
    l->count = 0;
    l->capacity = capacity > 0 ? capacity : 16;
    l->e = malloc((size_t)l->capacity * sizeof(*l->e));
    if (l->e == NULL) {
        fprintf(stderr, "cg: no memory for %d edges\n", l->capacity);
        exit(1);
    }
}

void edge_list_add(struct edge_list *l, int from, int to, double weight)
{
    if (l->count == l->capacity) {
        struct edge *p;
        l->capacity *= 2;
        p = realloc(l->e, (size_t)l->capacity * sizeof(*p));
        if (p == NULL) {
            fprintf(stderr, "cg: no memory for %d edges\n", l->capacity);
            exit(1);
        }
        l->e = p;
    }
    l->e[l->count].from = from;
    l->e[l->count].to = to;
    l->e[l->count].weight = weight;
    l->count++;
}

void edge_list_free(struct edge_list *l)
{
    free(l->e);
    l->e = NULL;
    l->count = l->capacity = 0;
}

static void sort_row(int *col, double *val, int len)
{
    int i, j;

    for (i = 1; i < len; i++) {
        int c = col[i];
        double v = val[i];

        for (j = i - 1; j >= 0 && col[j] > c; j--) {
            col[j + 1] = col[j];
            val[j + 1] = val[j];
        }
        col[j + 1] = c;
        val[j + 1] = v;
    }
}

/* Adds up neighbours with the same column; returns the new length. */
static int merge_row(int *col, double *val, int len)
{
    int i, out = 0;

    for (i = 1; i < len; i++) {
        if (col[i] == col[out]) {
            val[out] += val[i];
        } else {
            out++;
            col[out] = col[i];
            val[out] = val[i];
        }
    }
    return len > 0 ? out + 1 : 0;
}

int csr_from_edges(struct csr *a, int n, const struct edge_list *l,
                   const double *shift)
{
    int i, k, nnz, start;
    int *fill;

    a->n = n;
    a->rowptr = calloc((size_t)n + 1, sizeof(int));
    fill = malloc((size_t)n * sizeof(int));
    nnz = n + 2 * l->count;
    a->col = malloc((size_t)nnz * sizeof(int));
    a->val = malloc((size_t)nnz * sizeof(double));
    if (!a->rowptr || !fill || !a->col || !a->val) {
        free(fill);
        csr_free(a);
        return -1;
    }

    /* how many entries each row has, the diagonal included */
    for (i = 0; i < n; i++)
        a->rowptr[i + 1] = 1;
    for (k = 0; k < l->count; k++) {
        a->rowptr[l->e[k].from + 1]++;
        a->rowptr[l->e[k].to + 1]++;
    }
    for (i = 0; i < n; i++)
        a->rowptr[i + 1] += a->rowptr[i];

    /* the diagonal first in each row */
    for (i = 0; i < n; i++) {
        fill[i] = a->rowptr[i];
        a->col[fill[i]] = i;
        a->val[fill[i]] = shift[i];
        fill[i]++;
    }
    for (k = 0; k < l->count; k++) {
        int p = l->e[k].from, q = l->e[k].to;
        double w = l->e[k].weight;

        a->col[fill[p]] = q;
        a->val[fill[p]++] = -w;
        a->col[fill[q]] = p;
        a->val[fill[q]++] = -w;
        a->val[a->rowptr[p]] += w;
        a->val[a->rowptr[q]] += w;
    }
    free(fill);

    /* sort, merge doubles, close the gaps */
    start = 0;
    nnz = 0;
    for (i = 0; i < n; i++) {
        int end = a->rowptr[i + 1];
        int len = end - start;

        sort_row(a->col + start, a->val + start, len);
        len = merge_row(a->col + start, a->val + start, len);
        memmove(a->col + nnz, a->col + start, (size_t)len * sizeof(int));
        memmove(a->val + nnz, a->val + start, (size_t)len * sizeof(double));
        a->rowptr[i] = nnz;
        nnz += len;
        start = end;
    }
    a->rowptr[n] = nnz;
    return 0;
}

void csr_free(struct csr *a)
{
    free(a->rowptr);
    free(a->col);
    free(a->val);
    a->rowptr = a->col = NULL;
    a->val = NULL;
    a->n = 0;
}

void csr_multiply(const struct csr *a, const double *x, double *y)
{
    int i, k;

#pragma omp for
    for (i = 0; i < a->n; i++) {
        double sum = 0.0;

        for (k = a->rowptr[i]; k < a->rowptr[i + 1]; k++)
            sum += a->val[k] * x[a->col[k]];
        y[i] = sum;
    }
}

void csr_inverse_diagonal(const struct csr *a, double *d)
{
    int i, k;

#pragma omp for
    for (i = 0; i < a->n; i++) {
        d[i] = 1.0;
        for (k = a->rowptr[i]; k < a->rowptr[i + 1]; k++) {
            if (a->col[k] == i) {
                d[i] = 1.0 / a->val[k];
                break;
            }
        }
    }
}

static double csr_get(const struct csr *a, int i, int j)
{
    int lo = a->rowptr[i], hi = a->rowptr[i + 1] - 1;

    while (lo <= hi) {
        int mid = lo + (hi - lo) / 2;

        if (a->col[mid] == j)
            return a->val[mid];
        if (a->col[mid] < j)
            lo = mid + 1;
        else
            hi = mid - 1;
    }
    return 0.0;
}

int csr_is_symmetric(const struct csr *a)
{
    int i, k;

    for (i = 0; i < a->n; i++)
        for (k = a->rowptr[i]; k < a->rowptr[i + 1]; k++) {
            int j = a->col[k];

            if (j > i && fabs(csr_get(a, j, i) - a->val[k])
                             > 1e-14 * fabs(a->val[k]))
                return 0;
        }
    return 1;
}

double csr_gershgorin(const struct csr *a)
{
    int i, k;
    double bound = 0.0;

    for (i = 0; i < a->n; i++) {
        double s = 0.0;

        for (k = a->rowptr[i]; k < a->rowptr[i + 1]; k++)
            s += fabs(a->val[k]);
        if (s > bound)
            bound = s;
    }
    return bound;
}
