/*
 * md CELLS DENSITY TEMPERATURE STEPS
 *
 * 4 CELLS^3 atoms of a Lennard-Jones fluid; the first third of the steps
 * holds the temperature, the others conserve the energy.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "md.h"

int main(int argc, char **argv)
{
    int m = argc > 1 ? atoi(argv[1]) : 6;
    real density = argc > 2 ? atof(argv[2]) : 0.8442;
    real temperature = argc > 3 ? atof(argv[3]) : 0.722;
    int steps = argc > 4 ? atoi(argv[4]) : 100;
    const real dt = 0.004;
    long hist[RDF_BINS] = { 0 };
    real rmax, e0 = 0.0, drift = 0.0, press = 0.0, temp = 0.0;
    int n, samples = 0, fewest, most, k;
    double mean;

    if (m < 2 || density <= 0.0 || temperature <= 0.0 || steps < 3) {
        fprintf(stderr, "usage: %s cells density temperature steps\n", argv[0]);
        return 2;
    }
    setup(m, density, temperature, 2024u);
    rmax = 3.0 < 0.5 * box ? 3.0 : 0.5 * box;
    printf("%d atoms, box %.8g, cutoff %.4g, %d cells on an edge\n", natoms, box, rcut, ncell);

    cells_sort_atoms();
    forces();
    printf("  step      kinetic    potential        total     pairs\n");
    for (n = 0; n <= steps; n++) {
        real ek;

        if (n > 0) {
            step_first(dt);
            forces();
            step_second(dt);
        }
        if (n < steps / 3 && n % 10 == 9)
            rescale(temperature);
        ek = kinetic();
        if (n == steps / 3)
            e0 = ek + epot;
        if (n > steps / 3) {
            real d = fabs((ek + epot - e0) / e0);
            real t = 2.0 * ek / (3.0 * natoms - 3.0);

            if (d > drift)
                drift = d;
            temp += t;
            press += (natoms * t + virial / 3.0) / (box * box * box);
        }
        if (n % (steps / 5 > 0 ? steps / 5 : 1) == 0)
            printf("%6d %12.9g %12.9g %12.9g  %8ld\n", n, ek / natoms, epot / natoms,
                   (ek + epot) / natoms, pairs);
        if (n > steps / 3 && n % 20 == 0) {
            cells_sort_atoms();
            rdf_sample(hist, rmax);
            samples++;
            forces();
        }
    }

    n = steps - steps / 3;
    printf("mean temperature %.8g, mean pressure %.8g\n", temp / n, press / n);
    printf("energy conserved: %s\n", drift < 1e-3 ? "yes" : "no");
    printf("momentum conserved: %s\n", momentum() < 1e-8 * natoms ? "yes" : "no");
    for (k = 0; k < 3; k++)
        printf("energy of atom %d: %.8g\n", k * natoms / 3, potential_of(k * natoms / 3));
    bonds(1.5, &fewest, &most, &mean);
    printf("neighbours: %d to %d, mean %.6f\n", fewest, most, mean);
    if (samples > 0)
        rdf_print(hist, samples, rmax);
    cleanup();
    return 0;
}
