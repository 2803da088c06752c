/* Symmetric matrix product C = alpha*A*B + beta*C; only the lower triangle of A is stored. */
#include <stdio.h>

#ifdef SMALL
#define SIZE(small, large, xlarge) (small)
#elif defined XLARGE
#define SIZE(small, large, xlarge) (xlarge)
#else
#define SIZE(small, large, xlarge) (large)
#endif
#ifndef M
#define M SIZE(140, 800, 1400)
#endif
#ifndef N
#define N SIZE(160, 900, 1600)
#endif

static double A[M][M], B[M][N], C[M][N];

static double rnd(void)
{
    static unsigned long long s = 42;
    s = s * 2862933555777941757ULL + 3037000493ULL;
    return (double)(s >> 32) / 4294967296.0 - 0.25;
}

static void symm(double alpha, double beta)
{
    int i, j, k;
    double t;
    for (i = 0; i < M; i++)
        for (j = 0; j < N; j++) {
            t = 0;
            for (k = 0; k < i; k++) {
                C[k][j] += alpha * B[i][j] * A[i][k];
                t += B[k][j] * A[i][k];
            }
            C[i][j] = beta * C[i][j] + alpha * B[i][j] * A[i][i] + alpha * t;
        }
}

int main(void)
{
    int i, j;
    double sum = 0.0;
    unsigned long long h = 14695981039346656037ULL;
    const unsigned char *bytes = (const unsigned char *)C;

    for (i = 0; i < M; i++) {
        for (j = 0; j <= i; j++)
            A[i][j] = rnd();
        for (; j < M; j++)
            A[i][j] = -999; /* never read */
    }
    for (i = 0; i < M; i++)
        for (j = 0; j < N; j++) {
            B[i][j] = rnd();
            C[i][j] = rnd();
        }

    symm(1.5, 1.2);

    for (i = 0; i < M; i++)
        for (j = 0; j < N; j++)
            sum += C[i][j];
    for (size_t q = 0; q < sizeof C; q++)
        h = (h ^ bytes[q]) * 1099511628211ULL;
    printf("%016llx %.17g\n", h, sum);
    return 0;
}
