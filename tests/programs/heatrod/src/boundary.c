/*
 * left: held at a temperature that rises slowly; right: held cold;
 * lower and upper side: insulated
 */
#include "heatrod.h"

void boundary_apply(Mesh *m, double *T, double t)
{
    int i, j;
    int last_i = m->ni - 1, last_j = m->nj - 1;
    double hot = 293.0 + (t < 60.0 ? t : 60.0);

    for (j = 0; j < m->nj; j++) {
        T[j] = hot;
        T[last_i * m->ld + j] = 283.0;
    }
    for (i = 1; i < last_i; i++) {
        T[i * m->ld] = T[i * m->ld + 1];
        T[i * m->ld + last_j] = T[i * m->ld + last_j - 1];
    }
}
