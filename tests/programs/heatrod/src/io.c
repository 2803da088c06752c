#include <math.h>
#include <stdio.h>
#include "heatrod.h"

void print_header(const Options *o, const Mesh *m)
{
    printf("heatrod: %d x %d nodes, spacing %.4g x %.4g mm\n", m->ni, m->nj,
           1e3 * m->hx, 1e3 * m->hy);
    printf("%d steps of %g s, %s, tolerance %g\n", o->steps, o->dt,
           method_name(o->method), o->tol);
    printf("  step      t  iterations        T min        T max       T mean\n");
}

void print_step(const Mesh *m, int step, double t, SolveInfo info)
{
    double lo = HUGE_VAL, hi = -HUGE_VAL, sum = 0.0;
    int i, j;

#pragma omp parallel for private(j) reduction(min:lo) reduction(max:hi) reduction(+:sum)
    for (i = 0; i < m->ni; i++)
        for (j = 0; j < m->nj; j++) {
            double T = m->T[i * m->ld + j];

            if (T < lo)
                lo = T;
            if (T > hi)
                hi = T;
            sum += T;
        }
    printf("%6d %6.1f  %8d%s  %12.9g %12.9g %12.9g\n", step, t, info.iterations,
           info.converged ? " " : "!", lo, hi, sum / ((double)m->ni * m->nj));
}

/* mean temperature of coarse blocks of the plate */
void print_map(const Mesh *m, int rows, int cols)
{
    int a, b, i, j;

    printf("map of the plate, K\n");
    for (b = rows - 1; b >= 0; b--) {
        for (a = 0; a < cols; a++) {
            double sum = 0.0;
            int n = 0;

            for (i = a * m->ni / cols; i < (a + 1) * m->ni / cols; i++)
                for (j = b * m->nj / rows; j < (b + 1) * m->nj / rows; j++) {
                    sum += m->T[i * m->ld + j];
                    n++;
                }
            printf(" %.8g", sum / n);
        }
        printf("\n");
    }
}
