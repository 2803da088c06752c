/* Rank-2 update and two matrix-vector products: A += u1*v1' + u2*v2'; x = beta*A'*y + z; w = alpha*A*x. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef N
#ifdef SMALL
#define N 1000
#elif defined XLARGE
#define N 22000
#else
#define N 5800
#endif
#endif

static uint64_t state = 0x853c49e6748fea9bu;

static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992.0;
}

static void gemver(int n, double alpha, double beta, double A[restrict n][n],
                   const double u1[restrict], const double v1[restrict],
                   const double u2[restrict], const double v2[restrict],
                   const double y[restrict], const double z[restrict],
                   double x[restrict], double w[restrict])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            A[i][j] = A[i][j] + u1[i] * v1[j] + u2[i] * v2[j];

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            x[i] += beta * A[j][i] * y[j];

    for (int i = 0; i < n; i++)
        x[i] += z[i];

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            w[i] += alpha * A[i][j] * x[j];
}

int main(void)
{
    int n = N;
    double (*A)[n] = malloc(sizeof(double[n][n]));
    double *vec = malloc(8u * n * sizeof(double));
    double *u1 = vec, *v1 = vec + n, *u2 = vec + 2 * n, *v2 = vec + 3 * n;
    double *y = vec + 4 * n, *z = vec + 5 * n, *x = vec + 6 * n, *w = vec + 7 * n;
    uint64_t h = 1;
    double sum = 0.0;
    if (!A || !vec)
        return 1;

    for (int i = 0; i < 6 * n; i++)
        vec[i] = uniform();
    for (int i = 0; i < n; i++) {
        x[i] = 0.0;
        w[i] = 0.0;
        for (int j = 0; j < n; j++)
            A[i][j] = uniform();
    }

    gemver(n, 1.5, 1.2, A, u1, v1, u2, v2, y, z, x, w);

    for (int i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &w[i], sizeof bits);
        h = (h ^ bits) * 0x100000001b3u;
        h ^= h >> 29;
        sum += w[i];
    }
    printf("%016llx %.17g\n", (unsigned long long)h, sum);
    free(A);
    free(vec);
    return 0;
}
