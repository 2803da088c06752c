#include "grid.h"

static unsigned state;

static double next(void)
{
    state = state * 1103515245u + 12345u;
    return (state >> 16 & 0x7fff) / 32768.0;
}

void start(grid a, int seed)
{
    state = (unsigned)seed;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) a[i][j] = next();
}
