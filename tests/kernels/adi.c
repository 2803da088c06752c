/* Alternating direction implicit integration of the 2D heat equation: column sweep, then row sweep. */
#include <stdio.h>
#include <stdlib.h>

#ifdef SMALL
#define SIZE(small, large, xlarge) (small)
#elif defined XLARGE
#define SIZE(small, large, xlarge) (xlarge)
#else
#define SIZE(small, large, xlarge) (large)
#endif
#ifndef N
#define N SIZE(120, 1000, 3000)
#endif
#ifndef TSTEPS
#define TSTEPS SIZE(10, 12, 40)
#endif

static void adi(int tsteps, int n, double u[n][n], double v[n][n], double p[n][n], double q[n][n])
{
    const double dx = 1.0 / n, dt = 0.04 / ((double)n * n);
    const double r1 = 2.0 * dt / (dx * dx), r2 = 1.0 * dt / (dx * dx);
    const double a = -r1 / 2.0, b = 1.0 + r1, c = a;
    const double d = -r2 / 2.0, e = 1.0 + r2, f = d;

    for (int t = 1; t <= tsteps; t++) {
        for (int i = 1; i < n - 1; i++) {
            v[0][i] = 1.0;
            p[i][0] = 0.0;
            q[i][0] = v[0][i];
            for (int j = 1; j < n - 1; j++) {
                double den = a * p[i][j - 1] + b;
                p[i][j] = -c / den;
                q[i][j] = (-d * u[j][i - 1] + (1.0 + 2.0 * d) * u[j][i] - f * u[j][i + 1]
                           - a * q[i][j - 1]) / den;
            }
            v[n - 1][i] = 1.0;
            for (int j = n - 2; j >= 1; j--)
                v[j][i] = p[i][j] * v[j + 1][i] + q[i][j];
        }
        for (int i = 1; i < n - 1; i++) {
            u[i][0] = 1.0;
            p[i][0] = 0.0;
            q[i][0] = u[i][0];
            for (int j = 1; j < n - 1; j++) {
                double den = d * p[i][j - 1] + e;
                p[i][j] = -f / den;
                q[i][j] = (-a * v[i - 1][j] + (1.0 + 2.0 * a) * v[i][j] - c * v[i + 1][j]
                           - d * q[i][j - 1]) / den;
            }
            u[i][n - 1] = 1.0;
            for (int j = n - 2; j >= 1; j--)
                u[i][j] = p[i][j] * u[i][j + 1] + q[i][j];
        }
    }
}

int main(void)
{
    int n = N;
    double (*u)[n] = calloc(n, sizeof *u), (*v)[n] = calloc(n, sizeof *v);
    double (*p)[n] = calloc(n, sizeof *p), (*q)[n] = calloc(n, sizeof *q);
    unsigned s = 1618u;
    double sum = 0.0;
    unsigned long long h = 14695981039346656037ULL;
    if (!u || !v || !p || !q)
        return 1;

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            s = s * 1664525u + 1013904223u;
            u[i][j] = 0.5 + s / 4294967296.0;
        }

    adi(TSTEPS, n, u, v, p, q);

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            sum += u[i][j];
    for (size_t k = 0; k < n * sizeof *u; k++)
        h = (h ^ ((unsigned char *)u)[k]) * 1099511628211ULL;
    printf("%016llx %.17g\n", h, sum);
    free(u);
    free(v);
    free(p);
    free(q);
    return 0;
}
