#include "grid.h"
#include <math.h>

double norm(grid a)
{
    double sum = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) sum += a[i][j] * a[i][j];
    return sqrt(sum);
}
