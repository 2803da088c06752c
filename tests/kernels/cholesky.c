/* Cholesky factorisation A = L*L^T of a symmetric positive definite matrix, in place (lower part). */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef N
#ifdef SMALL
#define N 280
#elif defined XLARGE
#define N 3400
#else
#define N 2000
#endif
#endif

/* Symmetric, diagonally dominant. */
static void init(int n, double *A)
{
    uint32_t s = 2022u;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            s = s * 1664525u + 1013904223u;
            A[i * n + j] = s / 4294967296.0 - 0.5;
            A[j * n + i] = A[i * n + j];
        }
        A[i * n + i] = n;
    }
}

static void cholesky(int n, double *A)
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            for (int k = 0; k < j; k++)
                A[i * n + j] -= A[i * n + k] * A[j * n + k];
            A[i * n + j] /= A[j * n + j];
        }
        for (int k = 0; k < i; k++)
            A[i * n + i] -= A[i * n + k] * A[i * n + k];
        A[i * n + i] = sqrt(A[i * n + i]);
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
    int n = N;
    double *A = malloc(sizeof(double) * n * n);
    double sum = 0.0;
    if (A == NULL)
        return 1;

    init(n, A);
    cholesky(n, A);

    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            sum += A[i * n + j];
    printf("%016llx %.17g\n", (unsigned long long)hash_doubles(A, (size_t)n * n), sum);
    free(A);
    return 0;
}
