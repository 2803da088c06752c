/* QR factorisation by modified Gram-Schmidt: A (m x n) = Q * R, columns orthonormalised in turn. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef SMALL
#define SIZE(small, large, xlarge) (small)
#elif defined XLARGE
#define SIZE(small, large, xlarge) (xlarge)
#else
#define SIZE(small, large, xlarge) (large)
#endif
#ifndef M
#define M SIZE(150, 900, 1600)
#endif
#ifndef N
#define N SIZE(120, 700, 1300)
#endif

static void gramschmidt(int m, int n, double A[restrict m][n], double R[restrict n][n],
                        double Q[restrict m][n])
{
    int i, j, k;
    for (k = 0; k < n; k++) {
        double norm2 = 0.0;
        for (i = 0; i < m; i++)
            norm2 += A[i][k] * A[i][k];
        R[k][k] = sqrt(norm2);
        for (i = 0; i < m; i++)
            Q[i][k] = A[i][k] / R[k][k];
        for (j = k + 1; j < n; j++) {
            R[k][j] = 0.0;
            for (i = 0; i < m; i++)
                R[k][j] += Q[i][k] * A[i][j];
            for (i = 0; i < m; i++)
                A[i][j] -= Q[i][k] * R[k][j];
        }
    }
}

static unsigned long long hash_bytes(unsigned long long h, const void *data, size_t len)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < len; i++)
        h = (h ^ p[i]) * 1099511628211ULL;
    return h;
}

int main(void)
{
    int m = M, n = N;
    double (*A)[n] = malloc(sizeof(double[m][n]));
    double (*Q)[n] = malloc(sizeof(double[m][n]));
    double (*R)[n] = calloc(n, sizeof(double[n]));
    unsigned long long h = 14695981039346656037ULL;
    unsigned s = 271828u;
    double trace = 0.0;
    if (!A || !Q || !R)
        return 1;

    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            s = s * 69069u + 5u;
            A[i][j] = s / 4294967296.0 - 0.5;
        }

    gramschmidt(m, n, A, R, Q);

    for (int k = 0; k < n; k++)
        trace += R[k][k];
    h = hash_bytes(h, R, sizeof(double[n][n]));
    h = hash_bytes(h, Q, sizeof(double[m][n]));
    printf("%016llx %.17g\n", h, trace);
    free(A);
    free(Q);
    free(R);
    return 0;
}
