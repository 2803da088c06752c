/* grid.c - allocation and ghost cells */
#include <stdio.h>
#include <stdlib.h>
#include "euler.h"

static void *checked_calloc(size_t n, size_t size)
{
    void *p = calloc(n, size);
    if (p == NULL) {
        fprintf(stderr, "euler2d: out of memory\n");
        exit(EXIT_FAILURE);
    }
    return p;
}

struct grid *grid_new(int nx, int ny, double lx, double ly)
{
    struct grid *g = checked_calloc(1, sizeof *g);
    size_t n;

    g->nx = nx;
    g->ny = ny;
    g->stride = nx + 2 * NG;
    g->dx = lx / nx;
    g->dy = ly / ny;
    n = (size_t)g->stride * (ny + 2 * NG);
    g->cell = checked_calloc(n, sizeof *g->cell);
    g->tmp = checked_calloc(n, sizeof *g->tmp);
    g->w = checked_calloc(n, sizeof *g->w);
    g->fx = checked_calloc((size_t)(nx + 1) * ny, sizeof *g->fx);
    g->fy = checked_calloc((size_t)nx * (ny + 1), sizeof *g->fy);
    return g;
}

void grid_free(struct grid *g)
{
    free(g->cell);
    free(g->tmp);
    free(g->w);
    free(g->fx);
    free(g->fy);
    free(g);
}

void grid_boundaries(const struct grid *g, struct state *q)
{
    int nx = g->nx, ny = g->ny;
    int i, j, k;

    for (j = 0; j < ny; j++) {
        for (k = 1; k <= NG; k++) {
            struct state lo, hi;

            switch (g->bcx) {
            case BC_PERIODIC:
                lo = q[CELL(g, nx - k, j)];
                hi = q[CELL(g, k - 1, j)];
                break;
            case BC_WALL:
                lo = q[CELL(g, k - 1, j)];
                hi = q[CELL(g, nx - k, j)];
                lo.mu = -lo.mu;
                hi.mu = -hi.mu;
                break;
            default:
                lo = q[CELL(g, 0, j)];
                hi = q[CELL(g, nx - 1, j)];
                break;
            }
            q[CELL(g, -k, j)] = lo;
            q[CELL(g, nx + k - 1, j)] = hi;
        }
    }

    for (k = 1; k <= NG; k++) {
        for (i = -NG; i < nx + NG; i++) {
            struct state lo, hi;

            switch (g->bcy) {
            case BC_PERIODIC:
                lo = q[CELL(g, i, ny - k)];
                hi = q[CELL(g, i, k - 1)];
                break;
            case BC_WALL:
                lo = q[CELL(g, i, k - 1)];
                hi = q[CELL(g, i, ny - k)];
                lo.mv = -lo.mv;
                hi.mv = -hi.mv;
                break;
            default:
                lo = q[CELL(g, i, 0)];
                hi = q[CELL(g, i, ny - 1)];
                break;
            }
            q[CELL(g, i, -k)] = lo;
            q[CELL(g, i, ny + k - 1)] = hi;
        }
    }
}
