#include "heatrod.h"

/* heat above 293 K, per metre of depth */
double energy_stored(const Mesh *m)
{
    double sum = 0.0;
    double vol = m->hx * m->hy;
    int i, j;

#pragma omp parallel for private(j) reduction(+:sum)
    for (i = 1; i < m->ni - 1; i++)
        for (j = 1; j < m->nj - 1; j++) {
            const Material *mt = material_get(m->mat[i * m->ld + j]);
            sum += mt->rho * mt->c * (m->T[i * m->ld + j] - 293.0) * vol;
        }
    return sum;
}

double energy_source(const Mesh *m)
{
    double sum = 0.0;
    int i, j;

    for (i = 1; i < m->ni - 1; i++)
        for (j = 1; j < m->nj - 1; j++)
            sum += m->q[i * m->ld + j];
    return sum * m->hx * m->hy;
}

void energy_by_material(const Mesh *m, double *mean, long *nodes)
{
    int i, j, k;

    for (k = 0; k < material_count(); k++) {
        mean[k] = 0.0;
        nodes[k] = 0;
    }
    for (i = 0; i < m->ni; i++)
        for (j = 0; j < m->nj; j++) {
            k = m->mat[i * m->ld + j];
            mean[k] += m->T[i * m->ld + j];
            nodes[k]++;
        }
    for (k = 0; k < material_count(); k++)
        if (nodes[k] > 0)
            mean[k] /= nodes[k];
}
