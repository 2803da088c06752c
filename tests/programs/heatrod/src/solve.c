/* iterative solvers for the five-point system */
#include <math.h>
#include "heatrod.h"

/* copies the insulated sides inside of an iteration */
static void insulate(Mesh *m, double *T)
{
    int i;

    for (i = 1; i < m->ni - 1; i++) {
        T[i * m->ld] = T[i * m->ld + 1];
        T[i * m->ld + m->nj - 1] = T[i * m->ld + m->nj - 2];
    }
}

static double residual(const Mesh *m, const System *s)
{
    double sum = 0.0, scale = 0.0;
    int i, j;

#pragma omp parallel for private(j) reduction(+:sum, scale)
    for (i = 1; i < m->ni - 1; i++) {
        for (j = 1; j < m->nj - 1; j++) {
            int p = i * m->ld + j;
            double r = s->b[p] + s->aE[p] * m->T[p + m->ld] + s->aW[p] * m->T[p - m->ld]
                     + s->aN[p] * m->T[p + 1] + s->aS[p] * m->T[p - 1]
                     - s->aP[p] * m->T[p];
            sum += r * r;
            scale += s->aP[p] * m->T[p] * s->aP[p] * m->T[p];
        }
    }
    return sqrt(sum / scale);
}

static void sweep_jacobi(Mesh *m, const System *s)
{
    int i, j;
    double *swap;

#pragma omp parallel for private(j)
    for (i = 1; i < m->ni - 1; i++)
        for (j = 1; j < m->nj - 1; j++)
            m->T_new[i * m->ld + j] = (s->b[i * s->ld + j]
                + s->aE[i * s->ld + j] * m->T[(i + 1) * m->ld + j]
                + s->aW[i * s->ld + j] * m->T[(i - 1) * m->ld + j]
                + s->aN[i * s->ld + j] * m->T[i * m->ld + j + 1]
                + s->aS[i * s->ld + j] * m->T[i * m->ld + j - 1])
                / s->aP[i * s->ld + j];

    for (j = 0; j < m->nj; j++) {
        m->T_new[j] = m->T[j];
        m->T_new[(m->ni - 1) * m->ld + j] = m->T[(m->ni - 1) * m->ld + j];
    }
    swap = m->T;
    m->T = m->T_new;
    m->T_new = swap;
}

static void sweep_seidel(Mesh *m, const System *s)
{
    int i, j;

    for (i = 1; i < m->ni - 1; i++)
        for (j = 1; j < m->nj - 1; j++) {
            int p = i * m->ld + j;
            m->T[p] = (s->b[p] + s->aE[p] * m->T[p + m->ld] + s->aW[p] * m->T[p - m->ld]
                       + s->aN[p] * m->T[p + 1] + s->aS[p] * m->T[p - 1]) / s->aP[p];
        }
}

static void sweep_colour(Mesh *m, const System *s, int colour)
{
    int i, j;

#pragma omp parallel for private(j)
    for (i = 1; i < m->ni - 1; i++)
        for (j = 1 + (i + colour) % 2; j < m->nj - 1; j += 2) {
            int p = i * m->ld + j;
            m->T[p] = (s->b[p] + s->aE[p] * m->T[p + m->ld] + s->aW[p] * m->T[p - m->ld]
                       + s->aN[p] * m->T[p + 1] + s->aS[p] * m->T[p - 1]) / s->aP[p];
        }
}

SolveInfo solve(Mesh *m, const System *s, const Options *o)
{
    SolveInfo info = { 0, 0.0, 0 };

    do {
        switch (o->method) {
        case SOLVE_JACOBI:
            sweep_jacobi(m, s);
            break;
        case SOLVE_GAUSS_SEIDEL:
            sweep_seidel(m, s);
            break;
        case SOLVE_RED_BLACK:
            sweep_colour(m, s, 0);
            sweep_colour(m, s, 1);
            break;
        }
        insulate(m, m->T);
        info.iterations++;
        if (info.iterations % 10 == 0 || info.iterations == o->max_iter)
            info.residual = residual(m, s);
        else
            info.residual = 1.0;
    } while (info.residual > o->tol && info.iterations < o->max_iter);

    info.converged = info.residual <= o->tol;
    return info;
}
