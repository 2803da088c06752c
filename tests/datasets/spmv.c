/* One sparse matrix-vector product on different matrices: -DDATA=BANDED, SCATTERED or SKEWED. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define BANDED 0    /* as many entries in every row, beside the diagonal */
#define SCATTERED 1 /* as many entries in every row, anywhere */
#define SKEWED 2    /* a row in sixteen among the first half holds most entries; the others have two */
#ifndef DATA
#define DATA BANDED
#endif

#ifdef SMALL
#define N 4000
#else
#define N 400000
#endif
#ifndef ROUNDS
#define ROUNDS 12
#endif
#define PER_ROW 18

static void spmv(int n, const int *start, const int *col, const double *val, const double *x, double *y)
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

static int entries(int i)
{
    if (DATA != SKEWED)
        return PER_ROW;
    return i < N / 2 && i % 16 == 0 ? 2 + 32 * (PER_ROW - 2) : 2;
}

static int column(int i, int q, uint64_t *s)
{
    int near = i - PER_ROW / 2 + q;
    if (DATA == SCATTERED)
        return (int)(next(s) % N);
    return near < 0 ? near + N : near >= N ? near - N : near;
}

int main(void)
{
    int *start = malloc((N + 1) * sizeof *start), *col = malloc(sizeof *col * PER_ROW * N), nnz = 0;
    double *val = malloc(sizeof *val * PER_ROW * N), *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y), sum = 0.0;
    uint64_t h = 14695981039346656037u, s = 9u;
    if (!start || !col || !val || !x || !y)
        return 1;
    for (int i = 0; i < N; i++) {
        int count = entries(i);
        start[i] = nnz;
        for (int q = 0; q < count; q++, nnz++) {
            col[nnz] = column(i, q, &s);
            val[nnz] = (0.5 + next(&s) / 4294967296.0) / count;
        }
    }
    start[N] = nnz;
    for (int i = 0; i < N; i++)
        x[i] = next(&s) / 2147483648.0;

    for (int r = 0; r < ROUNDS; r++) {
        double *swap = x;
        spmv(N, start, col, val, x, y);
        x = y;
        y = swap;
    }

    for (int i = 0; i < N; i++)
        sum += x[i];
    for (size_t b = 0; b < N * sizeof *x; b++)
        h = (h ^ ((unsigned char *)x)[b]) * 1099511628211u;
    printf("%016llx %.17g\n", (unsigned long long)h, sum);
    free(start);
    free(col);
    free(val);
    free(x);
    free(y);
    return 0;
}
