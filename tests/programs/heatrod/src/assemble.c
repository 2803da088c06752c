/* finite volumes: harmonic mean of the conductivities on the faces */
#include <stdio.h>
#include <stdlib.h>
#include "heatrod.h"

System *system_create(const Mesh *m)
{
    System *s = malloc(sizeof(System));
    int n = m->ni * m->ld;

    if (s == NULL) {
        fprintf(stderr, "heatrod: out of memory\n");
        exit(EXIT_FAILURE);
    }
    s->ld = m->ld;
    s->aP = field_new(n, 1.0);
    s->aE = field_new(n, 0.0);
    s->aW = field_new(n, 0.0);
    s->aN = field_new(n, 0.0);
    s->aS = field_new(n, 0.0);
    s->b = field_new(n, 0.0);
    return s;
}

void system_destroy(System *s)
{
    free(s->aP);
    free(s->aE);
    free(s->aW);
    free(s->aN);
    free(s->aS);
    free(s->b);
    free(s);
}

static double face(const Mesh *m, int p, int q)
{
    double kp = material_k(material_get(m->mat[p]), m->T_old[p]);
    double kq = material_k(material_get(m->mat[q]), m->T_old[q]);

    return 2.0 * kp * kq / (kp + kq);
}

void assemble(const Mesh *m, System *s, double dt)
{
    double rx = m->hy / m->hx, ry = m->hx / m->hy;
    double vol = m->hx * m->hy;
    int i;

#pragma omp parallel for schedule(static)
    for (i = 1; i < m->ni - 1; i++) {
        int j;

        for (j = 1; j < m->nj - 1; j++) {
            int p = i * m->ld + j;
            const Material *mt = material_get(m->mat[p]);
            double inertia = mt->rho * mt->c * vol / dt;

            s->aE[p] = face(m, p, p + m->ld) * rx;
            s->aW[p] = face(m, p, p - m->ld) * rx;
            s->aN[p] = face(m, p, p + 1) * ry;
            s->aS[p] = face(m, p, p - 1) * ry;
            s->aP[p] = s->aE[p] + s->aW[p] + s->aN[p] + s->aS[p] + inertia;
            s->b[p] = inertia * m->T_old[p] + m->q[p] * vol;
        }
    }
}
