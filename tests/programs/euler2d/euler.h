/*
 * euler.h - data of the 2-D Euler solver
 *
 * The grid keeps NG ghost layers on each side.  Cell (i,j) with
 * 0 <= i < nx, 0 <= j < ny is an interior cell; i runs along x and is
 * the fast index.
 */
#ifndef EULER_H
#define EULER_H

#define NG 2

/* conserved variables of a cell */
struct state {
    double rho;
    double mu;
    double mv;
    double e;
};

/* primitive variables of a cell */
struct prim {
    double rho;
    double u;
    double v;
    double p;
};

enum bc { BC_OUTFLOW, BC_WALL, BC_PERIODIC };

struct grid {
    int nx, ny;
    int stride;             /* cells in a row, ghosts included */
    double x0, y0;
    double dx, dy;
    enum bc bcx, bcy;
    struct state *cell;     /* current solution */
    struct state *tmp;      /* solution after the first stage */
    struct prim *w;         /* primitive variables with ghosts */
    struct state *fx;       /* (nx+1) * ny face fluxes */
    struct state *fy;       /* nx * (ny+1) face fluxes */
};

struct summary {
    double mass;
    double energy;
    double kinetic;
    double entropy;
    double rho_min, rho_max;
    double p_min, p_max;
    double mach_max;
    int supersonic;         /* cells with local Mach number above one */
};

#define CELL(g, i, j) (((j) + NG) * (g)->stride + (i) + NG)

/* grid.c */
struct grid *grid_new(int nx, int ny, double lx, double ly);
void grid_free(struct grid *g);
void grid_boundaries(const struct grid *g, struct state *q);

/* init.c */
int init_case(struct grid *g, const char *name);

/* step.c */
double stable_dt(const struct grid *g, double cfl);
void advance(struct grid *g, double dt);

/* diag.c */
struct summary summarize(const struct grid *g);
double schlieren_norm(const struct grid *g);
void print_profile(const struct grid *g, int samples);

#endif
