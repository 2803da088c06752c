/* Explicit 2D heat equation; the two time levels share one array with a parity index. */
#include <stdio.h>

#ifdef SMALL
#define SIZE(small, large, xlarge) (small)
#elif defined XLARGE
#define SIZE(small, large, xlarge) (xlarge)
#else
#define SIZE(small, large, xlarge) (large)
#endif
#ifndef NX
#define NX SIZE(180, 1800, 6000)
#endif
#ifndef NY
#define NY SIZE(220, 2000, 6400)
#endif
#ifndef STEPS
#define STEPS SIZE(100, 60, 160)
#endif

static double u[2][NX][NY];

static void heat_2d(double cx, double cy)
{
    for (int t = 0; t < STEPS; t++)
        for (int i = 1; i < NX - 1; i++)
            for (int j = 1; j < NY - 1; j++)
                u[(t + 1) % 2][i][j] =
                    u[t % 2][i][j]
                    + cx * (u[t % 2][i + 1][j] - 2.0 * u[t % 2][i][j] + u[t % 2][i - 1][j])
                    + cy * (u[t % 2][i][j + 1] - 2.0 * u[t % 2][i][j] + u[t % 2][i][j - 1]);
}

int main(void)
{
    unsigned s = 97u;
    double sum = 0.0;
    unsigned long long h = 14695981039346656037ULL;
    const unsigned char *bytes = (const unsigned char *)u[STEPS % 2];

    for (int i = 0; i < NX; i++)
        for (int j = 0; j < NY; j++) {
            s = s * 1664525u + 1013904223u;
            u[0][i][j] = 20.0 + s / 268435456.0;
            u[1][i][j] = u[0][i][j];
        }

    heat_2d(0.11, 0.13);

    for (int i = 0; i < NX; i++)
        for (int j = 0; j < NY; j++)
            sum += u[STEPS % 2][i][j];
    for (size_t b = 0; b < sizeof u[0]; b++)
        h = (h ^ bytes[b]) * 1099511628211ULL;
    printf("%016llx %.17g\n", h, sum);
    return 0;
}
