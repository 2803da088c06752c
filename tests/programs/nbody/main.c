/* Two star clusters that meet.
 *
 *   nbody bodies end-time [softening]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "body.h"

int main(int argc, char **argv)
{
  System s;
  Diagnostics d;
  double xa[3] = {-1.5, -0.4, 0.0}, va[3] = {0.35, 0.0, 0.05};
  double xb[3] = {2.25, 0.6, 0.0}, vb[3] = {-0.525, 0.0, -0.075};
  double tend, dt, e0, next = 0.0, interval, worst = 0.0;
  int n, na;

  if (argc < 3) {
    fprintf(stderr, "usage: %s bodies end-time [softening]\n", argv[0]);
    return 2;
  }
  n = atoi(argv[1]);
  tend = atof(argv[2]);
  s.eps = argc > 3 ? atof(argv[3]) : 0.05;
  if (n < 10 || n > 1000000 || tend <= 0.0 || s.eps <= 0.0) {
    fprintf(stderr, "%s: bodies must be 10 or more, end-time and softening positive\n", argv[0]);
    return 2;
  }
  if (system_alloc(&s, n) != 0) {
    fprintf(stderr, "%s: no memory for %d bodies\n", argv[0], n);
    return 1;
  }

  na = 3 * n / 5;
  make_plummer(&s, 0, na, 0.6, 0.5, xa, va);
  make_plummer(&s, na, n - na, 0.4, 0.3, xb, vb);
  to_centre_of_mass(&s);
  accelerations(&s);
  diagnose(&s, &d);
  e0 = d.kinetic + d.potential;
  interval = tend / 5.0;

  for (;;) {
    if (s.time >= next - 1e-12) {
      diagnose(&s, &d);
      print_diagnostics(&s, &d);
      if (fabs((d.kinetic + d.potential - e0) / e0) > worst)
        worst = fabs((d.kinetic + d.potential - e0) / e0);
      next += interval;
    }
    if (s.time >= tend - 1e-12)
      break;
    dt = suggest_step(&s, 0.15);
    if (s.time + dt > next)
      dt = next - s.time;
    leapfrog_step(&s, dt);
  }

  printf("%ld steps, energy kept to 1%%: %s, momentum kept: %s\n", s.steps,
         worst < 0.01 ? "yes" : "no", d.drift < 1e-10 ? "yes" : "no");
  system_free(&s);
  return 0;
}
