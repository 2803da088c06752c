/* ocean.h - size of the basin and shorthands for loops */
#ifndef OCEAN_H
#define OCEAN_H

#ifndef NX
#define NX 360          /* across the shelf, the coast is at high i */
#endif
#ifndef NY
#define NY 240          /* along the coast */
#endif

#define GRAV   9.81
#define MANN   0.025    /* Manning roughness */
#define HMIN   0.01     /* thinner water counts as dry */
#define DEEP   100.0    /* no friction where the water is deeper */
#define DX     500.0    /* metres */

/* all cells; faces between cells in a direction; cells inside the rim */
#define FOR2(i, j)      for (int i = 0; i < NX; i++) for (int j = 0; j < NY; j++)
#define FORU(i, j)      for (int i = 1; i < NX; i++) for (int j = 0; j < NY; j++)
#define FORV(i, j)      for (int i = 0; i < NX; i++) for (int j = 1; j < NY; j++)
#define INNER(i, j)     for (int i = 1; i < NX - 1; i++) for (int j = 1; j < NY - 1; j++)

#define SQR(x)          ((x) * (x))
#define MIN(a, b)       ((a) < (b) ? (a) : (b))
#define MAX(a, b)       ((a) > (b) ? (a) : (b))
#define UPWIND(f, a, b) ((f) > 0.0 ? (a) : (b))

/* depth below the still sea at the centre of a cell, negative on land */
double sea_floor(int i, int j);

/* first displacement of the surface */
double uplift(int i, int j);

#endif
