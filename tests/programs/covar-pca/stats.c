#include <math.h>

#include "stats.h"

void column_means(size_t n, size_t m, double x[restrict n][m], double mean[restrict m])
{
    for (size_t j = 0; j < m; j++)
        mean[j] = 0.0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++)
            mean[j] += x[i][j];
    for (size_t j = 0; j < m; j++)
        mean[j] /= n;
}

void column_moments(size_t n, size_t m, double x[restrict n][m], const double mean[restrict m],
                    double dev[restrict m], double skew[restrict m])
{
#pragma omp parallel for
    for (size_t j = 0; j < m; j++) {
        double s2 = 0.0, s3 = 0.0;

#pragma omp simd reduction(+ : s2, s3)
        for (size_t i = 0; i < n; i++) {
            double d = x[i][j] - mean[j];
            s2 += d * d;
            s3 += d * d * d;
        }
        dev[j] = sqrt(s2 / (n - 1));
        skew[j] = s2 > 0.0 ? s3 / n / pow(s2 / n, 1.5) : 0.0;
    }
}

void center(size_t n, size_t m, double x[restrict n][m], const double mean[restrict m])
{
#pragma omp parallel for
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++)
            x[i][j] -= mean[j];
}

/* of centred observations; the lower half is a copy of the upper one */
void covariance(size_t n, size_t m, double x[restrict n][m], double cov[restrict m][m])
{
#pragma omp parallel for schedule(dynamic)
    for (size_t j = 0; j < m; j++) {
        for (size_t k = j; k < m; k++) {
            double sum = 0.0;

#pragma omp simd reduction(+ : sum)
            for (size_t i = 0; i < n; i++)
                sum += x[i][j] * x[i][k];
            cov[j][k] = sum / (n - 1);
        }
    }
    for (size_t j = 1; j < m; j++)
        for (size_t k = 0; k < j; k++)
            cov[j][k] = cov[k][j];
}

void correlation(size_t m, double cov[restrict m][m], double cor[restrict m][m])
{
#pragma omp parallel for
    for (size_t j = 0; j < m; j++)
        for (size_t k = 0; k < m; k++) {
            double s = sqrt(cov[j][j] * cov[k][k]);
            cor[j][k] = s > 0.0 ? cov[j][k] / s : (j == k);
        }
}

double trace(size_t m, double a[restrict m][m])
{
    double s = 0.0;

    for (size_t j = 0; j < m; j++)
        s += a[j][j];
    return s;
}

double frobenius(size_t m, double a[restrict m][m])
{
    double s = 0.0;

#pragma omp parallel for reduction(+ : s)
    for (size_t j = 0; j < m; j++) {
        double row = 0.0;

#pragma omp simd reduction(+ : row)
        for (size_t k = 0; k < m; k++)
            row += a[j][k] * a[j][k];
        s += row;
    }
    return sqrt(s);
}
