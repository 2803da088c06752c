/* y = A' * (A * x), repeated as a power iteration. */
#include <stdio.h>

#ifdef SMALL
#define SIZE(small, large, xlarge) (small)
#elif defined XLARGE
#define SIZE(small, large, xlarge) (xlarge)
#else
#define SIZE(small, large, xlarge) (large)
#endif
#ifndef M
#define M SIZE(380, 1900, 8000)
#endif
#ifndef N
#define N SIZE(420, 2100, 8400)
#endif
#ifndef ROUNDS
#define ROUNDS SIZE(10, 50, 100)
#endif

static double A[M][N];
static double x[N], y[N], tmp[M];

static void atax(void)
{
    for (int j = 0; j < N; j++)
        y[j] = 0.0;
    for (int i = 0; i < M; i++) {
        tmp[i] = 0.0;
        for (int j = 0; j < N; j++)
            tmp[i] = tmp[i] + A[i][j] * x[j];
        for (int j = 0; j < N; j++)
            y[j] = y[j] + A[i][j] * tmp[i];
    }
}

static void init(void)
{
    unsigned s = 8u;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            s = s * 1664525u + 1013904223u;
            A[i][j] = s / 4294967296.0;
        }
    for (int j = 0; j < N; j++) {
        s = s * 1664525u + 1013904223u;
        x[j] = s / 4294967296.0;
    }
}

int main(void)
{
    double sum = 0.0;
    unsigned long long h = 14695981039346656037ULL;
    const unsigned char *bytes = (const unsigned char *)y;

    init();
    for (int r = 0; r < ROUNDS; r++) {
        atax();
        for (int j = 0; j < N; j++)
            x[j] = 4.0 * y[j] / ((double)M * N);
    }

    for (int j = 0; j < N; j++)
        sum += x[j];
    for (size_t b = 0; b < sizeof y; b++)
        h = (h ^ bytes[b]) * 1099511628211ULL;
    printf("%016llx %.17g\n", h, sum);
    return 0;
}
