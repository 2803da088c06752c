#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "body.h"

/* L'Ecuyer's combined generator: same numbers on every machine. */
static int s1 = 12345, s2 = 67890;

static double rnd(void)
{
  int k, z;

  k = s1 / 53668;
  s1 = 40014 * (s1 - k * 53668) - k * 12211;
  if (s1 < 0) s1 += 2147483563;
  k = s2 / 52774;
  s2 = 40692 * (s2 - k * 52774) - k * 3791;
  if (s2 < 0) s2 += 2147483399;
  z = s1 - s2;
  if (z < 1) z += 2147483562;
  return z * 4.656613e-10;
}

int system_alloc(System *s, int n)
{
  s->n = n;
  s->time = 0.0;
  s->steps = 0;
  s->b = calloc(n, sizeof(Body));
  return s->b ? 0 : -1;
}

void system_free(System *s)
{
  free(s->b);
  s->b = NULL;
  s->n = 0;
}

static void random_direction(double length, double out[3])
{
  double z = 2.0 * rnd() - 1.0;
  double phi = 2.0 * M_PI * rnd();
  double r = sqrt(1.0 - z * z);

  out[0] = length * r * cos(phi);
  out[1] = length * r * sin(phi);
  out[2] = length * z;
}

void make_plummer(System *s, int first, int count, double mass, double scale,
                  const double x0[3], const double v0[3])
{
  double vscale = sqrt(mass / scale);
  int i, k;

  for (i = first; i < first + count; i++) {
    Body *p = &s->b[i];
    double m, r, q, g, x[3], v[3];

    do {
      m = rnd();
      r = scale / sqrt(pow(m, -2.0 / 3.0) - 1.0);
    } while (!(r < 10.0 * scale));
    random_direction(r, x);

    /* speed by rejection from the distribution function */
    do {
      q = rnd();
      g = 0.1 * rnd();
    } while (g > q * q * pow(1.0 - q * q, 3.5));
    random_direction(q * sqrt(2.0) * vscale * pow(1.0 + r * r / (scale * scale), -0.25), v);

    p->id = i;
    p->mass = mass / count;
    for (k = 0; k < 3; k++) {
      p->x[k] = x0[k] + x[k];
      p->v[k] = v0[k] + v[k];
    }
  }
}

void to_centre_of_mass(System *s)
{
  double m = 0.0, x[3] = {0, 0, 0}, v[3] = {0, 0, 0};
  int i, k;

  for (i = 0; i < s->n; i++) {
    m += s->b[i].mass;
    for (k = 0; k < 3; k++) {
      x[k] += s->b[i].mass * s->b[i].x[k];
      v[k] += s->b[i].mass * s->b[i].v[k];
    }
  }
  for (i = 0; i < s->n; i++)
    for (k = 0; k < 3; k++) {
      s->b[i].x[k] -= x[k] / m;
      s->b[i].v[k] -= v[k] / m;
    }
}
