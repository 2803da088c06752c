#include <math.h>
#include <stdlib.h>

#include "problem.h"

static unsigned long long state;

static double uniform(void)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(state >> 11) / 9007199254740992.0;
}

static int cell(int m, int i, int j, int k)
{
    return (k * m + j) * m + i;
}

/* Series connection of two half cells. */
static double between(double k1, double k2)
{
    return 2.0 * k1 * k2 / (k1 + k2);
}

int problem_matrix(struct csr *a, int m, unsigned seed)
{
    int n = m * m * m;
    int i, j, k, f, fractures, status;
    double *cond, *shift;
    struct edge_list edges;

    state = 0x9E3779B97F4A7C15ULL ^ seed;
    cond = malloc((size_t)n * sizeof(double));
    shift = malloc((size_t)n * sizeof(double));
    if (cond == NULL || shift == NULL) {
        free(cond);
        free(shift);
        return -1;
    }

    for (k = 0; k < m; k++) {
        double layer = exp(0.8 * sin(9.0 * k / m) + 0.3 * (uniform() - 0.5));

        for (j = 0; j < m; j++)
            for (i = 0; i < m; i++)
                cond[cell(m, i, j, k)] = layer * (0.5 + uniform());
    }

    edge_list_init(&edges, 3 * n);
    for (k = 0; k < m; k++)
        for (j = 0; j < m; j++)
            for (i = 0; i < m; i++) {
                int c = cell(m, i, j, k);

                shift[c] = 0.002 + 0.001 * uniform();
                if (i + 1 < m)
                    edge_list_add(&edges, c, cell(m, i + 1, j, k),
                        between(cond[c], cond[cell(m, i + 1, j, k)]));
                if (j + 1 < m)
                    edge_list_add(&edges, c, cell(m, i, j + 1, k),
                        between(cond[c], cond[cell(m, i, j + 1, k)]));
                if (k + 1 < m)
                    edge_list_add(&edges, c, cell(m, i, j, k + 1),
                        0.1 * between(cond[c], cond[cell(m, i, j, k + 1)]));
            }

    fractures = n / 10;
    for (f = 0; f < fractures; f++) {
        int p = (int)(uniform() * n), q;
        double reach = m * m * (1.0 + 4.0 * uniform());

        q = p + (int)reach;
        if (q >= n)
            q -= n;
        if (p != q)
            edge_list_add(&edges, p, q, 0.2 * uniform());
    }

    status = csr_from_edges(a, n, &edges, shift);
    edge_list_free(&edges);
    free(cond);
    free(shift);
    return status;
}

void problem_rhs(double *b, int m, int which)
{
    int n = m * m * m, i, k;
    int lo = 1 + which % 3, hi = m - 2 - which % 2;

    for (i = 0; i < n; i++)
        b[i] = 1e-4 * sin(0.01 * (i % 1000) + which);
    for (k = m / 4; k < 3 * m / 4; k++) {
        b[cell(m, lo, lo, k)] += 1.0;
        b[cell(m, hi, hi, k)] -= 0.7;
    }
}
