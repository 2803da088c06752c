/* Covariance matrix of M variables over N observations. */
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
#define M SIZE(160, 1000, 1500)
#endif
#ifndef N
#define N SIZE(200, 1200, 1700)
#endif

static void make_data(int m, int n, double data[n][m])
{
    unsigned s = 77u;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            s = s * 1103515245u + 12345u;
            data[i][j] = (double)(s >> 7) / 33554432.0 + (j % 5);
        }
}

static void covariance(int m, int n, double data[restrict n][m],
                       double cov[restrict m][m], double mean[restrict m])
{
    const double inv_n = 1.0 / n;

    for (int j = 0; j < m; j++) {
        mean[j] = 0.0;
        for (int i = 0; i < n; i++)
            mean[j] += data[i][j];
        mean[j] *= inv_n;
    }

    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            data[i][j] -= mean[j];

    for (int i = 0; i < m; i++)
        for (int j = i; j < m; j++) {
            cov[i][j] = 0.0;
            for (int k = 0; k < n; k++)
                cov[i][j] += data[k][i] * data[k][j];
            cov[i][j] /= n - 1.0;
            cov[j][i] = cov[i][j];
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
    const int m = M, n = N;
    double (*data)[m] = malloc(sizeof(double[n][m]));
    double (*cov)[m] = malloc(sizeof(double[m][m]));
    double *mean = malloc(m * sizeof *mean);
    double sum = 0.0;
    if (!data || !cov || !mean)
        return 1;

    make_data(m, n, data);
    covariance(m, n, data, cov, mean);

    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++)
            sum += cov[i][j];
    printf("%016llx %.17g\n", hash_bytes(cov, sizeof(double[m][m])), sum);
    free(data);
    free(cov);
    free(mean);
    return 0;
}
