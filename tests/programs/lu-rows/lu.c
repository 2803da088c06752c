#include <math.h>
#include <stdlib.h>
#include "matrix.h"
#include "lu.h"

static double largest_element(double **a, int n)
{
    int i, j;
    double best = 0.0;

    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++)
            if (fabs(a[i][j]) > best)
                best = fabs(a[i][j]);
    return best;
}

int lu_factor(LU *lu, double **a, int n)
{
    int i, j, k, p, itmp;
    double big, m, *rtmp, amax;

    lu->n = n;
    lu->a = a;
    lu->perm = ivector_alloc(n);
    lu->swaps = 0;
    lu->sign = 1;
    for (i = 0; i < n; i++)
        lu->perm[i] = i;
    amax = largest_element(a, n);

    for (k = 0; k < n; k++) {
        /* pivot */
        p = k;
        big = fabs(a[k][k]);
        for (i = k + 1; i < n; i++) {
            if (fabs(a[i][k]) > big) {
                big = fabs(a[i][k]);
                p = i;
            }
        }
        if (big == 0.0)
            return 0;
        if (p != k) {
            rtmp = a[p];
            a[p] = a[k];
            a[k] = rtmp;
            itmp = lu->perm[p];
            lu->perm[p] = lu->perm[k];
            lu->perm[k] = itmp;
            lu->swaps++;
            lu->sign = -lu->sign;
        }

        /* eliminate below */
#pragma omp parallel for private(j, m) schedule(static)
        for (i = k + 1; i < n; i++) {
            if (a[i][k] == 0.0)
                continue;
            m = a[i][k] / a[k][k];
            a[i][k] = m;
            for (j = k + 1; j < n; j++)
                a[i][j] -= m * a[k][j];
        }
    }

    /* U holds the largest elements that remained */
    big = 0.0;
    for (i = 0; i < n; i++)
        for (j = i; j < n; j++)
            if (fabs(a[i][j]) > big)
                big = fabs(a[i][j]);
    lu->growth = big / amax;
    return 1;
}

void lu_solve(const LU *lu, const double *b, double *x)
{
    int i, j, n = lu->n;
    double s;

    /* L y = P b */
    for (i = 0; i < n; i++) {
        s = b[lu->perm[i]];
        for (j = 0; j < i; j++)
            s -= lu->a[i][j] * x[j];
        x[i] = s;
    }
    /* U x = y */
    for (i = n - 1; i >= 0; i--) {
        s = x[i];
        for (j = i + 1; j < n; j++)
            s -= lu->a[i][j] * x[j];
        x[i] = s / lu->a[i][i];
    }
}

/* A^T x = b, by columns of the transposed factors */
void lu_solve_transposed(const LU *lu, const double *b, double *x)
{
    int i, j, n = lu->n;
    double *y = vector_alloc(n);

    for (i = 0; i < n; i++)
        y[i] = b[i];
    for (i = 0; i < n; i++) {
        y[i] /= lu->a[i][i];
        for (j = i + 1; j < n; j++)
            y[j] -= lu->a[i][j] * y[i];
    }
    for (i = n - 1; i >= 0; i--)
        for (j = 0; j < i; j++)
            y[j] -= lu->a[i][j] * y[i];
    for (i = 0; i < n; i++)
        x[lu->perm[i]] = y[i];
    free(y);
}

/* one right side per row of b */
void lu_solve_many(const LU *lu, double **b, double **x, int nrhs)
{
    int r;

#pragma omp parallel for schedule(dynamic, 1)
    for (r = 0; r < nrhs; r++)
        lu_solve(lu, b[r], x[r]);
}

/* iterative refinement; returns the steps that were needed */
int lu_refine(const LU *lu, double **a, const double *b, double *x,
              double tol, int max_steps)
{
    int i, step = 0, n = lu->n;
    double *r = vector_alloc(n), *d = vector_alloc(n);
    double change;

    do {
        mat_vec(a, x, r, n);
        for (i = 0; i < n; i++)
            r[i] = b[i] - r[i];
        lu_solve(lu, r, d);
        for (i = 0; i < n; i++)
            x[i] += d[i];
        change = vector_max(d, n) / vector_max(x, n);
        step++;
    } while (change > tol && step < max_steps);

    free(r);
    free(d);
    return step;
}

double lu_log_det(const LU *lu)
{
    int i;
    double s = 0.0;

    for (i = 0; i < lu->n; i++)
        s += log(fabs(lu->a[i][i]));
    return s;
}

/* estimate of the one norm of the inverse by steepest ascent over the
   corners of the unit ball */
double lu_inverse_norm(const LU *lu)
{
    int i, imax, last = -1, n = lu->n, it;
    double *x = vector_alloc(n), *y = vector_alloc(n), *z = vector_alloc(n);
    double est = 0.0, s;

    for (i = 0; i < n; i++)
        x[i] = 1.0 / n;
    for (it = 0; it < 5; it++) {
        lu_solve(lu, x, y);
        s = 0.0;
        for (i = 0; i < n; i++)
            s += fabs(y[i]);
        if (s <= est)
            break;
        est = s;
        for (i = 0; i < n; i++)
            y[i] = y[i] >= 0.0 ? 1.0 : -1.0;
        lu_solve_transposed(lu, y, z);
        imax = 0;
        for (i = 1; i < n; i++)
            if (fabs(z[i]) > fabs(z[imax]))
                imax = i;
        if (imax == last || fabs(z[imax]) <= dot(z, x, n))
            break;
        last = imax;
        for (i = 0; i < n; i++)
            x[i] = 0.0;
        x[imax] = 1.0;
    }
    free(x);
    free(y);
    free(z);
    return est;
}

void lu_free(LU *lu)
{
    matrix_free(lu->a, lu->n);
    free(lu->perm);
    lu->a = NULL;
    lu->perm = NULL;
}
