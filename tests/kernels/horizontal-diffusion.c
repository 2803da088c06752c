/* Horizontal diffusion as in weather models: Laplacian, limited fluxes in x and y, update, on every level. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef SMALL
#define SIZE(small, large, xlarge) (small)
#elif defined XLARGE
#define SIZE(small, large, xlarge) (xlarge)
#else
#define SIZE(small, large, xlarge) (large)
#endif
#ifndef NI
#define NI SIZE(48, 260, 520)
#endif
#ifndef NJ
#define NJ SIZE(44, 240, 480)
#endif
#ifndef NK
#define NK SIZE(24, 80, 80)
#endif
#ifndef STEPS
#define STEPS SIZE(10, 6, 60)
#endif

static void hdiff(int ni, int nj, int nk, double in[restrict ni + 4][nj + 4][nk],
                  double coeff[restrict ni][nj][nk], double lap[restrict ni + 2][nj + 2][nk],
                  double flx[restrict ni + 1][nj][nk], double fly[restrict ni][nj + 1][nk],
                  double out[restrict ni][nj][nk])
{
    for (int i = 0; i < ni + 2; i++)
        for (int j = 0; j < nj + 2; j++)
            for (int k = 0; k < nk; k++)
                lap[i][j][k] = 4.0 * in[i + 1][j + 1][k] - (in[i + 2][j + 1][k] + in[i][j + 1][k]
                               + in[i + 1][j + 2][k] + in[i + 1][j][k]);

    for (int i = 0; i < ni + 1; i++)
        for (int j = 0; j < nj; j++)
            for (int k = 0; k < nk; k++) {
                double f = lap[i + 1][j + 1][k] - lap[i][j + 1][k];
                flx[i][j][k] = f * (in[i + 2][j + 2][k] - in[i + 1][j + 2][k]) > 0.0 ? 0.0 : f;
            }

    for (int i = 0; i < ni; i++)
        for (int j = 0; j < nj + 1; j++)
            for (int k = 0; k < nk; k++) {
                double f = lap[i + 1][j + 1][k] - lap[i + 1][j][k];
                fly[i][j][k] = f * (in[i + 2][j + 2][k] - in[i + 2][j + 1][k]) > 0.0 ? 0.0 : f;
            }

    for (int i = 0; i < ni; i++)
        for (int j = 0; j < nj; j++)
            for (int k = 0; k < nk; k++)
                out[i][j][k] = in[i + 2][j + 2][k] - coeff[i][j][k]
                               * (flx[i + 1][j][k] - flx[i][j][k] + fly[i][j + 1][k] - fly[i][j][k]);
}

static void *field(size_t count, uint32_t s)
{
    double *p = malloc(count * sizeof *p);
    if (p == NULL)
        exit(1);
    for (size_t q = 0; q < count; q++) {
        s = s * 1664525u + 1013904223u;
        p[q] = 0.01 + 0.01 * (s / 4294967296.0);
    }
    return p;
}

int main(void)
{
    const int ni = NI, nj = NJ, nk = NK;
    double (*in)[nj + 4][nk] = field((ni + 4) * (nj + 4) * nk, 1u);
    double (*coeff)[nj][nk] = field(ni * nj * nk, 2u);
    double (*lap)[nj + 2][nk] = field((ni + 2) * (nj + 2) * nk, 3u);
    double (*flx)[nj][nk] = field((ni + 1) * nj * nk, 4u);
    double (*fly)[nj + 1][nk] = field(ni * (nj + 1) * nk, 5u);
    double (*out)[nj][nk] = field(ni * nj * nk, 6u);
    uint64_t h = 1u, w;
    double sum = 0.0;

    for (int t = 0; t < STEPS; t++) {
        hdiff(ni, nj, nk, in, coeff, lap, flx, fly, out);
        for (int i = 0; i < ni; i++)
            for (int j = 0; j < nj; j++)
                for (int k = 0; k < nk; k++)
                    in[i + 2][j + 2][k] = out[i][j][k];
    }

    for (int i = 0; i < ni; i++)
        for (int j = 0; j < nj; j++)
            for (int k = 0; k < nk; k++) {
                sum += out[i][j][k];
                memcpy(&w, &out[i][j][k], sizeof w);
                h = (h ^ w) * 0x9fb21c651e98df25u;
                h ^= h >> 28;
            }
    printf("%016llx %.17g\n", (unsigned long long)h, sum);
    free(in);
    free(coeff);
    free(lap);
    free(flx);
    free(fly);
    free(out);
    return 0;
}
