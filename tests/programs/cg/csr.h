#ifndef CSR_H
#define CSR_H

/* Square sparse matrix, compressed by rows.  Row i has the entries
 * rowptr[i] .. rowptr[i+1]-1, sorted by column. */
struct csr {
    int n;
    int *rowptr;
    int *col;
    double *val;
};

struct edge {
    int from, to;
    double weight;
};

struct edge_list {
    int count, capacity;
    struct edge *e;
};

void edge_list_init(struct edge_list *l, int capacity);
void edge_list_add(struct edge_list *l, int from, int to, double weight);
void edge_list_free(struct edge_list *l);

/* The matrix of a weighted graph: A = L + diag(shift). */
int  csr_from_edges(struct csr *a, int n, const struct edge_list *l,
                    const double *shift);
void csr_free(struct csr *a);

/* Work sharing: these are called by all threads of a team. */
void csr_multiply(const struct csr *a, const double *x, double *y);
void csr_inverse_diagonal(const struct csr *a, double *d);

/* By one thread. */
int  csr_is_symmetric(const struct csr *a);
double csr_gershgorin(const struct csr *a);

#endif
