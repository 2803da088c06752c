#include "grid.h"

void columns(grid a, double *sums)
{
    for (int j = 0; j < N; j++) sums[j] = 0;
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) sums[j] += a[i][j];
}
