/* Triangular matrix product B = alpha*A'*B, A unit lower triangular, in place. */
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
#ifndef M
#define M SIZE(150, 850, 1600)
#endif
#ifndef N
#define N SIZE(170, 1000, 1800)
#endif

static void trmm(const int m, const int n, const float alpha, const float *A, float *B)
{
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
            float acc = B[i * n + j];
            for (int k = i + 1; k < m; ++k)
                acc += A[k * m + i] * B[k * n + j];
            B[i * n + j] = alpha * acc;
        }
}

static float hashed(uint32_t v)
{
    v ^= v >> 16;
    v *= 0x7feb352du;
    v ^= v >> 15;
    v *= 0x846ca68bu;
    v ^= v >> 16;
    return (float)(v >> 8) / 16777216.0f - 0.5f;
}

int main(void)
{
    int m = M, n = N;
    float *A = malloc(sizeof(float) * m * m);
    float *B = malloc(sizeof(float) * m * n);
    uint64_t h = 14695981039346656037u;
    double sum = 0.0;
    if (!A || !B)
        return 1;

    for (int i = 0; i < m; ++i)
        for (int j = 0; j < m; ++j)
            A[i * m + j] = j < i ? hashed(i * m + j) : j == i ? 1.0f : 0.0f;
    for (int i = 0; i < m * n; ++i)
        B[i] = hashed(0x40000000u + i);

    trmm(m, n, 1.25f, A, B);

    for (int i = 0; i < m * n; ++i)
        sum += B[i];
    for (size_t b = 0; b < sizeof(float) * m * n; ++b)
        h = (h ^ ((unsigned char *)B)[b]) * 1099511628211u;
    printf("%016llx %.17g\n", (unsigned long long)h, sum);
    free(A);
    free(B);
    return 0;
}
