/* Two chained matrix products: D = alpha*A*B*C + beta*D (float, flat arrays). */
#include <stdio.h>
#include <stdlib.h>

#ifdef SMALL
#define SIZE(small, large, xlarge) (small)
#elif defined XLARGE
#define SIZE(small, large, xlarge) (xlarge)
#else
#define SIZE(small, large, xlarge) (large)
#endif
#ifndef NI
#define NI SIZE(200, 1000, 2200)
#endif
#ifndef NJ
#define NJ SIZE(210, 1080, 2300)
#endif
#ifndef NK
#define NK SIZE(220, 1160, 2400)
#endif
#ifndef NL
#define NL SIZE(230, 1240, 2500)
#endif

static float *random_matrix(size_t rows, size_t cols, unsigned seed)
{
    float *p = malloc(rows * cols * sizeof *p);
    if (p == NULL)
        exit(1);
    for (size_t i = 0; i < rows * cols; i++) {
        seed = seed * 1664525u + 1013904223u;
        p[i] = (float)(seed >> 8) / 16777216.0f - 0.5f;
    }
    return p;
}

static void two_mm(size_t ni, size_t nj, size_t nk, size_t nl, float alpha, float beta,
                   const float *restrict a, const float *restrict b, const float *restrict c,
                   float *restrict tmp, float *restrict d)
{
    size_t i, j, k;
    for (i = 0; i < ni; i++)
        for (j = 0; j < nj; j++) {
            tmp[i * nj + j] = 0.0f;
            for (k = 0; k < nk; k++)
                tmp[i * nj + j] += alpha * a[i * nk + k] * b[k * nj + j];
        }
    for (i = 0; i < ni; i++)
        for (j = 0; j < nl; j++) {
            d[i * nl + j] *= beta;
            for (k = 0; k < nj; k++)
                d[i * nl + j] += tmp[i * nj + k] * c[k * nl + j];
        }
}

int main(void)
{
    float *a = random_matrix(NI, NK, 1u), *b = random_matrix(NK, NJ, 2u);
    float *c = random_matrix(NJ, NL, 3u), *d = random_matrix(NI, NL, 4u);
    float *tmp = random_matrix(NI, NJ, 5u);
    const unsigned char *bytes = (const unsigned char *)d;
    unsigned long long h = 14695981039346656037ULL;
    double sum = 0.0;

    two_mm(NI, NJ, NK, NL, 1.5f, 1.2f, a, b, c, tmp, d);

    for (size_t i = 0; i < (size_t)NI * NL; i++)
        sum += d[i];
    for (size_t i = 0; i < (size_t)NI * NL * sizeof *d; i++)
        h = (h ^ bytes[i]) * 1099511628211ULL;
    printf("%016llx %.17g\n", h, sum);
    free(a);
    free(b);
    free(c);
    free(d);
    free(tmp);
    return 0;
}
