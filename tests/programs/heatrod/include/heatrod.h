#ifndef HEATROD_H
#define HEATROD_H

#include "types.h"

/* options.c */
int options_parse(Options *o, int argc, char **argv);
const char *method_name(Method m);

/* field.c */
double *field_new(int n, double value);
void field_copy(double *dst, const double *src, int n);

/* mesh.c */
Mesh *mesh_create(int ni, int nj, double lx, double ly);
void mesh_destroy(Mesh *m);
void mesh_sources(Mesh *m, double t);

/* material.c */
const Material *material_get(int number);
int material_count(void);
int material_at(double x, double y);
double material_k(const Material *mt, double T);

/* assemble.c */
System *system_create(const Mesh *m);
void system_destroy(System *s);
void assemble(const Mesh *m, System *s, double dt);

/* boundary.c */
void boundary_apply(Mesh *m, double *T, double t);

/* solve.c */
SolveInfo solve(Mesh *m, const System *s, const Options *o);

/* energy.c */
double energy_stored(const Mesh *m);
double energy_source(const Mesh *m);
void energy_by_material(const Mesh *m, double *mean, long *nodes);

/* io.c */
void print_header(const Options *o, const Mesh *m);
void print_step(const Mesh *m, int step, double t, SolveInfo info);
void print_map(const Mesh *m, int rows, int cols);

/* timer.c */
double timer_now(void);

#endif
