#include <math.h>
#include <stdlib.h>

#include "cg.h"
#include "vec.h"

int cg_work_init(struct cg_work *w, int n)
{
    size_t bytes = (size_t)n * sizeof(double);

    w->n = n;
    w->r = malloc(bytes);
    w->z = malloc(bytes);
    w->p = malloc(bytes);
    w->q = malloc(bytes);
    w->dinv = malloc(bytes);
    if (!w->r || !w->z || !w->p || !w->q || !w->dinv) {
        cg_work_free(w);
        return -1;
    }
    return 0;
}

void cg_work_free(struct cg_work *w)
{
    free(w->r);
    free(w->z);
    free(w->p);
    free(w->q);
    free(w->dinv);
    w->r = w->z = w->p = w->q = w->dinv = NULL;
}

/* Eigenvalues of a symmetric tridiagonal matrix below x (Sturm count). */
static int sturm_count(int m, const double *d, const double *e, double x)
{
    int i, below = 0;
    double q = d[0] - x;

    if (q < 0.0)
        below++;
    for (i = 1; i < m; i++) {
        if (q == 0.0)
            q = 1e-300;
        q = d[i] - x - e[i - 1] * e[i - 1] / q;
        if (q < 0.0)
            below++;
    }
    return below;
}

/* The largest Ritz value by bisection. */
static double largest_ritz(int m, const double *alpha, const double *beta)
{
    double d[CG_MAX_ITERATIONS], e[CG_MAX_ITERATIONS];
    double lo = 0.0, hi = 0.0;
    int i;

    if (m < 1)
        return 0.0;
    for (i = 0; i < m; i++) {
        d[i] = 1.0 / alpha[i];
        if (i > 0)
            d[i] += beta[i - 1] / alpha[i - 1];
        if (i < m - 1)
            e[i] = sqrt(beta[i]) / alpha[i];
    }
    for (i = 0; i < m; i++) {
        double row = d[i];
        if (i > 0)
            row += fabs(e[i - 1]);
        if (i < m - 1)
            row += fabs(e[i]);
        if (row > hi)
            hi = row;
    }
    while (hi - lo > 1e-12 * hi) {
        double mid = 0.5 * (lo + hi);
        if (sturm_count(m, d, e, mid) == m)
            hi = mid;
        else
            lo = mid;
        if (mid == lo && mid == hi)
            break;
    }
    return 0.5 * (lo + hi);
}

void cg_solve(const struct csr *a, const double *b, double *x,
              struct cg_work *w, int max_iterations, double tolerance,
              struct cg_result *result)
{
    static double alphas[CG_MAX_ITERATIONS], betas[CG_MAX_ITERATIONS];
    int n = a->n;

    if (max_iterations > CG_MAX_ITERATIONS)
        max_iterations = CG_MAX_ITERATIONS;

#pragma omp parallel default(shared)
    {
        int it = 0;
        double rho, rho_old, alpha, beta, rr, rr0, pq, xb, xax, mx;

        csr_inverse_diagonal(a, w->dinv);
        vec_fill(n, 0.0, x);
        vec_copy(n, b, w->r);
        vec_scale_by(n, w->dinv, w->r, w->z);
        vec_copy(n, w->z, w->p);
        rho = vec_dot(n, w->r, w->z);
        rr0 = rr = vec_dot(n, w->r, w->r);

        while (it < max_iterations && rr > tolerance * tolerance * rr0) {
            csr_multiply(a, w->p, w->q);
            pq = vec_dot(n, w->p, w->q);
            alpha = rho / pq;
            vec_axpy(n, alpha, w->p, x);
            vec_axpy(n, -alpha, w->q, w->r);
            vec_scale_by(n, w->dinv, w->r, w->z);
            rho_old = rho;
            rho = vec_dot(n, w->r, w->z);
            rr = vec_dot(n, w->r, w->r);
            beta = rho / rho_old;
            vec_xpby(n, w->z, beta, w->p);
#pragma omp master
            {
                alphas[it] = alpha;
                betas[it] = beta;
            }
            it++;
        }

        /* the residual as it is */
        csr_multiply(a, x, w->q);
        xax = vec_dot(n, x, w->q);
        xb = vec_dot(n, x, b);
        vec_copy(n, b, w->z);
        vec_axpy(n, -1.0, w->q, w->z);
        pq = vec_dot(n, w->z, w->z);
        mx = vec_max_abs(n, x);

#pragma omp single
        {
            result->iterations = it;
            result->converged = rr <= tolerance * tolerance * rr0;
            result->residual = sqrt(rr);
            result->true_residual = sqrt(pq);
            result->energy = 0.5 * xax - xb;
            result->max_abs = mx;
        }
    }
    result->ritz_max = largest_ritz(result->iterations, alphas, betas);
}
