/* eigenvalues of a symmetric matrix by cyclic Jacobi rotations */
#include <math.h>

#include "stats.h"

static double off_diagonal(size_t m, double a[restrict m][m])
{
    double s = 0.0;

    for (size_t p = 0; p < m; p++)
        for (size_t q = p + 1; q < m; q++)
            s += a[p][q] * a[p][q];
    return sqrt(2.0 * s);
}

static void rotate(size_t m, double a[restrict m][m], double v[restrict m][m], size_t p, size_t q)
{
    double theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
    double t = 1.0 / (fabs(theta) + sqrt(theta * theta + 1.0));

    if (theta < 0.0)
        t = -t;

    double c = 1.0 / sqrt(t * t + 1.0), s = t * c;

    /* columns, then rows */
    for (size_t k = 0; k < m; k++) {
        double x = a[k][p], y = a[k][q];
        a[k][p] = c * x - s * y;
        a[k][q] = s * x + c * y;
    }
    for (size_t k = 0; k < m; k++) {
        double x = a[p][k], y = a[q][k];
        a[p][k] = c * x - s * y;
        a[q][k] = s * x + c * y;
    }
    for (size_t k = 0; k < m; k++) {
        double x = v[k][p], y = v[k][q];
        v[k][p] = c * x - s * y;
        v[k][q] = s * x + c * y;
    }
}

void sort_eigen(size_t m, double v[restrict m][m], double w[restrict m])
{
    for (size_t i = 0; i + 1 < m; i++) {
        size_t best = i;

        for (size_t j = i + 1; j < m; j++)
            if (w[j] > w[best])
                best = j;
        if (best == i)
            continue;
        double t = w[i];
        w[i] = w[best];
        w[best] = t;
        for (size_t k = 0; k < m; k++) {
            t = v[k][i];
            v[k][i] = v[k][best];
            v[k][best] = t;
        }
    }
}

int jacobi_eigen(size_t m, double a[restrict m][m], double v[restrict m][m],
                 double w[restrict m], double tol, int max_sweeps)
{
    double limit = tol * frobenius(m, a);
    int sweep = 0;

    for (size_t j = 0; j < m; j++)
        for (size_t k = 0; k < m; k++)
            v[j][k] = j == k;

    while (sweep < max_sweeps && off_diagonal(m, a) > limit) {
        for (size_t p = 0; p + 1 < m; p++)
            for (size_t q = p + 1; q < m; q++) {
                if (fabs(a[p][q]) < limit / m)
                    continue;
                rotate(m, a, v, p, q);
            }
        sweep++;
    }
    for (size_t j = 0; j < m; j++)
        w[j] = a[j][j];
    sort_eigen(m, v, w);
    return sweep;
}
