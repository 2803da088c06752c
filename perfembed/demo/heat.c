/* Heat that spreads over a plate: a stencil in a time loop, which reads and writes all of memory at every step. */
#include <stdio.h>

#define N 2000
#define STEPS 40

static double now[N][N], next[N][N];

static void spread(void)
{
    for (int t = 0; t < STEPS; t++) {
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                next[i][j] = 0.5 * now[i][j]
                           + 0.125 * (now[i - 1][j] + now[i + 1][j] + now[i][j - 1] + now[i][j + 1]);
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                now[i][j] = next[i][j];
    }
}

int main(void)
{
    double sum = 0.0;

    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            now[i][j] = (i * 31 + j * 17) % 101;
    spread();
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            sum += now[i][j] * ((i + 3 * j) % 7);
    printf("%.17g\n", sum);
    return 0;
}
