/* integrate.c - velocity Verlet */
#include <math.h>
#include "md.h"

void step_first(real dt)
{
    int i;

#pragma omp parallel for schedule(static)
    for (i = 0; i < DIM * natoms; i++) {
        vel[i] += 0.5 * dt * frc[i];
        pos[i] += dt * vel[i];
        if (pos[i] < 0.0)
            pos[i] += box;
        else if (pos[i] >= box)
            pos[i] -= box;
    }
}

void step_second(real dt)
{
    int i;

#pragma omp parallel for schedule(static)
    for (i = 0; i < DIM * natoms; i++)
        vel[i] += 0.5 * dt * frc[i];
}

void rescale(real temperature)
{
    real now = 2.0 * kinetic() / (3.0 * natoms - 3.0);
    real s = sqrt(temperature / now);
    int i;

    for (i = 0; i < DIM * natoms; i++)
        vel[i] *= s;
}
