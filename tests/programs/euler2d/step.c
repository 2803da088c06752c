/*
 * step.c - one time step: limited linear reconstruction of the primitive
 * variables, HLLC fluxes, Heun's method in time
 */
#include <math.h>
#include "euler.h"
#include "gas.h"

/* largest stable step for the present state */
double stable_dt(const struct grid *g, double cfl)
{
    double rate = 0.0;

#pragma omp parallel for reduction(max:rate)
    for (int j = 0; j < g->ny; j++) {
        for (int i = 0; i < g->nx; i++) {
            struct prim w = to_prim(g->cell[CELL(g, i, j)]);
            double c = sound_speed(w);
            double r = (fabs(w.u) + c) / g->dx + (fabs(w.v) + c) / g->dy;
            if (r > rate)
                rate = r;
        }
    }
    return cfl / rate;
}

static void primitives(const struct grid *g, const struct state *q)
{
#pragma omp parallel for
    for (int j = -NG; j < g->ny + NG; j++)
        for (int i = -NG; i < g->nx + NG; i++)
            g->w[CELL(g, i, j)] = to_prim(q[CELL(g, i, j)]);
}

/* flux through the face left of cell (i,j) */
static struct state face_x(const struct grid *g, int i, int j)
{
    const struct prim *w = g->w;
    struct prim ll = w[CELL(g, i - 2, j)], l = w[CELL(g, i - 1, j)];
    struct prim r = w[CELL(g, i, j)], rr = w[CELL(g, i + 1, j)];

    l = prim_add(l, half_slope(ll, l, r));
    r = prim_sub(r, half_slope(w[CELL(g, i - 1, j)], r, rr));
    return hllc(l, r);
}

/* flux through the face below cell (i,j) */
static struct state face_y(const struct grid *g, int i, int j)
{
    const struct prim *w = g->w;
    struct prim bb = w[CELL(g, i, j - 2)], b = w[CELL(g, i, j - 1)];
    struct prim t = w[CELL(g, i, j)], tt = w[CELL(g, i, j + 1)];

    b = prim_add(b, half_slope(bb, b, t));
    t = prim_sub(t, half_slope(w[CELL(g, i, j - 1)], t, tt));
    return turn_state(hllc(turn_prim(b), turn_prim(t)));
}

static void fluxes(struct grid *g, const struct state *q)
{
    int nx = g->nx, ny = g->ny;

    primitives(g, q);

#pragma omp parallel for
    for (int j = 0; j < ny; j++)
        for (int i = 0; i <= nx; i++)
            g->fx[j * (nx + 1) + i] = face_x(g, i, j);

#pragma omp parallel for
    for (int j = 0; j <= ny; j++)
        for (int i = 0; i < nx; i++)
            g->fy[j * nx + i] = face_y(g, i, j);
}

/* rate of change of cell (i,j) out of the fluxes through its faces */
static inline struct state divergence(const struct grid *g, int i, int j)
{
    const struct state *fx = g->fx + j * (g->nx + 1) + i;
    const struct state *fy = g->fy + j * g->nx + i;
    struct state dx = state_scale(1.0 / g->dx, state_sub(fx[0], fx[1]));
    struct state dy = state_scale(1.0 / g->dy, state_sub(fy[0], fy[g->nx]));

    return state_add(dx, dy);
}

void advance(struct grid *g, double dt)
{
    /* predictor: tmp = cell + dt L(cell) */
    grid_boundaries(g, g->cell);
    fluxes(g, g->cell);
#pragma omp parallel for
    for (int j = 0; j < g->ny; j++)
        for (int i = 0; i < g->nx; i++) {
            int c = CELL(g, i, j);
            g->tmp[c] = state_add(g->cell[c], state_scale(dt, divergence(g, i, j)));
        }

    /* corrector: cell = (cell + tmp + dt L(tmp)) / 2 */
    grid_boundaries(g, g->tmp);
    fluxes(g, g->tmp);
#pragma omp parallel for
    for (int j = 0; j < g->ny; j++)
        for (int i = 0; i < g->nx; i++) {
            int c = CELL(g, i, j);
            struct state s = state_add(g->tmp[c], state_scale(dt, divergence(g, i, j)));
            g->cell[c] = state_scale(0.5, state_add(g->cell[c], s));
        }
}
