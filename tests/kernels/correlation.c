/* Correlation matrix of M variables over N observations (unit diagonal). */
#include <math.h>
#include <stdio.h>

#ifdef SMALL
#define SIZE(small, large, xlarge) (small)
#elif defined XLARGE
#define SIZE(small, large, xlarge) (xlarge)
#else
#define SIZE(small, large, xlarge) (large)
#endif
#ifndef M
#define M SIZE(150, 900, 1500)
#endif
#ifndef N
#define N SIZE(190, 1100, 1700)
#endif

static double data[N][M], corr[M][M];
static double mean[M], dev[M];

static void init(void)
{
    int i, j;
    unsigned s = 31337u;
    for (i = 0; i < N; i++)
        for (j = 0; j < M; j++) {
            s = s * 1664525u + 1013904223u;
            data[i][j] = (s >> 4) / 268435456.0 + 0.01 * j;
        }
}

static void correlation(void)
{
    int i, j, k;
    const double eps = 0.1;

    for (j = 0; j < M; j++) {
        mean[j] = 0.0;
        for (i = 0; i < N; i++)
            mean[j] += data[i][j];
        mean[j] /= N;
    }
    for (j = 0; j < M; j++) {
        dev[j] = 0.0;
        for (i = 0; i < N; i++)
            dev[j] += (data[i][j] - mean[j]) * (data[i][j] - mean[j]);
        dev[j] = sqrt(dev[j] / N);
        dev[j] = dev[j] <= eps ? 1.0 : dev[j];
    }

    /* centre and scale */
    for (i = 0; i < N; i++)
        for (j = 0; j < M; j++) {
            data[i][j] -= mean[j];
            data[i][j] /= sqrt((double)N) * dev[j];
        }

    for (i = 0; i < M - 1; i++) {
        corr[i][i] = 1.0;
        for (j = i + 1; j < M; j++) {
            corr[i][j] = 0.0;
            for (k = 0; k < N; k++)
                corr[i][j] += data[k][i] * data[k][j];
            corr[j][i] = corr[i][j];
        }
    }
    corr[M - 1][M - 1] = 1.0;
}

static unsigned long long hash_bytes(const void *p, size_t len)
{
    const unsigned char *b = p;
    unsigned long long h = 14695981039346656037ULL;
    while (len-- > 0)
        h = (h ^ *b++) * 1099511628211ULL;
    return h;
}

int main(void)
{
    double sum = 0.0;
    init();
    correlation();
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++)
            sum += corr[i][j];
    printf("%016llx %.17g\n", hash_bytes(corr, sizeof corr), sum);
    return 0;
}
