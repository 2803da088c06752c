/* General matrix product: C = alpha*A*B + beta*C, plain i-j-k order. */
#include <stdio.h>

#ifdef SMALL
#define SIZE(small, large, xlarge) (small)
#elif defined XLARGE
#define SIZE(small, large, xlarge) (xlarge)
#else
#define SIZE(small, large, xlarge) (large)
#endif
#ifndef NI
#define NI SIZE(200, 1000, 2000)
#endif
#ifndef NJ
#define NJ SIZE(220, 1100, 2200)
#endif
#ifndef NK
#define NK SIZE(240, 1200, 2400)
#endif

static double A[NI][NK];
static double B[NK][NJ];
static double C[NI][NJ];

static unsigned seed = 12345u;

static double rnd(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) * (1.0 / 16777216.0) - 0.5;
}

static void init(void)
{
    for (int i = 0; i < NI; i++)
        for (int k = 0; k < NK; k++)
            A[i][k] = rnd();
    for (int k = 0; k < NK; k++)
        for (int j = 0; j < NJ; j++)
            B[k][j] = rnd();
    for (int i = 0; i < NI; i++)
        for (int j = 0; j < NJ; j++)
            C[i][j] = rnd();
}

static void gemm(double alpha, double beta)
{
    for (int i = 0; i < NI; i++)
        for (int j = 0; j < NJ; j++)
            C[i][j] *= beta;

    for (int i = 0; i < NI; i++)
        for (int j = 0; j < NJ; j++)
            for (int k = 0; k < NK; k++)
                C[i][j] += alpha * A[i][k] * B[k][j];
}

static unsigned long long hash_bytes(const void *data, size_t len)
{
    const unsigned char *p = data;
    unsigned long long h = 14695981039346656037ULL;
    for (size_t i = 0; i < len; i++)
        h = (h ^ p[i]) * 1099511628211ULL;
    return h;
}

int main(void)
{
    double sum = 0.0;
    init();
    gemm(1.5, 1.2);
    for (int i = 0; i < NI; i++)
        for (int j = 0; j < NJ; j++)
            sum += C[i][j];
    printf("%016llx %.17g\n", hash_bytes(C, sizeof C), sum);
    return 0;
}
