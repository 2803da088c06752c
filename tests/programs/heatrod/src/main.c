#include <stdio.h>
#include <stdlib.h>
#include "heatrod.h"

int main(int argc, char **argv)
{
    Options opt;
    Mesh *m;
    System *sys;
    double t = 0.0, start;
    double mean[16];
    long nodes[16];
    long total = 0;
    int step, k;

    if (!options_parse(&opt, argc, argv))
        return EXIT_FAILURE;

    m = mesh_create(opt.ni, opt.nj, 0.30, 0.20);
    sys = system_create(m);
    print_header(&opt, m);
    boundary_apply(m, m->T, t);

    start = timer_now();
    for (step = 1; step <= opt.steps; step++) {
        SolveInfo info;

        t += opt.dt;
        field_copy(m->T_old, m->T, m->ni * m->ld);
        mesh_sources(m, t);
        assemble(m, sys, opt.dt);
        boundary_apply(m, m->T, t);
        info = solve(m, sys, &opt);
        boundary_apply(m, m->T, t);
        total += info.iterations;
        print_step(m, step, t, info);
    }
    fprintf(stderr, "%ld iterations in %.2f s\n", total, timer_now() - start);

    printf("stored heat      %.10g J/m\n", energy_stored(m));
    printf("heat sources     %.10g W/m\n", energy_source(m));
    energy_by_material(m, mean, nodes);
    for (k = 0; k < material_count(); k++)
        if (nodes[k] > 0)
            printf("  %-8s %7ld nodes, mean temperature %.10g K\n",
                   material_get(k)->name, nodes[k], mean[k]);
    print_map(m, 6, 8);

    system_destroy(sys);
    mesh_destroy(m);
    return EXIT_SUCCESS;
}
