#ifndef GRID_H
#define GRID_H

#define MAXLEVEL 10

typedef double real;

/* One level of the hierarchy: n interior points a side, 0 and n+1 are the
   walls.  u[i][j][k] through rows of row pointers. */
typedef struct level {
   int n;
   real h;
   real ***u;      /* solution, or correction on coarser levels */
   real ***f;      /* right-hand side */
   real ***r;      /* residual */
} level;

extern level lev[MAXLEVEL];
extern int nlevel;

real ***alloc_grid(int n);
void free_grid(real ***g, int n);
void zero_grid(real ***g, int n);
void setup_levels(int finest);
void release_levels(void);

#endif
