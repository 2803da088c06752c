#include <math.h>

#include "vec.h"

/* What a team reduces into: shared by its threads. */
static double team_sum;
static double team_max;

double vec_dot(int n, const double *x, const double *y)
{
    int i;
    double result;

#pragma omp single
    team_sum = 0.0;

#pragma omp for reduction(+:team_sum)
    for (i = 0; i < n; i++)
        team_sum += x[i] * y[i];

    result = team_sum;
    /* nobody starts the next sum before all have read this one */
#pragma omp barrier
    return result;
}

double vec_max_abs(int n, const double *x)
{
    int i;
    double result;

#pragma omp single
    team_max = 0.0;

#pragma omp for reduction(max:team_max)
    for (i = 0; i < n; i++)
        if (fabs(x[i]) > team_max)
            team_max = fabs(x[i]);

    result = team_max;
#pragma omp barrier
    return result;
}

void vec_axpy(int n, double alpha, const double *x, double *y)
{
    int i;

#pragma omp for
    for (i = 0; i < n; i++)
        y[i] += alpha * x[i];
}

void vec_xpby(int n, const double *x, double beta, double *y)
{
    int i;

#pragma omp for
    for (i = 0; i < n; i++)
        y[i] = x[i] + beta * y[i];
}

void vec_copy(int n, const double *x, double *y)
{
    int i;

#pragma omp for
    for (i = 0; i < n; i++)
        y[i] = x[i];
}

void vec_fill(int n, double value, double *x)
{
    int i;

#pragma omp for
    for (i = 0; i < n; i++)
        x[i] = value;
}

void vec_scale_by(int n, const double *d, const double *x, double *y)
{
    int i;

#pragma omp for
    for (i = 0; i < n; i++)
        y[i] = d[i] * x[i];
}
