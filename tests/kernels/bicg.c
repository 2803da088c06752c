/* BiCG sub-kernel: s = A'*r and q = A*p in one nest, walking A by columns. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef SMALL
#define SIZE(small, large, xlarge) (small)
#elif defined XLARGE
#define SIZE(small, large, xlarge) (xlarge)
#else
#define SIZE(small, large, xlarge) (large)
#endif
#ifndef N
#define N SIZE(1200, 4800, 22000)
#endif
#ifndef M
#define M SIZE(1000, 4500, 21000)
#endif

static void bicg(long n, long m, const double *A, const double *p, const double *r,
                 double *restrict q, double *restrict s)
{
    for (long i = 0; i < n; i++)
        q[i] = 0.0;
    for (long j = 0; j < m; j++) {
        s[j] = 0.0;
        for (long i = 0; i < n; i++) {
            s[j] += r[i] * A[i * m + j];
            q[i] += A[i * m + j] * p[j];
        }
    }
}

static void noise(double *v, long count, uint64_t seed)
{
    for (long i = 0; i < count; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        v[i] = (double)(seed >> 12) / 4503599627370496.0 - 0.5;
    }
}

static uint64_t mix(uint64_t h, const double *v, long count)
{
    for (long i = 0; i < count; i++) {
        uint64_t w;
        memcpy(&w, v + i, sizeof w);
        h = (h ^ w) * 0xc4ceb9fe1a85ec53u;
        h ^= h >> 33;
    }
    return h;
}

int main(void)
{
    long n = N, m = M;
    double *A = malloc(sizeof(double) * n * m);
    double *p = malloc(sizeof(double) * m), *s = malloc(sizeof(double) * m);
    double *r = malloc(sizeof(double) * n), *q = malloc(sizeof(double) * n);
    double sum = 0.0;
    if (!A || !p || !s || !r || !q)
        return 1;

    noise(A, n * m, 0x1234567u);
    noise(p, m, 0x89abcdefu);
    noise(r, n, 0xfedcbau);

    bicg(n, m, A, p, r, q, s);

    for (long i = 0; i < n; i++)
        sum += q[i];
    for (long j = 0; j < m; j++)
        sum += 2.0 * s[j];
    printf("%016llx %.17g\n", (unsigned long long)mix(mix(7, q, n), s, m), sum);
    free(A);
    free(p);
    free(s);
    free(r);
    free(q);
    return 0;
}
