#ifndef STATS_H
#define STATS_H

#include <stddef.h>

/* x: n observations of m variables */
void column_means(size_t n, size_t m, double x[restrict n][m], double mean[restrict m]);
void column_moments(size_t n, size_t m, double x[restrict n][m], const double mean[restrict m],
                    double dev[restrict m], double skew[restrict m]);
void center(size_t n, size_t m, double x[restrict n][m], const double mean[restrict m]);
void covariance(size_t n, size_t m, double x[restrict n][m], double cov[restrict m][m]);
void correlation(size_t m, double cov[restrict m][m], double cor[restrict m][m]);
double trace(size_t m, double a[restrict m][m]);
double frobenius(size_t m, double a[restrict m][m]);

/* jacobi.c: destroys a; eigenvalues descending, eigenvectors in the columns */
int jacobi_eigen(size_t m, double a[restrict m][m], double v[restrict m][m],
                 double w[restrict m], double tol, int max_sweeps);
void sort_eigen(size_t m, double v[restrict m][m], double w[restrict m]);

/* bootstrap.c */
void bootstrap(size_t n, size_t m, double x[restrict n][m], int rounds, unsigned seed,
               size_t top, double mean[restrict top], double dev[restrict top]);

#endif
