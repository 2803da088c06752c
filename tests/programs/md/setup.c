/* setup.c - atoms on a face centred cubic lattice, random velocities */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "md.h"

int natoms;
real box;
real *pos, *vel, *frc;
real rcut = 2.5;
real ecut;

static unsigned long long state;

static real uniform(void)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (real)(state >> 11) / 9007199254740992.0;
}

static void *alloc(size_t n, size_t size)
{
    void *p = calloc(n, size);

    if (!p) {
        fprintf(stderr, "md: out of memory\n");
        exit(1);
    }
    return p;
}

void setup(int m, real density, real temperature, unsigned seed)
{
    static const real site[4][DIM] = {
        { 0.25, 0.25, 0.25 }, { 0.75, 0.75, 0.25 }, { 0.75, 0.25, 0.75 }, { 0.25, 0.75, 0.75 }
    };
    real a, sum[DIM] = { 0, 0, 0 }, s6;
    int i, x, y, z, k, d;

    state = seed;
    natoms = 4 * m * m * m;
    box = cbrt(natoms / density);
    a = box / m;
    pos = alloc((size_t)DIM * natoms, sizeof(real));
    vel = alloc((size_t)DIM * natoms, sizeof(real));
    frc = alloc((size_t)DIM * natoms, sizeof(real));
    next = alloc((size_t)natoms, sizeof(int));

    i = 0;
    for (x = 0; x < m; x++)
        for (y = 0; y < m; y++)
            for (z = 0; z < m; z++)
                for (k = 0; k < 4; k++) {
                    pos[DIM * i + 0] = (x + site[k][0]) * a;
                    pos[DIM * i + 1] = (y + site[k][1]) * a;
                    pos[DIM * i + 2] = (z + site[k][2]) * a;
                    i++;
                }

    for (i = 0; i < natoms; i++)
        for (d = 0; d < DIM; d++) {
            /* sum of six is near enough to a bell */
            real v = uniform() + uniform() + uniform() + uniform() + uniform() + uniform() - 3.0;
            vel[DIM * i + d] = v;
            sum[d] += v;
        }
    for (i = 0; i < natoms; i++)
        for (d = 0; d < DIM; d++)
            vel[DIM * i + d] -= sum[d] / natoms;
    rescale(temperature);

    if (rcut > 0.5 * box)
        rcut = 0.5 * box;
    s6 = 1.0 / (rcut * rcut * rcut * rcut * rcut * rcut);
    ecut = 4.0 * s6 * (s6 - 1.0);
    cells_init();
}

void cleanup(void)
{
    free(pos);
    free(vel);
    free(frc);
    free(head);
    free(next);
}
