/* Sparse matrix (CSR) times vector, repeated with a scaled update of the vector. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef SMALL
#define SIZE(small, large, xlarge) (small)
#elif defined XLARGE
#define SIZE(small, large, xlarge) (xlarge)
#else
#define SIZE(small, large, xlarge) (large)
#endif
#ifndef N
#define N SIZE(6000, 400000, 3000000)
#endif
#ifndef ROUNDS
#define ROUNDS SIZE(20, 14, 40)
#endif
#define PER_ROW 24

struct csr {
    int n;
    int *start, *col;
    double *val;
};

static void spmv(int n, const int *start, const int *col, const double *val,
                 const double *x, double *y)
{
    for (int i = 0; i < n; i++) {
        double acc = 0.0;
        for (int p = start[i]; p < start[i + 1]; p++)
            acc += val[p] * x[col[p]];
        y[i] = acc;
    }
}

static uint32_t next(uint64_t *s)
{
    *s = *s * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*s >> 33);
}

/* 1 to PER_ROW entries in every row, row sums about 1 */
static struct csr build(int n)
{
    struct csr m = {n, malloc((n + 1) * sizeof(int)), malloc(sizeof(int) * PER_ROW * n),
                    malloc(sizeof(double) * PER_ROW * n)};
    uint64_t s = 3u;
    int nnz = 0;
    if (!m.start || !m.col || !m.val)
        exit(1);
    for (int i = 0; i < n; i++) {
        int count = 1 + (int)(next(&s) % PER_ROW);
        m.start[i] = nnz;
        for (int q = 0; q < count; q++, nnz++) {
            m.col[nnz] = (int)(next(&s) % (uint32_t)n);
            m.val[nnz] = (0.5 + next(&s) / 2147483648.0) / count;
        }
    }
    m.start[n] = nnz;
    return m;
}

int main(void)
{
    struct csr m = build(N);
    double *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y), sum = 0.0;
    uint64_t h = 14695981039346656037u, s = 9u;
    if (!x || !y)
        return 1;

    for (int i = 0; i < N; i++)
        x[i] = next(&s) / 2147483648.0;
    for (int r = 0; r < ROUNDS; r++) {
        spmv(m.n, m.start, m.col, m.val, x, y);
        for (int i = 0; i < N; i++)
            x[i] = 0.5 * (x[i] + y[i]);
    }

    for (int i = 0; i < N; i++)
        sum += x[i];
    for (size_t b = 0; b < N * sizeof *x; b++)
        h = (h ^ ((unsigned char *)x)[b]) * 1099511628211u;
    printf("%016llx %.17g\n", (unsigned long long)h, sum);
    free(m.start);
    free(m.col);
    free(m.val);
    free(x);
    free(y);
    return 0;
}
