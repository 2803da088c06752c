#include "grid.h"

void scale(grid a, double by)
{
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) a[i][j] *= by;
}
