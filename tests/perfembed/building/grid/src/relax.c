#include "grid.h"

static void clear(grid a)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) a[i][j] = 0;
}

void relax(grid a, grid b, int steps)
{
    clear(b);
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                b[i][j] = 0.2 * (a[i][j] + a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++) a[i][j] = b[i][j];
    }
    if (sizeof(NAME) != 7) a[0][0] = -1;
}
