#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "body.h"

static int compare(const void *p, const void *q)
{
  double a = *(const double *) p, b = *(const double *) q;

  return (a > b) - (a < b);
}

static double radius(const Body *b)
{
  return sqrt(b->x[0] * b->x[0] + b->x[1] * b->x[1] + b->x[2] * b->x[2]);
}

void diagnose(const System *s, Diagnostics *d)
{
  int i, k, n = s->n, bound = 0;
  double kin = 0.0, pot = 0.0;
  double px = 0.0, py = 0.0, pz = 0.0, lx = 0.0, ly = 0.0, lz = 0.0;
  double *r;

#pragma omp parallel for reduction(+:kin,pot,px,py,pz,lx,ly,lz,bound)
  for (i = 0; i < n; i++) {
    const Body *b = &s->b[i];
    double v2 = b->v[0] * b->v[0] + b->v[1] * b->v[1] + b->v[2] * b->v[2];

    kin += 0.5 * b->mass * v2;
    pot += 0.5 * b->mass * b->pot;
    px += b->mass * b->v[0];
    py += b->mass * b->v[1];
    pz += b->mass * b->v[2];
    lx += b->mass * (b->x[1] * b->v[2] - b->x[2] * b->v[1]);
    ly += b->mass * (b->x[2] * b->v[0] - b->x[0] * b->v[2]);
    lz += b->mass * (b->x[0] * b->v[1] - b->x[1] * b->v[0]);
    if (0.5 * v2 + b->pot < 0.0)
      bound++;
  }
  d->kinetic = kin;
  d->potential = pot;
  d->drift = sqrt(px * px + py * py + pz * pz);
  d->angular = sqrt(lx * lx + ly * ly + lz * lz);
  d->bound = bound;

  memset(d->shell, 0, sizeof d->shell);
  for (i = 0; i < n; i++) {
    double edge = 0.05;

    for (k = 0; k < NSHELL - 1 && radius(&s->b[i]) > edge; k++)
      edge *= 2.0;
    d->shell[k]++;
  }

  d->half_mass_radius = 0.0;
  r = malloc(n * sizeof *r);
  if (r) {
    for (i = 0; i < n; i++)
      r[i] = radius(&s->b[i]);
    qsort(r, n, sizeof *r, compare);
    d->half_mass_radius = r[n / 2];
    free(r);
  }
}

void print_diagnostics(const System *s, const Diagnostics *d)
{
  int k;

  printf("t %.6f  kinetic %.10g  potential %.10g  energy %.10g\n", s->time,
         d->kinetic, d->potential, d->kinetic + d->potential);
  printf("  angular momentum %.10g  half-mass radius %.10g  bound %d\n",
         d->angular, d->half_mass_radius, d->bound);
  printf("  shells");
  for (k = 0; k < NSHELL; k++)
    printf(" %d", d->shell[k]);
  printf("\n");
}
