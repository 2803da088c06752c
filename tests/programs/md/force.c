/* force.c - forces, potential energy and virial */
#include <string.h>
#include "md.h"

real epot;
real virial;
long pairs;

/* half of the neighbours of a cell; the other half sees the pair from
   its own side */
static const int half[14][DIM] = {
    { 0, 0, 0 },
    { 1, 0, 0 }, { 1, 1, 0 }, { 0, 1, 0 }, { -1, 1, 0 },
    { -1, -1, 1 }, { 0, -1, 1 }, { 1, -1, 1 },
    { -1, 0, 1 }, { 0, 0, 1 }, { 1, 0, 1 },
    { -1, 1, 1 }, { 0, 1, 1 }, { 1, 1, 1 }
};

static int wrap(int c)
{
    if (c < 0)
        return c + ncell;
    if (c >= ncell)
        return c - ncell;
    return c;
}

/* with fewer than three cells along an edge a neighbour would be met twice */
static void forces_all_pairs(void)
{
    int i, j;
    real e = 0.0, w = 0.0;
    real rc2 = rcut * rcut, hb = 0.5 * box;
    long np = 0;
    int n3 = DIM * natoms;
    real *f = frc;

    memset(f, 0, n3 * sizeof(real));
#pragma omp parallel for schedule(dynamic, 16) private(j) \
        reduction(+:e, w, np) reduction(+:f[:n3])
    for (i = 0; i < natoms - 1; i++) {
        for (j = i + 1; j < natoms; j++) {
            real dx = pos[DIM * i] - pos[DIM * j];
            real dy = pos[DIM * i + 1] - pos[DIM * j + 1];
            real dz = pos[DIM * i + 2] - pos[DIM * j + 2];
            real r2, s2, s6, ff;

            if (dx > hb) dx -= box; else if (dx < -hb) dx += box;
            if (dy > hb) dy -= box; else if (dy < -hb) dy += box;
            if (dz > hb) dz -= box; else if (dz < -hb) dz += box;
            r2 = dx * dx + dy * dy + dz * dz;
            if (r2 >= rc2)
                continue;
            s2 = 1.0 / r2;
            s6 = s2 * s2 * s2;
            ff = 48.0 * s6 * (s6 - 0.5) * s2;
            e += 4.0 * s6 * (s6 - 1.0) - ecut;
            w += ff * r2;
            np++;
            f[DIM * i] += ff * dx;
            f[DIM * i + 1] += ff * dy;
            f[DIM * i + 2] += ff * dz;
            f[DIM * j] -= ff * dx;
            f[DIM * j + 1] -= ff * dy;
            f[DIM * j + 2] -= ff * dz;
        }
    }
    epot = e;
    virial = w;
    pairs = np;
}

void forces(void)
{
    real e = 0.0, w = 0.0;
    real rc2 = rcut * rcut, hb = 0.5 * box;
    long np = 0;
    int n3 = DIM * natoms;
    real *f = frc;
    int cx;

    if (ncell < 3) {
        forces_all_pairs();
        return;
    }

    cells_fill();
    memset(f, 0, n3 * sizeof(real));

#pragma omp parallel for reduction(+:e, w, np) reduction(+:f[:n3])
    for (cx = 0; cx < ncell; cx++) {
        int cy, cz, k;

        for (cy = 0; cy < ncell; cy++)
            for (cz = 0; cz < ncell; cz++)
                for (k = 0; k < 14; k++) {
                    int mx = wrap(cx + half[k][0]);
                    int my = wrap(cy + half[k][1]);
                    int mz = wrap(cz + half[k][2]);
                    int i = head[(cx * ncell + cy) * ncell + cz];

                    while (i >= 0) {
                        real fx = 0.0, fy = 0.0, fz = 0.0;
                        int j = k == 0 ? next[i] : head[(mx * ncell + my) * ncell + mz];

                        while (j >= 0) {
                            real dx = pos[DIM * i] - pos[DIM * j];
                            real dy = pos[DIM * i + 1] - pos[DIM * j + 1];
                            real dz = pos[DIM * i + 2] - pos[DIM * j + 2];
                            int other = j;
                            real r2, s2, s6, ff;

                            j = next[j];
                            if (dx > hb) dx -= box; else if (dx < -hb) dx += box;
                            if (dy > hb) dy -= box; else if (dy < -hb) dy += box;
                            if (dz > hb) dz -= box; else if (dz < -hb) dz += box;
                            r2 = dx * dx + dy * dy + dz * dz;
                            if (r2 >= rc2)
                                continue;
                            s2 = 1.0 / r2;
                            s6 = s2 * s2 * s2;
                            ff = 48.0 * s6 * (s6 - 0.5) * s2;
                            e += 4.0 * s6 * (s6 - 1.0) - ecut;
                            w += ff * r2;
                            np++;
                            fx += ff * dx;
                            fy += ff * dy;
                            fz += ff * dz;
                            f[DIM * other] -= ff * dx;
                            f[DIM * other + 1] -= ff * dy;
                            f[DIM * other + 2] -= ff * dz;
                        }
                        f[DIM * i] += fx;
                        f[DIM * i + 1] += fy;
                        f[DIM * i + 2] += fz;
                        i = next[i];
                    }
                }
    }
    epot = e;
    virial = w;
    pairs = np;
}

/* energy of one atom in the field of all others, without the cells */
real potential_of(int i)
{
    real e = 0.0, hb = 0.5 * box;
    int j, d;

    for (j = 0; j < natoms; j++) {
        real r2 = 0.0, s6;

        if (j == i)
            continue;
        for (d = 0; d < DIM; d++) {
            real x = pos[DIM * i + d] - pos[DIM * j + d];
            if (x > hb)
                x -= box;
            else if (x < -hb)
                x += box;
            r2 += x * x;
        }
        if (r2 >= rcut * rcut)
            continue;
        s6 = 1.0 / (r2 * r2 * r2);
        e += 4.0 * s6 * (s6 - 1.0) - ecut;
    }
    return e;
}
