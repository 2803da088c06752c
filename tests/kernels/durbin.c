/* Levinson-Durbin recursion for a symmetric Toeplitz (Yule-Walker) system. */
#include <stdio.h>

#ifndef N
#ifdef SMALL
#define N 2000
#elif defined XLARGE
#define N 110000
#else
#define N 24000
#endif
#endif

static double r[N], y[N];

/* Toeplitz matrix with unit diagonal, off-diagonals small enough to be positive definite. */
static void init(void)
{
    unsigned s = 555u;
    for (int i = 0; i < N; i++) {
        s = s * 1664525u + 1013904223u;
        r[i] = 0.15 * (s / 4294967296.0 - 0.5) / (i + 1);
    }
}

static void durbin(void)
{
    double z[N];
    double alpha = -r[0], beta = 1.0;

    y[0] = -r[0];
    for (int k = 1; k < N; k++) {
        double dot = 0.0;
        beta = (1.0 - alpha * alpha) * beta;
        for (int i = 0; i < k; i++)
            dot += r[k - i - 1] * y[i];
        alpha = -(r[k] + dot) / beta;
        for (int i = 0; i < k; i++)
            z[i] = y[i] + alpha * y[k - i - 1];
        for (int i = 0; i < k; i++)
            y[i] = z[i];
        y[k] = alpha;
    }
}

int main(void)
{
    double sum = 0.0;
    unsigned long long h = 14695981039346656037ULL;
    const unsigned char *bytes = (const unsigned char *)y;

    init();
    durbin();

    for (int i = 0; i < N; i++)
        sum += y[i] * (i % 7);
    for (size_t b = 0; b < sizeof y; b++)
        h = (h ^ bytes[b]) * 1099511628211ULL;
    printf("%016llx %.17g\n", h, sum);
    return 0;
}
