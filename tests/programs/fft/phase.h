#ifndef PHASE_H
#define PHASE_H

#include <stddef.h>

/* An alloy that separates into two phases (Cahn-Hilliard equation), on a
 * periodic n x n square, semi-implicit in Fourier space. */
int phase_separation(size_t n, int steps);

#endif
