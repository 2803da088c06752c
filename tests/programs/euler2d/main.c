/*
 * euler2d - inviscid compressible flow in a box
 *
 *   euler2d CASE NX NY T_END
 *
 * CASE is quad (a Riemann problem in two dimensions), blast (an explosion
 * in a closed box) or shear (a jet in a periodic box).
 */
#include <stdio.h>
#include <stdlib.h>
#include "euler.h"

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "quad";
    int nx = argc > 2 ? atoi(argv[2]) : 200;
    int ny = argc > 3 ? atoi(argv[3]) : 200;
    double t_end = argc > 4 ? atof(argv[4]) : 0.2;
    double t = 0.0, next_report;
    int step = 0;

    if (nx < 8 || ny < 8 || t_end <= 0.0) {
        fprintf(stderr, "usage: %s quad|blast|shear nx ny t_end\n", argv[0]);
        return EXIT_FAILURE;
    }

    struct grid *g = grid_new(nx, ny, 1.0, 1.0);
    if (!init_case(g, name)) {
        fprintf(stderr, "%s: no case is called %s\n", argv[0], name);
        grid_free(g);
        return EXIT_FAILURE;
    }

    printf("euler2d: case %s, %d x %d cells\n", name, nx, ny);
    next_report = t_end / 4.0;
    while (t < t_end) {
        double dt = stable_dt(g, 0.8);
        int report = 0;

        if (t + dt >= next_report) {
            dt = next_report - t;
            report = 1;
        }
        advance(g, dt);
        step++;
        if (report) {
            struct summary s = summarize(g);
            t = next_report;
            next_report += t_end / 4.0;
            if (next_report > t_end * 0.999)
                next_report = t_end;
            printf("t = %.4f  step %d\n", t, step);
            printf("  mass %.10g  energy %.10g  kinetic %.10g\n",
                   s.mass, s.energy, s.kinetic);
            printf("  density %.10g .. %.10g  pressure %.10g .. %.10g\n",
                   s.rho_min, s.rho_max, s.p_min, s.p_max);
        } else {
            t += dt;
        }
    }

    struct summary s = summarize(g);
    printf("entropy          %.10g\n", s.entropy);
    printf("largest Mach     %.10g\n", s.mach_max);
    printf("supersonic cells %d\n", s.supersonic);
    printf("mean gradient    %.10g\n", schlieren_norm(g));
    print_profile(g, 8);
    grid_free(g);
    return EXIT_SUCCESS;
}
