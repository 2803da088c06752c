#include <math.h>
#include <stdlib.h>
#include "grid.h"

int grid_alloc(struct grid *g, int nx, int ny, int nz)
{
    g->nx = nx;
    g->ny = ny;
    g->nz = nz;
    g->p = calloc(GRID_SIZE(g), sizeof(double));
    return g->p != NULL;
}

void grid_free(struct grid *g)
{
    free(g->p);
    g->p = NULL;
}

double grid_norm2(const struct grid *g)
{
    double s = 0.0;

    #pragma omp parallel for reduction(+:s)
    for (int i = 0; i < g->nx; i++)
        for (int j = 0; j < g->ny; j++)
            for (int k = 0; k < g->nz; k++)
                s += AT(g, i, j, k) * AT(g, i, j, k);
    return sqrt(s);
}

double grid_max_abs(const struct grid *g)
{
    double m = 0.0;

    #pragma omp parallel for reduction(max:m)
    for (int i = 0; i < g->nx; i++)
        for (int j = 0; j < g->ny; j++)
            for (int k = 0; k < g->nz; k++) {
                double v = fabs(AT(g, i, j, k));
                m = v > m ? v : m;
            }
    return m;
}
