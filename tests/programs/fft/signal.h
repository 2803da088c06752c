#ifndef SIGNAL_H_
#define SIGNAL_H_

#include <stddef.h>

struct echo {
    size_t delay;
    double amplitude;
};

/* Finds echoes of a chirp in noise: convolves by FFT with the reversed pulse,
 * checks some points of it by the direct sum, and prints the peaks. */
int radar(size_t n, int passes);

#endif
