#include "grid.h"

void turn(grid to, grid from)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) to[j][i] = from[i][j];
}
