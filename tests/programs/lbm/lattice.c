#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lattice.h"

const int ex[Q] = { 0, 1, 0, -1,  0, 1, -1, -1,  1 };
const int ey[Q] = { 0, 0, 1,  0, -1, 1,  1, -1, -1 };
const int opposite[Q] = { 0, 3, 4, 1, 2, 7, 8, 5, 6 };
const double weight[Q] = {
    4.0 / 9.0,
    1.0 / 9.0, 1.0 / 9.0, 1.0 / 9.0, 1.0 / 9.0,
    1.0 / 36.0, 1.0 / 36.0, 1.0 / 36.0, 1.0 / 36.0
};

static double equilibrium(int q, double rho, double ux, double uy)
{
    double eu = ex[q] * ux + ey[q] * uy;
    double u2 = ux * ux + uy * uy;

    return weight[q] * rho * (1.0 + 3.0 * eu + 4.5 * eu * eu - 1.5 * u2);
}

Simulation *simulation_new(int nx, int ny, double reynolds, double speed)
{
    Simulation *sim = calloc(1, sizeof *sim);
    size_t cells = (size_t) nx * ny;

    if (sim == NULL)
        return NULL;
    sim->nx = nx;
    sim->ny = ny;
    sim->speed = speed;
    /* Reynolds number by the diameter of the cylinder, ny / 5 */
    sim->tau = 0.5 + 3.0 * speed * (ny / 5.0) / reynolds;
    sim->f = malloc(cells * Q * sizeof(double));
    sim->g = malloc(cells * Q * sizeof(double));
    sim->rho = malloc(cells * sizeof(double));
    sim->ux = malloc(cells * sizeof(double));
    sim->uy = malloc(cells * sizeof(double));
    sim->flag = calloc(cells, 1);
    if (!sim->f || !sim->g || !sim->rho || !sim->ux || !sim->uy || !sim->flag) {
        simulation_free(sim);
        return NULL;
    }
    return sim;
}

void simulation_free(Simulation *sim)
{
    if (sim == NULL)
        return;
    free(sim->f);
    free(sim->g);
    free(sim->rho);
    free(sim->ux);
    free(sim->uy);
    free(sim->flag);
    free(sim);
}

void place_cylinder(Simulation *sim, double cx, double cy, double r)
{
    int x, y;

    for (y = 0; y < sim->ny; y++)
        for (x = 0; x < sim->nx; x++) {
            double dx = x - cx, dy = y - cy;

            if (dx * dx + dy * dy <= r * r) {
                AT(sim->flag, x, y) = SOLID;
                sim->obstacle_cells++;
            }
        }
    /* walls above and below */
    for (x = 0; x < sim->nx; x++)
        AT(sim->flag, x, 0) = AT(sim->flag, x, sim->ny - 1) = SOLID;
}

static double inlet_profile(const Simulation *sim, int y)
{
    double s = (y - 0.5) / (sim->ny - 2.0);

    return 4.0 * sim->speed * s * (1.0 - s);
}

void start_flow(Simulation *sim)
{
    int x, y, q;

    for (y = 0; y < sim->ny; y++)
        for (x = 0; x < sim->nx; x++) {
            double u = AT(sim->flag, x, y) == SOLID ? 0.0 : inlet_profile(sim, y);
            /* a little across, so that it does not stay symmetric */
            double v = AT(sim->flag, x, y) == SOLID ? 0.0
                     : 0.05 * sim->speed * sin(6.28318530717958648 * x / sim->nx);

            for (q = 0; q < Q; q++) {
                F(sim->f, x, y, q) = equilibrium(q, 1.0, u, v);
                F(sim->g, x, y, q) = F(sim->f, x, y, q);
            }
            AT(sim->rho, x, y) = 1.0;
            AT(sim->ux, x, y) = u;
            AT(sim->uy, x, y) = v;
        }
}

void moments(Simulation *sim)
{
    int x, y, q;
    const double *f = sim->f;

#pragma omp parallel for collapse(2) private(q)
    for (y = 0; y < sim->ny; y++) {
        for (x = 0; x < sim->nx; x++) {
            double rho = 0.0, mx = 0.0, my = 0.0;

            if (AT(sim->flag, x, y) == SOLID)
                continue;
            for (q = 0; q < Q; q++) {
                double fq = F(f, x, y, q);

                rho += fq;
                mx += ex[q] * fq;
                my += ey[q] * fq;
            }
            AT(sim->rho, x, y) = rho;
            AT(sim->ux, x, y) = mx / rho;
            AT(sim->uy, x, y) = my / rho;
        }
    }
}

void collide(Simulation *sim)
{
    int x, y, q;
    double omega = 1.0 / sim->tau;

#pragma omp parallel for collapse(2) private(q)
    for (y = 0; y < sim->ny; y++)
        for (x = 0; x < sim->nx; x++) {
            double rho, u, v;

            if (AT(sim->flag, x, y) == SOLID)
                continue;
            rho = AT(sim->rho, x, y);
            u = AT(sim->ux, x, y);
            v = AT(sim->uy, x, y);
            for (q = 0; q < Q; q++)
                F(sim->f, x, y, q) += omega * (equilibrium(q, rho, u, v)
                                               - F(sim->f, x, y, q));
        }
}

/* Pull from the neighbours; what would come out of a solid cell is what went
   in (half-way bounce back), and pushes the obstacle. */
void stream(Simulation *sim)
{
    int x, y, q;
    int nx = sim->nx, ny = sim->ny;
    const double *f = sim->f;
    double *g = sim->g;
    double fx = 0.0, fy = 0.0;

#pragma omp parallel for collapse(2) private(q) reduction(+:fx, fy)
    for (y = 1; y < ny - 1; y++)
        for (x = 0; x < nx; x++) {
            if (AT(sim->flag, x, y) == SOLID)
                continue;
            for (q = 0; q < Q; q++) {
                int xs = x - ex[q], ys = y - ey[q];

                if (xs < 0)
                    xs += nx;
                else if (xs >= nx)
                    xs -= nx;
                if (AT(sim->flag, xs, ys) == SOLID) {
                    double back = F(f, x, y, opposite[q]);

                    F(g, x, y, q) = back;
                    if (ys > 0 && ys < ny - 1) {
                        fx -= 2.0 * ex[q] * back;
                        fy -= 2.0 * ey[q] * back;
                    }
                } else {
                    F(g, x, y, q) = F(f, xs, ys, q);
                }
            }
        }
    sim->drag = fx;
    sim->lift = fy;
}

/* Equilibrium with the given profile on the left, no gradient on the right. */
static void open_ends(Simulation *sim)
{
    int y, q;

    for (y = 1; y < sim->ny - 1; y++) {
        double rho = AT(sim->rho, 1, y);

        for (q = 0; q < Q; q++) {
            F(sim->g, 0, y, q) = equilibrium(q, rho, inlet_profile(sim, y), 0.0);
            F(sim->g, sim->nx - 1, y, q) = F(sim->g, sim->nx - 2, y, q);
        }
    }
}

void advance(Simulation *sim, int steps)
{
    int s;
    double *tmp, sum = 0.0;

    for (s = 0; s < steps; s++) {
        moments(sim);
        collide(sim);
        stream(sim);
        open_ends(sim);
        tmp = sim->f;
        sim->f = sim->g;
        sim->g = tmp;
        sum += sim->drag;
    }
    sim->mean_drag = steps > 0 ? sum / steps : 0.0;
}
