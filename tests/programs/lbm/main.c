/*
 * Flow around a cylinder in a channel by the lattice Boltzmann method.
 *
 *      lbm nx ny steps [reynolds]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lattice.h"

static double total_mass(const Simulation *sim)
{
    double m = 0.0;
    int x, y, q;

#pragma omp parallel for private(x, q) reduction(+:m)
    for (y = 0; y < sim->ny; y++)
        for (x = 0; x < sim->nx; x++)
            if (AT(sim->flag, x, y) == FLUID)
                for (q = 0; q < Q; q++)
                    m += F(sim->f, x, y, q);
    return m;
}

static void flow_numbers(const Simulation *sim, double *energy, double *fastest,
                         double *enstrophy, int *backward)
{
    double e = 0.0, top = 0.0, z = 0.0;
    int x, y, b = 0;

#pragma omp parallel for private(x) reduction(+:e,z,b) reduction(max:top)
    for (y = 1; y < sim->ny - 1; y++)
        for (x = 1; x < sim->nx - 1; x++) {
            double u, v, s, curl;

            if (AT(sim->flag, x, y) != FLUID)
                continue;
            u = AT(sim->ux, x, y);
            v = AT(sim->uy, x, y);
            s = u * u + v * v;
            e += 0.5 * AT(sim->rho, x, y) * s;
            if (s > top)
                top = s;
            if (u < 0.0)
                b++;
            curl = 0.5 * (AT(sim->uy, x + 1, y) - AT(sim->uy, x - 1, y))
                 - 0.5 * (AT(sim->ux, x, y + 1) - AT(sim->ux, x, y - 1));
            z += curl * curl;
        }
    *energy = e;
    *fastest = sqrt(top);
    *enstrophy = z;
    *backward = b;
}

int main(int argc, char *argv[])
{
    int nx, ny, steps, part, parts = 5, done = 0;
    double reynolds = 80.0, speed = 0.08, mean_speed, diameter;
    Simulation *sim;

    if (argc < 4) {
        fprintf(stderr, "usage: %s nx ny steps [reynolds]\n", argv[0]);
        return 2;
    }
    nx = atoi(argv[1]);
    ny = atoi(argv[2]);
    steps = atoi(argv[3]);
    if (argc > 4)
        reynolds = atof(argv[4]);
    if (nx < 20 || ny < 10 || steps < parts || reynolds <= 0.0) {
        fprintf(stderr, "%s: grid or steps too small\n", argv[0]);
        return 2;
    }

    sim = simulation_new(nx, ny, reynolds, speed);
    if (sim == NULL) {
        fprintf(stderr, "%s: out of memory\n", argv[0]);
        return 1;
    }
    mean_speed = 2.0 / 3.0 * speed;
    diameter = ny / 5.0;
    place_cylinder(sim, nx / 4.0, ny / 2.0 + 1.3, diameter / 2.0);
    start_flow(sim);
    printf("%d x %d cells, %d of obstacle, tau %.6f, Reynolds %g\n", nx, ny,
           sim->obstacle_cells, sim->tau, reynolds);

    for (part = 1; part <= parts; part++) {
        double energy, fastest, enstrophy, cd;
        int backward;

        advance(sim, steps * part / parts - done);
        done = steps * part / parts;
        moments(sim);
        flow_numbers(sim, &energy, &fastest, &enstrophy, &backward);
        cd = sim->mean_drag / (0.5 * mean_speed * mean_speed * diameter);
        printf("step %d: mass %.10g energy %.10g fastest %.10g\n", done,
               total_mass(sim), energy, fastest);
        printf("  mean drag coefficient %.8g, enstrophy %.10g, %d cells flow back\n",
               cd, enstrophy, backward);
        if (!(fastest < 0.5)) {
            printf("  unstable\n");
            break;
        }
    }
    simulation_free(sim);
    return 0;
}
