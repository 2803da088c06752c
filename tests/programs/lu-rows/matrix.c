#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "matrix.h"

static void *need(void *p)
{
    if (!p) {
        fputs("lu-rows: no memory left\n", stderr);
        exit(1);
    }
    return p;
}

double **matrix_alloc(int rows, int cols)
{
    int i;
    double **a;

    a = need(malloc(rows * sizeof(double *)));
    for (i = 0; i < rows; i++)
        a[i] = need(calloc(cols, sizeof(double)));
    return a;
}

void matrix_free(double **a, int rows)
{
    int i;

    for (i = 0; i < rows; i++)
        free(a[i]);
    free(a);
}

double **matrix_copy(double **a, int rows, int cols)
{
    int i;
    double **b = matrix_alloc(rows, cols);

    for (i = 0; i < rows; i++)
        memcpy(b[i], a[i], cols * sizeof(double));
    return b;
}

double *vector_alloc(int n)
{
    return need(calloc(n, sizeof(double)));
}

int *ivector_alloc(int n)
{
    return need(calloc(n, sizeof(int)));
}

/* largest row sum */
double norm_inf(double **a, int n)
{
    int i, j;
    double s, best = 0.0;

#pragma omp parallel for private(j, s) reduction(max:best)
    for (i = 0; i < n; i++) {
        s = 0.0;
        for (j = 0; j < n; j++)
            s += fabs(a[i][j]);
        if (s > best)
            best = s;
    }
    return best;
}

/* largest column sum */
double norm_one(double **a, int n)
{
    int i, j;
    double best = 0.0;
    double *sum = vector_alloc(n);

    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++)
            sum[j] += fabs(a[i][j]);
    for (j = 0; j < n; j++)
        if (sum[j] > best)
            best = sum[j];
    free(sum);
    return best;
}

double norm_frobenius(double **a, int n)
{
    int i, j;
    double s = 0.0;

#pragma omp parallel for private(j) reduction(+:s)
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++)
            s += a[i][j] * a[i][j];
    return sqrt(s);
}

double vector_max(const double *x, int n)
{
    int i;
    double best = 0.0;

    for (i = 0; i < n; i++)
        if (fabs(x[i]) > best)
            best = fabs(x[i]);
    return best;
}

double dot(const double *x, const double *y, int n)
{
    int i;
    double s = 0.0;

    for (i = 0; i < n; i++)
        s += x[i] * y[i];
    return s;
}

double vector_norm(const double *x, int n)
{
    return sqrt(dot(x, x, n));
}

void mat_vec(double **a, const double *x, double *y, int n)
{
    int i;

#pragma omp parallel for
    for (i = 0; i < n; i++)
        y[i] = dot(a[i], x, n);
}
