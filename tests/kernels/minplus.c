/* Min-plus (tropical) matrix product C[i][j] = min over k of A[i][k] + B[k][j], 32-bit integers. */
#include <stdint.h>
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
#define N SIZE(260, 1400, 2200)
#endif
#ifndef M
#define M SIZE(280, 1500, 2400)
#endif
#ifndef P
#define P SIZE(270, 1440, 2300)
#endif
#define MIN(a, b) ((a) < (b) ? (a) : (b))

static void minplus(int n, int m, int p, int32_t A[static n][p], int32_t B[static p][m],
                    int32_t C[static n][m])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            int32_t best = A[i][0] + B[0][j];
            for (int k = 1; k < p; k++)
                best = MIN(best, A[i][k] + B[k][j]);
            C[i][j] = best;
        }
}

static void fill(int32_t *v, int count, uint32_t s)
{
    for (int i = 0; i < count; i++) {
        s = s * 1664525u + 1013904223u;
        v[i] = (int32_t)(s >> 8) % 1000000 - 1000;
    }
}

int main(void)
{
    int n = N, m = M, p = P;
    int32_t (*A)[p] = malloc(sizeof(int32_t[n][p]));
    int32_t (*B)[m] = malloc(sizeof(int32_t[p][m]));
    int32_t (*C)[m] = malloc(sizeof(int32_t[n][m]));
    uint64_t h = 14695981039346656037u;
    int64_t sum = 0;
    if (!A || !B || !C)
        return 1;

    fill(&A[0][0], n * p, 11u);
    fill(&B[0][0], p * m, 13u);

    minplus(n, m, p, A, B, C);

    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            sum += C[i][j];
            h = (h ^ (uint32_t)C[i][j]) * 1099511628211u;
        }
    printf("%016llx %lld\n", (unsigned long long)h, (long long)sum);
    free(A);
    free(B);
    free(C);
    return 0;
}
