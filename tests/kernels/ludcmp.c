/* Solve A*x = b by LU decomposition (dot-product form) with forward and backward substitution. */
#include <stdio.h>

#ifndef N
#ifdef SMALL
#define N 180
#elif defined XLARGE
#define N 2600
#else
#define N 1200
#endif
#endif

static double A[N][N], b[N], x[N], y[N];

static void init(void)
{
    unsigned s = 2718u;
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            s = s * 1103515245u + 12345u;
            A[i][j] = (s >> 6) / 67108864.0;
        }
        A[i][i] += N;
        b[i] = 1.0 + (i * 37 % 101) / 101.0;
    }
}

static void ludcmp(void)
{
    int i, j, k;
    double w;

    for (i = 0; i < N; i++) {
        for (j = 0; j < i; j++) {
            w = A[i][j];
            for (k = 0; k < j; k++)
                w -= A[i][k] * A[k][j];
            A[i][j] = w / A[j][j];
        }
        for (j = i; j < N; j++) {
            w = A[i][j];
            for (k = 0; k < i; k++)
                w -= A[i][k] * A[k][j];
            A[i][j] = w;
        }
    }
    for (i = 0; i < N; i++) {
        w = b[i];
        for (j = 0; j < i; j++)
            w -= A[i][j] * y[j];
        y[i] = w;
    }
    for (i = N - 1; i >= 0; i--) {
        w = y[i];
        for (j = i + 1; j < N; j++)
            w -= A[i][j] * x[j];
        x[i] = w / A[i][i];
    }
}

int main(void)
{
    double sum = 0.0;
    unsigned long long h = 14695981039346656037ULL;
    const unsigned char *bytes = (const unsigned char *)x;

    init();
    ludcmp();

    for (int i = 0; i < N; i++)
        sum += x[i];
    for (size_t q = 0; q < sizeof x; q++)
        h = (h ^ bytes[q]) * 1099511628211ULL;
    printf("%016llx %.17g\n", h, sum);
    return 0;
}
