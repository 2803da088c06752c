#include "grid.h"
#include <stdio.h>

void report(const char *what, grid a)
{
    double sums[N], all = 0;
    columns(a, sums);
    for (int j = 0; j < N; j++) all += sums[j];
    printf("%s %.10g %016lx\n", what, all, mix(a));
}
