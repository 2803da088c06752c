/*
 * lu-rows N RHS PROBLEM
 *
 * Solves N x N systems with RHS right sides whose solutions are known.
 * PROBLEM: 1 random, 2 potential, 3 Lehmer, 4 decay.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include "matrix.h"
#include "lu.h"

static double seconds(void)
{
#ifdef _OPENMP
    return omp_get_wtime();
#else
    return 0.0;
#endif
}

int main(int argc, char **argv)
{
    int n, nrhs, problem, i, r, steps, worst;
    double **a, **work, **exact, **b, **x;
    double err, err_max, norm1, t0;
    LU lu;

    n = argc > 1 ? atoi(argv[1]) : 500;
    nrhs = argc > 2 ? atoi(argv[2]) : 4;
    problem = argc > 3 ? atoi(argv[3]) : PROBLEM_RANDOM;
    if (n < 1 || nrhs < 1 || problem_name(problem) == NULL) {
        fprintf(stderr, "usage: lu-rows n rhs problem(1-4)\n");
        return 2;
    }

    a = matrix_alloc(n, n);
    exact = matrix_alloc(nrhs, n);
    b = matrix_alloc(nrhs, n);
    x = matrix_alloc(nrhs, n);
    problem_fill(a, n, problem);
    for (r = 0; r < nrhs; r++) {
        problem_solution(exact[r], n, r);
        mat_vec(a, exact[r], b[r], n);
    }

    printf("%s, order %d, %d right sides\n", problem_name(problem), n, nrhs);
    norm1 = norm_one(a, n);
    printf("norms: one %.10g  inf %.10g  frobenius %.10g\n", norm1,
           norm_inf(a, n), norm_frobenius(a, n));

    work = matrix_copy(a, n, n);
    t0 = seconds();
    if (!lu_factor(&lu, work, n)) {
        printf("the matrix is singular\n");
        lu_free(&lu);
        return 1;
    }
    fprintf(stderr, "factor: %.3f s\n", seconds() - t0);
    printf("row swaps %d, sign %d, growth %.6g\n", lu.swaps, lu.sign, lu.growth);
    printf("log |det| = %.10g\n", lu_log_det(&lu));

    lu_solve_many(&lu, b, x, nrhs);
    steps = 0;
    for (r = 0; r < nrhs; r++) {
        i = lu_refine(&lu, a, b[r], x[r], 1e-13, 5);
        if (i > steps)
            steps = i;
    }

    err_max = 0.0;
    worst = 0;
    for (r = 0; r < nrhs; r++) {
        err = 0.0;
        for (i = 0; i < n; i++)
            if (fabs(x[r][i] - exact[r][i]) > err)
                err = fabs(x[r][i] - exact[r][i]);
        if (err > err_max) {
            err_max = err;
            worst = r;
        }
        printf("  solution %d: norm %.10g, first %.10g, last %.10g\n", r,
               vector_norm(x[r], n), x[r][0], x[r][n - 1]);
    }
    fprintf(stderr, "error %.2e in solution %d, %d refinements\n", err_max, worst, steps);
    printf("condition number about %.6g\n", norm1 * lu_inverse_norm(&lu));
    printf("solutions %s\n", err_max < 1e-6 ? "are right" : "ARE WRONG");

    lu_free(&lu);
    matrix_free(a, n);
    matrix_free(exact, nrhs);
    matrix_free(b, nrhs);
    matrix_free(x, nrhs);
    return err_max < 1e-6 ? 0 : 1;
}
