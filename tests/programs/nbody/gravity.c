#include <math.h>
#include "body.h"

/* Direct sum over all pairs, with softening.  Each body adds up its own, so
   that bodies can be shared out without conflicts. */
void accelerations(System *s)
{
  int i, j, n = s->n;
  Body *b = s->b;
  double eps2 = s->eps * s->eps;

#pragma omp parallel for private(j) schedule(static)
  for (i = 0; i < n; i++) {
    double ax = 0.0, ay = 0.0, az = 0.0, pot = 0.0;

    for (j = 0; j < n; j++) {
      double dx, dy, dz, r2, rinv, mr3;

      if (j == i)
        continue;
      dx = b[j].x[0] - b[i].x[0];
      dy = b[j].x[1] - b[i].x[1];
      dz = b[j].x[2] - b[i].x[2];
      r2 = dx * dx + dy * dy + dz * dz + eps2;
      rinv = 1.0 / sqrt(r2);
      mr3 = b[j].mass * rinv * rinv * rinv;
      ax += mr3 * dx;
      ay += mr3 * dy;
      az += mr3 * dz;
      pot -= b[j].mass * rinv;
    }
    b[i].a[0] = ax;
    b[i].a[1] = ay;
    b[i].a[2] = az;
    b[i].pot = pot;
  }
}

/* eta sqrt(eps / |a|), the smallest over the bodies */
double suggest_step(const System *s, double eta)
{
  int i;
  double most = 0.0;

#pragma omp parallel for reduction(max:most) schedule(static)
  for (i = 0; i < s->n; i++) {
    const Body *p = &s->b[i];
    double a2 = p->a[0] * p->a[0] + p->a[1] * p->a[1] + p->a[2] * p->a[2];

    if (a2 > most)
      most = a2;
  }
  return eta * sqrt(s->eps / sqrt(most));
}
