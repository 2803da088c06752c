#ifndef BODY_H
#define BODY_H

typedef struct {
  double x[3];                  /* position */
  double v[3];                  /* velocity */
  double a[3];                  /* acceleration */
  double mass;
  double pot;                   /* potential at x */
  int    id;
} Body;

typedef struct {
  int     n;
  Body   *b;
  double  eps;                  /* softening length */
  double  time;
  long    steps;
} System;

/* init.c */
int  system_alloc(System *s, int n);
void system_free(System *s);
void make_plummer(System *s, int first, int count, double mass, double scale,
                  const double x0[3], const double v0[3]);
void to_centre_of_mass(System *s);

/* gravity.c */
void accelerations(System *s);
double suggest_step(const System *s, double eta);

/* leapfrog.c */
void leapfrog_step(System *s, double dt);

/* diagnostics.c */
#define NSHELL 12

typedef struct {
  double kinetic, potential;
  double angular;               /* |angular momentum| */
  double drift;                 /* |momentum| */
  double half_mass_radius;
  int    bound;                 /* bodies with negative energy */
  int    shell[NSHELL];         /* bodies by distance, doubling */
} Diagnostics;

void diagnose(const System *s, Diagnostics *d);
void print_diagnostics(const System *s, const Diagnostics *d);

#endif
