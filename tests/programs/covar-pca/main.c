/*
 * covar-pca [-g ROWS COLS] [-s SEED] [-b ROUNDS] [-w]
 *
 * Reads a table from standard input, or makes one up with -g, and prints its
 * principal components.  -b resamples for error bars, -w only writes the
 * table.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stats.h"
#include "table.h"

#define TOP 6

static void *need(size_t bytes)
{
    void *p = malloc(bytes);

    if (p == NULL) {
        fputs("covar-pca: out of memory\n", stderr);
        exit(EXIT_FAILURE);
    }
    return p;
}

static void usage(void)
{
    fputs("usage: covar-pca [-g rows cols] [-s seed] [-b rounds] [-w] < table\n", stderr);
    exit(2);
}

static void strongest_pairs(const table *t, size_t m, double cor[restrict m][m])
{
    double bound = 2.0;

    printf("strongest correlations\n");
    for (int n = 0; n < 5; n++) {
        double best = -1.0;
        size_t bj = 0, bk = 0;

        for (size_t j = 0; j < m; j++)
            for (size_t k = j + 1; k < m; k++) {
                double c = fabs(cor[j][k]);
                if (c > best && c < bound) {
                    best = c;
                    bj = j;
                    bk = k;
                }
            }
        if (best < 0.0)
            break;
        printf("  %-8s %-8s %.8f\n", t->name[bj], t->name[bk], cor[bj][bk]);
        bound = best;
    }
}

static void print_component(const table *t, size_t m, double vec[restrict m][m], size_t k)
{
    size_t big = 0;

    for (size_t j = 1; j < m; j++)
        if (fabs(vec[j][k]) > fabs(vec[big][k]))
            big = j;
    printf("    loads most on %s (%.6f)\n", t->name[big], fabs(vec[big][k]));
}

int main(int argc, char **argv)
{
    size_t rows = 0, cols = 0;
    unsigned seed = 1;
    int rounds = 0, only_write = 0;

    for (int a = 1; a < argc; a++) {
        if (strcmp(argv[a], "-g") == 0 && a + 2 < argc) {
            rows = strtoul(argv[++a], NULL, 10);
            cols = strtoul(argv[++a], NULL, 10);
        } else if (strcmp(argv[a], "-s") == 0 && a + 1 < argc) {
            seed = (unsigned)strtoul(argv[++a], NULL, 10);
        } else if (strcmp(argv[a], "-b") == 0 && a + 1 < argc) {
            rounds = atoi(argv[++a]);
        } else if (strcmp(argv[a], "-w") == 0) {
            only_write = 1;
        } else {
            usage();
        }
    }

    table *t = rows && cols ? table_generate(rows, cols, seed) : table_read(stdin);
    if (only_write) {
        table_write(t, stdout);
        table_free(t);
        return 0;
    }

    size_t n = t->rows, m = t->cols;
    if (n < 3 || m < 2) {
        fputs("covar-pca: the table is too small\n", stderr);
        return 1;
    }

    size_t filled = table_impute(t);
    double(*x)[m] = (double(*)[m])t->x;
    double *mean = need(m * sizeof *mean), *dev = need(m * sizeof *dev);
    double *skew = need(m * sizeof *skew), *val = need(m * sizeof *val);
    double(*cov)[m] = need(m * sizeof *cov);
    double(*cor)[m] = need(m * sizeof *cor);
    double(*vec)[m] = need(m * sizeof *vec);

    printf("%zu observations of %zu variables, %zu values filled in\n", n, m, filled);
    column_means(n, m, x, mean);
    column_moments(n, m, x, mean, dev, skew);
    for (size_t j = 0; j < m && j < 8; j++)
        printf("  %-8s mean %.10g  deviation %.10g  skew %.3f\n", t->name[j], mean[j], dev[j],
               fabs(skew[j]));

    center(n, m, x, mean);
    covariance(n, m, x, cov);
    correlation(m, cov, cor);
    printf("covariance: trace %.10g, norm %.10g\n", trace(m, cov), frobenius(m, cov));
    printf("correlation: norm %.10g\n", frobenius(m, cor));
    strongest_pairs(t, m, cor);

    double total = trace(m, cov), cum = 0.0;
    int sweeps = jacobi_eigen(m, cov, vec, val, 1e-12, 60);
    size_t half = 0;

    printf("components of the covariance, %d sweeps\n", sweeps);
    for (size_t k = 0; k < m; k++) {
        cum += val[k];
        if (cum < 0.9 * total)
            half = k + 1;
        if (k < TOP) {
            printf("  %zu: variance %.10g, so far %.4f %%\n", k + 1, val[k], 100.0 * cum / total);
            print_component(t, m, vec, k);
        }
    }
    printf("  %zu components hold 90 %%\n", half + 1);

    if (rounds > 0) {
        size_t top = m < TOP ? m : TOP;
        double bm[TOP], bd[TOP];

        bootstrap(n, m, x, rounds, seed, top, bm, bd);
        printf("bootstrap, %d rounds\n", rounds);
        for (size_t k = 0; k < top; k++)
            printf("  %zu: %.9g +- %.7g\n", k + 1, bm[k], bd[k]);
    }

    sweeps = jacobi_eigen(m, cor, vec, val, 1e-12, 60);
    size_t above = 0;
    for (size_t k = 0; k < m; k++)
        above += val[k] > 1.0;
    printf("correlation: %d sweeps, largest %.10g, %zu above one\n", sweeps, val[0], above);

    free(mean);
    free(dev);
    free(skew);
    free(val);
    free(cov);
    free(cor);
    free(vec);
    table_free(t);
    return 0;
}
