/* Heat equation on a 3D grid, explicit scheme, ping-pong between two flat arrays. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef SMALL
#define SIZE(small, large, xlarge) (small)
#elif defined XLARGE
#define SIZE(small, large, xlarge) (xlarge)
#else
#define SIZE(small, large, xlarge) (large)
#endif
#ifndef N
#define N SIZE(48, 160, 320)
#endif
#ifndef TSTEPS
#define TSTEPS SIZE(20, 20, 80)
#endif

#define IDX(i, j, k) (((i) * n + (j)) * n + (k))

static void heat_3d(size_t tsteps, size_t n, double *A, double *B)
{
    for (size_t t = 1; t <= tsteps; t++) {
        for (size_t i = 1; i < n - 1; i++)
            for (size_t j = 1; j < n - 1; j++)
                for (size_t k = 1; k < n - 1; k++)
                    B[IDX(i, j, k)] =
                        0.125 * (A[IDX(i + 1, j, k)] - 2.0 * A[IDX(i, j, k)] + A[IDX(i - 1, j, k)])
                        + 0.125 * (A[IDX(i, j + 1, k)] - 2.0 * A[IDX(i, j, k)] + A[IDX(i, j - 1, k)])
                        + 0.125 * (A[IDX(i, j, k + 1)] - 2.0 * A[IDX(i, j, k)] + A[IDX(i, j, k - 1)])
                        + A[IDX(i, j, k)];
        for (size_t i = 1; i < n - 1; i++)
            for (size_t j = 1; j < n - 1; j++)
                for (size_t k = 1; k < n - 1; k++)
                    A[IDX(i, j, k)] =
                        0.125 * (B[IDX(i + 1, j, k)] - 2.0 * B[IDX(i, j, k)] + B[IDX(i - 1, j, k)])
                        + 0.125 * (B[IDX(i, j + 1, k)] - 2.0 * B[IDX(i, j, k)] + B[IDX(i, j - 1, k)])
                        + 0.125 * (B[IDX(i, j, k + 1)] - 2.0 * B[IDX(i, j, k)] + B[IDX(i, j, k - 1)])
                        + B[IDX(i, j, k)];
    }
}

static uint64_t hash_doubles(const double *x, size_t count)
{
    uint64_t h = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < count; i++) {
        uint64_t w;
        memcpy(&w, &x[i], sizeof w);
        h = (h ^ w) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    return h;
}

int main(void)
{
    const size_t n = N, total = n * n * n;
    double *A = malloc(total * sizeof(double));
    double *B = malloc(total * sizeof(double));
    double sum = 0.0;
    uint32_t s = 4711u;
    if (A == NULL || B == NULL)
        return 1;

    for (size_t q = 0; q < total; q++) {
        s = s * 1664525u + 1013904223u;
        A[q] = B[q] = (s >> 8) / 16777216.0 + 10.0;
    }

    heat_3d(TSTEPS, n, A, B);

    for (size_t q = 0; q < total; q++)
        sum += A[q];
    printf("%016llx %.17g\n", (unsigned long long)hash_doubles(A, total), sum);
    free(A);
    free(B);
    return 0;
}
