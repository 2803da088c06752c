/* Forward substitution L*x = b, column oriented, repeated with the scaled solution as right-hand side. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef N
#ifdef SMALL
#define N 800
#elif defined XLARGE
#define N 22000
#else
#define N 4000
#endif
#endif
#ifndef ROUNDS
#define ROUNDS 5
#endif

static void trisolv(int n, double L[n][n], double x[n], const double b[n])
{
    for (int i = 0; i < n; i++)
        x[i] = b[i];
    for (int j = 0; j < n; j++) {
        x[j] = x[j] / L[j][j];
        for (int i = j + 1; i < n; i++)
            x[i] -= L[i][j] * x[j];
    }
}

static double unit(unsigned *s)
{
    *s = *s * 1664525u + 1013904223u;
    return *s / 4294967296.0;
}

int main(void)
{
    int n = N;
    double (*L)[n] = malloc(sizeof(double[n][n]));
    double *x = malloc(n * sizeof *x);
    double *b = malloc(n * sizeof *b);
    unsigned seed = 12u;
    unsigned long long h = 14695981039346656037ULL, w;
    double sum = 0.0;
    if (!L || !x || !b)
        return 1;

    for (int i = 0; i < n; i++) {
        b[i] = 10.0 * unit(&seed);
        for (int j = 0; j < i; j++)
            L[i][j] = unit(&seed) - 0.5;
        L[i][i] = 50.0 + unit(&seed);
        for (int j = i + 1; j < n; j++)
            L[i][j] = 0.0;
    }

    for (int r = 0; r < ROUNDS; r++) {
        trisolv(n, L, x, b);
        for (int i = 0; i < n; i++)
            b[i] = 50.0 * x[i];
    }

    for (int i = 0; i < n; i++) {
        sum += x[i];
        memcpy(&w, &x[i], sizeof w);
        h = (h ^ w) * 1099511628211ULL;
        h ^= h >> 31;
    }
    printf("%016llx %.17g\n", h, sum);
    free(L);
    free(x);
    free(b);
    return 0;
}
