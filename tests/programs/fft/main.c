/* Two uses of one FFT.
 *
 *     fft log2(side of the alloy) steps log2(samples of the radar) passes
 */
#include <stdio.h>
#include <stdlib.h>

#include "phase.h"
#include "signal.h"

static long argument(int argc, char **argv, int i, long missing)
{
    char *end;

    if (i >= argc)
        return missing;
    long v = strtol(argv[i], &end, 10);
    return *end == '\0' ? v : -1;
}

int main(int argc, char **argv)
{
    long side = argument(argc, argv, 1, 8);
    long steps = argument(argc, argv, 2, 20);
    long samples = argument(argc, argv, 3, 16);
    long passes = argument(argc, argv, 4, 4);

    if (side < 2 || side > 12 || samples < 10 || samples > 24 || steps < 1 || passes < 1) {
        fprintf(stderr, "usage: %s log2side(2..12) steps log2samples(10..24) passes\n", argv[0]);
        return 2;
    }
    if (phase_separation((size_t)1 << side, (int)steps) != 0 ||
        radar((size_t)1 << samples, (int)passes) != 0) {
        fprintf(stderr, "fft: out of memory\n");
        return 1;
    }
    return 0;
}
