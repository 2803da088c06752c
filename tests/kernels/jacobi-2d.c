/* Jacobi-2D: five-point average on a square grid, two buffers, TSTEPS double sweeps. */
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
#define N SIZE(250, 2000, 6000)
#endif
#ifndef TSTEPS
#define TSTEPS SIZE(60, 40, 100)
#endif

static void fill(int n, double A[n][n])
{
    unsigned x = 2463534242u;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            x ^= x << 13;
            x ^= x >> 17;
            x ^= x << 5;
            A[i][j] = x / 4294967296.0;
        }
}

static void jacobi_2d(int tsteps, int n, double A[n][n], double B[n][n])
{
    for (int t = 0; t < tsteps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                B[i][j] = 0.2 * (A[i][j] + A[i][j - 1] + A[i][j + 1] + A[i + 1][j] + A[i - 1][j]);
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                A[i][j] = 0.2 * (B[i][j] + B[i][j - 1] + B[i][j + 1] + B[i + 1][j] + B[i - 1][j]);
    }
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
    const int n = N;
    double (*A)[n] = malloc(sizeof(double[n][n]));
    double (*B)[n] = malloc(sizeof(double[n][n]));
    double sum = 0.0;
    if (A == NULL || B == NULL)
        return 1;

    fill(n, A);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            B[i][j] = A[i][j];

    jacobi_2d(TSTEPS, n, A, B);

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            sum += A[i][j];
    printf("%016llx %.17g\n", hash_bytes(A, sizeof(double[n][n])), sum);
    free(A);
    free(B);
    return 0;
}
