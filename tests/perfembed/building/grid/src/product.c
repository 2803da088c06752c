#include "grid.h"

static void clear(grid a)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) a[i][j] = 0;
}

void product(grid c, grid a, grid b)
{
    clear(c);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < N; k++) c[i][j] += SCALE * a[i][k] * b[k][j];
}
