/* LU factorisation without pivoting, right-looking, in place (diagonally dominant matrix). */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wunknown-pragmas"

#ifndef N
#ifdef SMALL
#define N 320
#elif defined XLARGE
#define N 3000
#else
#define N 2000
#endif
#endif

static double A[N][N];

static void init(void)
{
    uint32_t s = 1u;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            s = s * 1664525u + 1013904223u;
            A[i][j] = s / 4294967296.0 - 0.5;
            if (i == j)
                A[i][j] += N;
        }
}

static void lu(void)
{
#pragma scop
    for (int k = 0; k < N; k++) {
        for (int i = k + 1; i < N; i++)
            A[i][k] /= A[k][k];
        for (int i = k + 1; i < N; i++)
            for (int j = k + 1; j < N; j++)
                A[i][j] -= A[i][k] * A[k][j];
    }
#pragma endscop
}

int main(void)
{
    uint64_t h = 0x9e3779b97f4a7c15u, w;
    double sum = 0.0;

    init();
    lu();

    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            sum += A[i][j];
            memcpy(&w, &A[i][j], sizeof w);
            h = (h ^ w) * 0xff51afd7ed558ccdu;
            h ^= h >> 32;
        }
    printf("%016llx %.17g\n", (unsigned long long)h, sum);
    return 0;
}
