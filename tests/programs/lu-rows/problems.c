#include <math.h>
#include <stdlib.h>
#include "matrix.h"

static unsigned long lcg_state = 12345;

/* minimal standard generator, uniform in (0,1) */
static double uniform(void)
{
    lcg_state = lcg_state * 16807UL % 2147483647UL;
    return lcg_state / 2147483647.0;
}

const char *problem_name(int problem)
{
    switch (problem) {
    case PROBLEM_RANDOM:
        return "uniform random";
    case PROBLEM_LAPLACE:
        return "potential of charges";
    case PROBLEM_LEHMER:
        return "Lehmer, rows shuffled";
    case PROBLEM_DECAY:
        return "decay off the diagonal";
    }
    return NULL;
}

void problem_fill(double **a, int n, int problem)
{
    int i, j;
    double d, *row;

    switch (problem) {
    case PROBLEM_RANDOM:
        for (i = 0; i < n; i++)
            for (j = 0; j < n; j++)
                a[i][j] = 2.0 * uniform() - 1.0;
        break;

    case PROBLEM_LAPLACE:
        /* charges on a spiral, each one softened */
        for (i = 0; i < n; i++) {
            double ti = 0.1 * i, xi = ti * cos(ti), yi = ti * sin(ti);
            for (j = 0; j < n; j++) {
                double tj = 0.1 * j, xj = tj * cos(tj), yj = tj * sin(tj);
                d = sqrt((xi - xj) * (xi - xj) + (yi - yj) * (yi - yj) + 0.0025);
                a[i][j] = 1.0 / d;
            }
        }
        break;

    case PROBLEM_LEHMER:
        for (i = 0; i < n; i++)
            for (j = 0; j < n; j++)
                a[i][j] = i < j ? (i + 1.0) / (j + 1.0) : (j + 1.0) / (i + 1.0);
        for (i = n - 1; i > 0; i--) {
            j = (int)(uniform() * (i + 1));
            row = a[i];
            a[i] = a[j];
            a[j] = row;
        }
        break;

    case PROBLEM_DECAY:
        for (i = 0; i < n; i++)
            for (j = 0; j < n; j++) {
                d = abs(i - j);
                a[i][j] = (i == j ? 4.0 : 1.0) * exp(-0.05 * d) * cos(0.3 * d * (1 + i % 3));
            }
        break;
    }
}

void problem_solution(double *x, int n, int which)
{
    int i;

    for (i = 0; i < n; i++) {
        if (which == 0)
            x[i] = 1.0;
        else if (which % 2)
            x[i] = sin(0.01 * which * (i + 1)) + 0.5;
        else
            x[i] = (i + which) % 7 - 2.5;
    }
}
