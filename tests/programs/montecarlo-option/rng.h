#ifndef RNG_H
#define RNG_H

#include <stdint.h>

typedef struct {
    uint64_t x;
    double spare;
    int has_spare;
} Rng;

void rng_seed(Rng *r, unsigned seed, long stream);
double rng_uniform(Rng *r);
double rng_normal(Rng *r);

#endif
