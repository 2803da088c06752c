/* Sum of two matrix-vector products y = alpha*A*x + beta*B*x, applied repeatedly. */
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
#define N SIZE(400, 3600, 14000)
#endif
#ifndef ROUNDS
#define ROUNDS SIZE(12, 10, 40)
#endif

typedef float real;

static void gesummv(size_t n, real alpha, real beta, const real *A, const real *B,
                    const real *x, real *y)
{
    for (size_t i = 0; i < n; ++i) {
        real ax = 0, bx = 0;
        for (size_t j = 0; j < n; ++j) {
            ax += A[i * n + j] * x[j];
            bx += B[i * n + j] * x[j];
        }
        y[i] = alpha * ax + beta * bx;
    }
}

static void randomize(real *p, size_t count, unsigned seed)
{
    for (size_t i = 0; i < count; ++i) {
        seed = seed * 214013u + 2531011u;
        p[i] = (real)((seed >> 16) & 0x7fff) / 32768;
    }
}

int main(void)
{
    const size_t n = N;
    real *A = malloc(n * n * sizeof *A);
    real *B = malloc(n * n * sizeof *B);
    real *x = malloc(n * sizeof *x);
    real *y = malloc(n * sizeof *y);
    unsigned long long h = 14695981039346656037ULL;
    double sum = 0.0;
    if (!A || !B || !x || !y)
        return 1;

    randomize(A, n * n, 5u);
    randomize(B, n * n, 6u);
    randomize(x, n, 7u);

    for (int r = 0; r < ROUNDS; ++r) {
        gesummv(n, 0.75f, 1.25f, A, B, x, y);
        for (size_t i = 0; i < n; ++i)
            x[i] = y[i] / n;
    }

    for (size_t i = 0; i < n; ++i)
        sum += y[i];
    for (size_t b = 0; b < n * sizeof *y; ++b)
        h = (h ^ ((const unsigned char *)y)[b]) * 1099511628211ULL;
    printf("%016llx %.17g\n", h, sum);
    free(A);
    free(B);
    free(x);
    free(y);
    return 0;
}
