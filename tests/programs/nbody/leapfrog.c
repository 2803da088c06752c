#include "body.h"

static void kick(System *s, double dt)
{
  int i, k;

#pragma omp parallel for private(k) schedule(static)
  for (i = 0; i < s->n; i++)
    for (k = 0; k < 3; k++)
      s->b[i].v[k] += dt * s->b[i].a[k];
}

static void drift(System *s, double dt)
{
  int i, k;

#pragma omp parallel for private(k) schedule(static)
  for (i = 0; i < s->n; i++)
    for (k = 0; k < 3; k++)
      s->b[i].x[k] += dt * s->b[i].v[k];
}

/* Kick, drift, kick: accelerations are up to date before and after. */
void leapfrog_step(System *s, double dt)
{
  kick(s, 0.5 * dt);
  drift(s, dt);
  accelerations(s);
  kick(s, 0.5 * dt);
  s->time += dt;
  s->steps++;
}
