/* wave3d nx ny nz steps [sponge]
 *
 * A shot in a layered block: pressure in time and space, fourth order in
 * space, second in time, a sponge at all sides.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "wave.h"

static void usage(const char *name)
{
    fprintf(stderr, "usage: %s nx ny nz steps [sponge]\n", name);
    exit(2);
}

int main(int argc, char **argv)
{
    static struct wave w;

    if (argc < 5)
        usage(argv[0]);
    int nx = atoi(argv[1]), ny = atoi(argv[2]), nz = atoi(argv[3]);
    int steps = atoi(argv[4]);
    int sponge = argc > 5 ? atoi(argv[5]) : 10;

    if (nx < 24 || ny < 24 || nz < 24 || steps < 1 || sponge < HALO ||
        2 * sponge >= nx || 2 * sponge >= ny || 2 * sponge >= nz)
        usage(argv[0]);
    if (!wave_init(&w, nx, ny, nz, 5.0, sponge)) {
        fprintf(stderr, "%s: not enough memory\n", argv[0]);
        wave_free(&w);
        return 1;
    }

    printf("%d x %d x %d cells of %g m, step %.6g s, source of %.4g Hz\n", nx, ny, nz,
           w.h, w.dt, w.frequency);
    for (int s = 1; s <= steps; s++) {
        wave_step(&w);
        if (s % (steps / 5 > 0 ? steps / 5 : 1) == 0)
            printf("step %4d: energy %.10g norm %.10g largest %.10g\n", s,
                   wave_energy(&w), grid_norm2(w.now), grid_max_abs(w.now));
    }

    printf("receivers:\n");
    for (int r = 0; r < w.receivers; r++) {
        printf("  x %5.0f m: ", w.rec[r].i * w.h);
        if (fabs(w.rec[r].peak) < 1e-6)
            printf("nothing yet\n");
        else
            printf("peak %.10g at step %d, energy %.10g\n", w.rec[r].peak,
                   w.rec[r].peak_step, w.rec[r].energy);
    }

    wave_free(&w);
    return 0;
}
