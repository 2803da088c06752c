/* measure.c - observables */
#include <math.h>
#include <stdio.h>
#include "md.h"

real kinetic(void)
{
    real sum = 0.0;
    int i;

#pragma omp parallel for reduction(+:sum)
    for (i = 0; i < DIM * natoms; i++)
        sum += vel[i] * vel[i];
    return 0.5 * sum;
}

/* largest component of the total momentum; should stay zero */
real momentum(void)
{
    real p[DIM] = { 0, 0, 0 }, big = 0.0;
    int i, d;

    for (i = 0; i < natoms; i++)
        for (d = 0; d < DIM; d++)
            p[d] += vel[DIM * i + d];
    for (d = 0; d < DIM; d++)
        if (fabs(p[d]) > big)
            big = fabs(p[d]);
    return big;
}

/* distances of all pairs, counted into bins */
void rdf_sample(long *hist, real rmax)
{
    real hb = 0.5 * box, rmax2 = rmax * rmax;
    int i;

#pragma omp parallel for schedule(dynamic, 8)
    for (i = 0; i < natoms - 1; i++) {
        int j, bin;

        for (j = i + 1; j < natoms; j++) {
            real dx = pos[DIM * i] - pos[DIM * j];
            real dy = pos[DIM * i + 1] - pos[DIM * j + 1];
            real dz = pos[DIM * i + 2] - pos[DIM * j + 2];
            real r2;

            if (dx > hb) dx -= box; else if (dx < -hb) dx += box;
            if (dy > hb) dy -= box; else if (dy < -hb) dy += box;
            if (dz > hb) dz -= box; else if (dz < -hb) dz += box;
            r2 = dx * dx + dy * dy + dz * dz;
            if (r2 >= rmax2)
                continue;
            bin = (int)(sqrt(r2) / rmax * RDF_BINS);
            if (bin >= RDF_BINS)
                continue;
#pragma omp atomic
            hist[bin] += 2;
        }
    }
}

void rdf_print(const long *hist, int samples, real rmax)
{
    real density = natoms / (box * box * box);
    real width = rmax / RDF_BINS;
    real best = 0.0, best_r = 0.0;
    int k;

    for (k = 0; k < RDF_BINS; k++) {
        real lo = k * width, hi = lo + width;
        real shell = 4.0 / 3.0 * 3.14159265358979323846 * (hi * hi * hi - lo * lo * lo);
        real g = hist[k] / (shell * density * natoms * samples);

        if (g > best) {
            best = g;
            best_r = 0.5 * (lo + hi);
        }
        if (k % 10 == 9)
            printf("  g(%.3f) = %.4f\n", 0.5 * (lo + hi), g);
    }
    printf("  first peak %.4f at %.3f\n", best, best_r);
}

/* neighbours within r: fewest, most and mean over the atoms */
void bonds(real r, int *fewest, int *most, double *mean)
{
    real r2max = r * r, hb = 0.5 * box;
    int lo = natoms, hi = 0, i;
    long sum = 0;

#pragma omp parallel for reduction(min:lo) reduction(max:hi) reduction(+:sum)
    for (i = 0; i < natoms; i++) {
        int n = 0, j, d;

        for (j = 0; j < natoms; j++) {
            real r2 = 0.0;

            if (i == j)
                continue;
            for (d = 0; d < DIM; d++) {
                real x = fabs(pos[DIM * i + d] - pos[DIM * j + d]);

                if (x > hb)
                    x = box - x;
                r2 += x * x;
                if (r2 > r2max)
                    break;
            }
            if (r2 <= r2max)
                n++;
        }
        if (n < lo)
            lo = n;
        if (n > hi)
            hi = n;
        sum += n;
    }
    *fewest = lo;
    *most = hi;
    *mean = (double)sum / natoms;
}
