#ifndef CYCLE_H
#define CYCLE_H

#include "grid.h"

/* -lap(u) + sigma*u = f on the unit cube, u = 0 on the walls */
extern real sigma;

void smooth(level *l, int sweeps);
void residual(level *l);
void restrict_residual(const level *fine, level *coarse);
void prolong_add(const level *coarse, level *fine);
void solve_coarsest(level *l);
void vcycle(int depth, int pre, int post);
void full_multigrid(int pre, int post);

real l2norm(real ***g, int n);
real maxnorm(real ***g, int n);

#endif
