/* LIKWID's marker API around each repetition of the kernel; compiled and linked by likwid.py with -DLIKWID_PERFMON.
 *
 * Every thread begins and ends a region "nest0", "nest1", ... by itself, as the marker API wants it: in a parallel
 * region of its own, whose threads OpenMP uses again for the kernel. */
#include <likwid-marker.h>
#include <stdio.h>

void pe_region(int repetition, int begins);
void pe_region(int repetition, int begins)
{
    char name[32];
    snprintf(name, sizeof name, "nest%d", repetition);
    if (repetition < 0 && begins) {
        LIKWID_MARKER_INIT;
#pragma omp parallel
        {
            LIKWID_MARKER_THREADINIT;
        }
    } else if (repetition < 0) {
        LIKWID_MARKER_CLOSE;
    } else if (begins) {
#pragma omp parallel
        {
            LIKWID_MARKER_START(name);
        }
    } else {
#pragma omp parallel
        {
            LIKWID_MARKER_STOP(name);
        }
    }
}
