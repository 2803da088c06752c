#ifndef CG_H
#define CG_H

#include "csr.h"

#define CG_MAX_ITERATIONS 2000

struct cg_work {
    int n;
    double *r, *z, *p, *q, *dinv;
};

struct cg_result {
    int iterations;
    int converged;
    double residual;        /* |b - A x|, from the recurrence */
    double true_residual;   /* |b - A x|, computed anew */
    double energy;          /* x.A.x / 2 - x.b */
    double max_abs;         /* of x */
    double ritz_max;        /* of D^-1 A, from the Lanczos coefficients */
};

int  cg_work_init(struct cg_work *w, int n);
void cg_work_free(struct cg_work *w);

/* Solves A x = b from x = 0, preconditioned by the diagonal. */
void cg_solve(const struct csr *a, const double *b, double *x,
              struct cg_work *w, int max_iterations, double tolerance,
              struct cg_result *result);

#endif
