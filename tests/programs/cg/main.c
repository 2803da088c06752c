/* Steady pressure in a fractured block of rock, for several pairs of wells.
 *
 *     cg [cells per side] [pairs of wells] [tolerance]
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "cg.h"
#include "problem.h"

static double seconds(void)
{
#ifdef _OPENMP
    return omp_get_wtime();
#else
    return (double)clock() / CLOCKS_PER_SEC;
#endif
}

int main(int argc, char **argv)
{
    int m = argc > 1 ? atoi(argv[1]) : 32;
    int wells = argc > 2 ? atoi(argv[2]) : 2;
    double tolerance = argc > 3 ? atof(argv[3]) : 1e-7;
    struct csr a;
    struct cg_work work;
    double *b, *x, start, setup;
    int w, i, total = 0, bad = 0;

    if (m < 8 || m > 200 || wells < 1 || tolerance <= 0.0) {
        fprintf(stderr, "usage: %s cells(8..200) wells tolerance\n", argv[0]);
        return 2;
    }

    start = seconds();
    if (problem_matrix(&a, m, 42u) != 0) {
        fprintf(stderr, "cg: no memory for the matrix\n");
        return 1;
    }
    if (cg_work_init(&work, a.n) != 0) {
        fprintf(stderr, "cg: no memory for the vectors\n");
        csr_free(&a);
        return 1;
    }
    b = malloc((size_t)a.n * sizeof(double));
    x = malloc((size_t)a.n * sizeof(double));
    if (b == NULL || x == NULL) {
        fprintf(stderr, "cg: no memory for the vectors\n");
        return 1;
    }
    setup = seconds() - start;

    printf("unknowns      %d\n", a.n);
    printf("nonzeros      %d\n", a.rowptr[a.n]);
    printf("symmetric     %s\n", csr_is_symmetric(&a) ? "yes" : "no");
    printf("Gershgorin    %.10g\n", csr_gershgorin(&a));

    start = seconds();
    for (w = 0; w < wells; w++) {
        struct cg_result r;
        double sum = 0.0;

        problem_rhs(b, m, w);
        cg_solve(&a, b, x, &work, CG_MAX_ITERATIONS, tolerance, &r);
        for (i = 0; i < a.n; i++)
            sum += x[i] * x[i];
        printf("wells %d: %d iterations, %s\n", w, r.iterations,
               r.converged ? "converged" : "NOT converged");
        printf("  energy      %.10g\n", r.energy);
        printf("  |x|^2       %.10g\n", sum);
        printf("  max |x|     %.10g\n", r.max_abs);
        printf("  largest eigenvalue of the scaled matrix %.6f\n", r.ritz_max);
        if (r.true_residual > 10.0 * r.residual + 1e-12)
            bad++;
        total += r.iterations;
    }
    printf("iterations in all %d, residuals out of step %d\n", total, bad);
    fprintf(stderr, "setup %.3f s, solve %.3f s\n", setup, seconds() - start);

    free(b);
    free(x);
    cg_work_free(&work);
    csr_free(&a);
    return bad ? 1 : 0;
}
