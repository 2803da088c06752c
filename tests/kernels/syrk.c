/* Symmetric rank-k update of the lower triangle: C = alpha*A*A' + beta*C, i-k-j order. */
#include <stdio.h>

#ifdef SMALL
#define SIZE(small, large, xlarge) (small)
#elif defined XLARGE
#define SIZE(small, large, xlarge) (xlarge)
#else
#define SIZE(small, large, xlarge) (large)
#endif
#ifndef N
#define N SIZE(260, 1000, 2400)
#endif
#ifndef M
#define M SIZE(220, 950, 2200)
#endif
#define A_(i, k) A[(i) * M + (k)]
#define C_(i, j) C[(i) * N + (j)]

static double A[N * M];
static double C[N * N];

static unsigned lcg(unsigned s)
{
    return s * 1103515245u + 12345u;
}

int main(void)
{
    const double alpha = 0.7, beta = 1.1;
    double sum = 0.0;
    unsigned s = 99u;
    unsigned long long h = 14695981039346656037ULL;
    const unsigned char *bytes = (const unsigned char *)C;

    for (int i = 0; i < N * M; i++) {
        s = lcg(s);
        A[i] = (s >> 8) / 16777216.0;
    }
    for (int i = 0; i < N * N; i++) {
        s = lcg(s);
        C[i] = (s >> 8) / 16777216.0;
    }

    for (int i = 0; i < N; i++) {
        for (int j = 0; j <= i; j++)
            C_(i, j) *= beta;
        for (int k = 0; k < M; k++)
            for (int j = 0; j <= i; j++)
                C_(i, j) += alpha * A_(i, k) * A_(j, k);
    }

    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++)
            sum += C_(i, j);
    for (size_t q = 0; q < sizeof C; q++)
        h = (h ^ bytes[q]) * 1099511628211ULL;
    printf("%016llx %.17g\n", h, sum);
    return 0;
}
