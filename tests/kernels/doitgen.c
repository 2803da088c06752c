/* Multiresolution kernel: every row A[r][q][:] is multiplied by C4, through a local row buffer. */
#include <stdio.h>

#ifdef SMALL
#define SIZE(small, large, xlarge) (small)
#elif defined XLARGE
#define SIZE(small, large, xlarge) (xlarge)
#else
#define SIZE(small, large, xlarge) (large)
#endif
#ifndef NR
#define NR SIZE(40, 200, 560)
#endif
#ifndef NQ
#define NQ SIZE(44, 180, 520)
#endif
#ifndef NP
#define NP SIZE(96, 200, 460)
#endif

static double A[NR][NQ][NP];
static double C4[NP][NP];

static void doitgen(double a[NR][NQ][NP], double c4[NP][NP])
{
    for (int r = 0; r < NR; r++)
        for (int q = 0; q < NQ; q++) {
            double row[NP];
            for (int p = 0; p < NP; p++) {
                row[p] = 0.0;
                for (int s = 0; s < NP; s++)
                    row[p] += a[r][q][s] * c4[s][p];
            }
            for (int p = 0; p < NP; p++)
                a[r][q][p] = row[p];
        }
}

int main(void)
{
    unsigned x = 314159265u;
    double sum = 0.0;
    unsigned long long h = 14695981039346656037ULL;
    const unsigned char *bytes = (const unsigned char *)A;

    for (int r = 0; r < NR; r++)
        for (int q = 0; q < NQ; q++)
            for (int p = 0; p < NP; p++) {
                x ^= x << 13;
                x ^= x >> 17;
                x ^= x << 5;
                A[r][q][p] = x / 4294967296.0;
            }
    for (int s = 0; s < NP; s++)
        for (int p = 0; p < NP; p++) {
            x ^= x << 13;
            x ^= x >> 17;
            x ^= x << 5;
            C4[s][p] = x / 4294967296.0 - 0.5;
        }

    doitgen(A, C4);

    for (int r = 0; r < NR; r++)
        for (int q = 0; q < NQ; q++)
            for (int p = 0; p < NP; p++)
                sum += A[r][q][p];
    for (size_t b = 0; b < sizeof A; b++)
        h = (h ^ bytes[b]) * 1099511628211ULL;
    printf("%016llx %.17g\n", h, sum);
    return 0;
}
