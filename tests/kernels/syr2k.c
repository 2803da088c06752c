/* Symmetric rank-2k update of the lower triangle: C = alpha*(A*B' + B*A') + beta*C. */
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
#define N SIZE(200, 1200, 2200)
#endif
#ifndef M
#define M SIZE(180, 1000, 2000)
#endif

static void syr2k(int n, int m, double alpha, double beta,
                  double C[n][n], double A[n][m], double B[n][m])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (j <= i) {
                C[i][j] *= beta;
                for (int k = 0; k < m; k++)
                    C[i][j] += alpha * (A[i][k] * B[j][k] + B[i][k] * A[j][k]);
            }
}

static void fill(int rows, int cols, double X[rows][cols], unsigned key)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++) {
            unsigned h = (unsigned)(i * cols + j) * 2654435761u + key;
            h ^= h >> 16;
            h *= 0x85ebca6bu;
            h ^= h >> 13;
            X[i][j] = h / 4294967296.0;
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
    int n = N, m = M;
    double (*C)[n] = malloc(sizeof(double[n][n]));
    double (*A)[m] = malloc(sizeof(double[n][m]));
    double (*B)[m] = malloc(sizeof(double[n][m]));
    double sum = 0.0;
    if (!A || !B || !C)
        return 1;

    fill(n, m, A, 1u);
    fill(n, m, B, 22u);
    fill(n, n, C, 333u);
    syr2k(n, m, 0.5, 0.9, C, A, B);

    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            sum += C[i][j];
    printf("%016llx %.17g\n", hash_bytes(C, sizeof(double[n][n])), sum);
    free(A);
    free(B);
    free(C);
    return 0;
}
