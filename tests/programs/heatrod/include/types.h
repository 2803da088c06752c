#ifndef HEATROD_TYPES_H
#define HEATROD_TYPES_H

/* Regular mesh of the plate; node (i,j) is at i * ld + j.  The rows at
   i = 0, i = ni-1 and the columns j = 0, j = nj-1 are boundary nodes. */
typedef struct {
    int ni, nj;
    int ld;            /* nodes from one row to the next, padded */
    double hx, hy;
    double *T;         /* temperature, K */
    double *T_old;     /* at the end of the last step */
    double *T_new;     /* scratch of the solver */
    double *q;         /* heat source, W/m^3 */
    int *mat;          /* material number */
} Mesh;

typedef struct {
    const char *name;
    double k0;         /* conductivity at 300 K, W/m/K */
    double k1;         /* its change with temperature, 1/K */
    double rho;        /* density, kg/m^3 */
    double c;          /* heat capacity, J/kg/K */
} Material;

/* coefficients of  aP T = aE T_e + aW T_w + aN T_n + aS T_s + b */
typedef struct {
    int ld;
    double *aP, *aE, *aW, *aN, *aS, *b;
} System;

typedef enum { SOLVE_JACOBI, SOLVE_GAUSS_SEIDEL, SOLVE_RED_BLACK } Method;

typedef struct {
    int ni, nj;
    int steps;
    double dt;
    double tol;
    int max_iter;
    Method method;
} Options;

typedef struct {
    int iterations;
    double residual;
    int converged;
} SolveInfo;

#endif
