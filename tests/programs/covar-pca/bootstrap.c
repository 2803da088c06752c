/* how far the largest eigenvalues scatter over resampled observations */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "stats.h"
#include "table.h"

static unsigned next(unsigned *s)
{
    *s = *s * 747796405u + 2891336453u;
    unsigned w = ((*s >> ((*s >> 28) + 4)) ^ *s) * 277803737u;
    return (w >> 22) ^ w;
}

void bootstrap(size_t n, size_t m, double x[restrict n][m], int rounds, unsigned seed,
               size_t top, double mean[restrict top], double dev[restrict top])
{
    double *found = malloc((size_t)rounds * top * sizeof *found);
    int failed = found == NULL;

    if (!failed) {
#pragma omp parallel for schedule(dynamic) reduction(| : failed)
        for (int b = 0; b < rounds; b++) {
            double(*y)[m] = malloc(n * sizeof *y);
            double(*cov)[m] = malloc(m * sizeof *cov);
            double(*vec)[m] = malloc(m * sizeof *vec);
            double *val = malloc(2 * m * sizeof *val);
            unsigned s = seed + 977u * (unsigned)b;

            if (y && cov && vec && val) {
                for (size_t i = 0; i < n; i++) {
                    size_t pick = next(&s) % n;
                    for (size_t j = 0; j < m; j++)
                        y[i][j] = x[pick][j];
                }
                column_means(n, m, y, val + m);
                center(n, m, y, val + m);
                covariance(n, m, y, cov);
                jacobi_eigen(m, cov, vec, val, 1e-10, 50);
                for (size_t k = 0; k < top; k++)
                    found[b * top + k] = val[k];
            } else {
                failed |= 1;
            }
            free(y);
            free(cov);
            free(vec);
            free(val);
        }
    }
    if (failed) {
        fputs("covar-pca: out of memory\n", stderr);
        exit(EXIT_FAILURE);
    }

    for (size_t k = 0; k < top; k++) {
        double sum = 0.0, sum2 = 0.0;

        for (int b = 0; b < rounds; b++)
            sum += found[b * top + k];
        mean[k] = sum / rounds;
        for (int b = 0; b < rounds; b++)
            sum2 += (found[b * top + k] - mean[k]) * (found[b * top + k] - mean[k]);
        dev[k] = sqrt(sum2 / (rounds > 1 ? rounds - 1 : 1));
    }
    free(found);
}
