#ifndef PROBLEM_H
#define PROBLEM_H

#include "csr.h"

/* A block of rock, m x m x m cells, with layers of different conductivity
 * and some fractures that join cells far apart. */
int  problem_matrix(struct csr *a, int m, unsigned seed);

/* Wells: one injects, one produces; `which` picks the pair. */
void problem_rhs(double *b, int m, int which);

#endif
