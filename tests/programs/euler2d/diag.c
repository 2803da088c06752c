/* diag.c - integrals, extremes and profiles of the solution */
#include <stdio.h>
#include <math.h>
#include "euler.h"
#include "gas.h"

struct summary summarize(const struct grid *g)
{
    struct summary s = { 0 };
    double mass = 0.0, energy = 0.0, kinetic = 0.0, entropy = 0.0;
    double rmin = HUGE_VAL, rmax = -HUGE_VAL;
    double pmin = HUGE_VAL, pmax = -HUGE_VAL, mmax = 0.0;
    int fast = 0;
    double area = g->dx * g->dy;

#pragma omp parallel for reduction(+:mass, energy, kinetic, entropy, fast) \
        reduction(min:rmin, pmin) reduction(max:rmax, pmax, mmax)
    for (int j = 0; j < g->ny; j++) {
        for (int i = 0; i < g->nx; i++) {
            struct state q = g->cell[CELL(g, i, j)];
            struct prim w = to_prim(q);
            double speed2 = w.u * w.u + w.v * w.v;
            double mach = sqrt(speed2) / sound_speed(w);

            mass += q.rho * area;
            energy += q.e * area;
            kinetic += 0.5 * q.rho * speed2 * area;
            entropy += q.rho * log(w.p / pow(w.rho, GAMMA)) * area;
            rmin = fmin(rmin, w.rho);
            rmax = fmax(rmax, w.rho);
            pmin = fmin(pmin, w.p);
            pmax = fmax(pmax, w.p);
            if (mach > mmax)
                mmax = mach;
            if (mach > 1.0)
                fast++;
        }
    }
    s.mass = mass;
    s.energy = energy;
    s.kinetic = kinetic;
    s.entropy = entropy;
    s.rho_min = rmin;
    s.rho_max = rmax;
    s.p_min = pmin;
    s.p_max = pmax;
    s.mach_max = mmax;
    s.supersonic = fast;
    return s;
}

/* mean of the length of the density gradient, as in a schlieren picture */
double schlieren_norm(const struct grid *g)
{
    double sum = 0.0;

#pragma omp parallel for reduction(+:sum)
    for (int j = 1; j < g->ny - 1; j++)
        for (int i = 1; i < g->nx - 1; i++) {
            double gx = g->cell[CELL(g, i + 1, j)].rho - g->cell[CELL(g, i - 1, j)].rho;
            double gy = g->cell[CELL(g, i, j + 1)].rho - g->cell[CELL(g, i, j - 1)].rho;
            gx /= 2.0 * g->dx;
            gy /= 2.0 * g->dy;
            sum += sqrt(gx * gx + gy * gy);
        }
    return sum / ((double)(g->nx - 2) * (g->ny - 2));
}

/* density and pressure along the diagonal */
void print_profile(const struct grid *g, int samples)
{
    printf("  %-8s %-14s %-14s\n", "at", "density", "pressure");
    for (int k = 0; k < samples; k++) {
        int i = (int)((k + 0.5) * g->nx / samples);
        int j = (int)((k + 0.5) * g->ny / samples);
        struct prim w = to_prim(g->cell[CELL(g, i, j)]);
        printf("  %-8.4f %-14.10g %-14.10g\n", (k + 0.5) / samples, w.rho, w.p);
    }
}
