#ifndef WAVE_H
#define WAVE_H

#include <stddef.h>
#include "grid.h"

#define HALO 2                  /* fourth order in space */
#define MAX_RECEIVERS 32

struct receiver {
    int i, j, k;
    double peak;
    int peak_step;
    double energy;
};

struct wave {
    struct grid level[3];
    struct grid *prev, *now, *next;
    struct grid speed2;         /* (c dt / h)^2 */
    struct grid damp;           /* 1 inside, less in the sponge */
    double h, dt, time;
    int step;
    int sponge;                 /* width in cells */
    int si, sj, sk;             /* source */
    double frequency;
    struct receiver rec[MAX_RECEIVERS];
    int receivers;
};

int  wave_init(struct wave *w, int nx, int ny, int nz, double h, int sponge);
void wave_free(struct wave *w);
void wave_step(struct wave *w);
double wave_energy(const struct wave *w);

#endif
