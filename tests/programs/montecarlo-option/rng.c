/* 64-bit linear congruential generator, one stream per path */
#include <math.h>
#include "rng.h"

void rng_seed(Rng *r, unsigned seed, long stream)
{
    uint64_t z = (uint64_t)stream * UINT64_C(0x9e3779b97f4a7c15) + seed;

    /* neighbouring streams must not start at neighbouring states */
    z ^= z >> 31;
    z *= UINT64_C(0xd6e8feb86659fd93);
    z ^= z >> 32;
    r->x = z;
    r->has_spare = 0;
    r->spare = 0.0;
}

double rng_uniform(Rng *r)
{
    r->x = r->x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(r->x >> 12) + 0.5) / 4503599627370496.0;
}

/* polar method */
double rng_normal(Rng *r)
{
    double u, v, s;

    if (r->has_spare) {
        r->has_spare = 0;
        return r->spare;
    }
    do {
        u = 2.0 * rng_uniform(r) - 1.0;
        v = 2.0 * rng_uniform(r) - 1.0;
        s = u * u + v * v;
    } while (s >= 1.0 || s == 0.0);
    s = sqrt(-2.0 * log(s) / s);
    r->spare = v * s;
    r->has_spare = 1;
    return u * s;
}
