/* Jacobi-1D: three-point average on a line, two buffers. */
#include <stdio.h>

#ifdef SMALL
#define SIZE(small, large, xlarge) (small)
#elif defined XLARGE
#define SIZE(small, large, xlarge) (xlarge)
#else
#define SIZE(small, large, xlarge) (large)
#endif
#ifndef N
#define N SIZE(20000, 2000000, 20000000)
#endif
#ifndef TSTEPS
#define TSTEPS SIZE(200, 100, 200)
#endif

static double A[N], B[N];

int main(void)
{
    unsigned s = 161803u;
    double sum = 0.0;
    unsigned long long h = 14695981039346656037ULL;
    const unsigned char *bytes = (const unsigned char *)A;

    for (int i = 0; i < N; i++) {
        s = s * 1664525u + 1013904223u;
        A[i] = B[i] = 2.0 + s / 4294967296.0;
    }

    for (int t = 0; t < TSTEPS; t++) {
        for (int i = 1; i < N - 1; i++)
            B[i] = 0.33333 * (A[i - 1] + A[i] + A[i + 1]);
        for (int i = 1; i < N - 1; i++)
            A[i] = 0.33333 * (B[i - 1] + B[i] + B[i + 1]);
    }

    for (int i = 0; i < N; i++)
        sum += A[i];
    for (size_t b = 0; b < sizeof A; b++)
        h = (h ^ bytes[b]) * 1099511628211ULL;
    printf("%016llx %.17g\n", h, sum);
    return 0;
}
