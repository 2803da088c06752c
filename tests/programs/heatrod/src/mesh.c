#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "heatrod.h"

Mesh *mesh_create(int ni, int nj, double lx, double ly)
{
    Mesh *m = malloc(sizeof(Mesh));
    int i, j, n;

    if (m == NULL) {
        fprintf(stderr, "heatrod: out of memory\n");
        exit(EXIT_FAILURE);
    }
    m->ni = ni;
    m->nj = nj;
    m->ld = (nj + 7) / 8 * 8;
    m->hx = lx / (ni - 1);
    m->hy = ly / (nj - 1);
    n = ni * m->ld;
    m->T = field_new(n, 293.0);
    m->T_old = field_new(n, 293.0);
    m->T_new = field_new(n, 293.0);
    m->q = field_new(n, 0.0);
    m->mat = calloc((size_t)n, sizeof(int));
    if (m->mat == NULL) {
        fprintf(stderr, "heatrod: out of memory\n");
        exit(EXIT_FAILURE);
    }
    for (i = 0; i < ni; i++)
        for (j = 0; j < nj; j++)
            m->mat[i * m->ld + j] = material_at(i * m->hx / lx, j * m->hy / ly);
    return m;
}

void mesh_destroy(Mesh *m)
{
    free(m->T);
    free(m->T_old);
    free(m->T_new);
    free(m->q);
    free(m->mat);
    free(m);
}

/* two heaters; the second one is switched on after half a minute */
void mesh_sources(Mesh *m, double t)
{
    int i, j;
    double lx = m->hx * (m->ni - 1), ly = m->hy * (m->nj - 1);
    double second = t > 30.0 ? 4.0e6 : 0.0;

#pragma omp parallel for private(j)
    for (i = 0; i < m->ni; i++) {
        for (j = 0; j < m->nj; j++) {
            double x = i * m->hx / lx, y = j * m->hy / ly;
            double r2 = (x - 0.3) * (x - 0.3) + (y - 0.6) * (y - 0.6);

            m->q[i * m->ld + j] = 6.0e6 * exp(-r2 / 0.01);
            if (x > 0.7 && x < 0.8 && y > 0.2 && y < 0.5)
                m->q[i * m->ld + j] += second;
        }
    }
}
