#ifndef GRID_H
#define GRID_H
#include "size.h"

typedef double grid[N][N];

static inline double trace(grid a)
{
    double sum = 0;
    for (int i = 0; i < N; i++) sum += a[i][i];
    return sum;
}

void start(grid a, int seed);
void product(grid c, grid a, grid b);
void relax(grid a, grid b, int steps);
void columns(grid a, double *sums);
void scale(grid a, double by);
void turn(grid to, grid from);
unsigned long mix(grid a);
double norm(grid a);
void report(const char *what, grid a);
#endif
