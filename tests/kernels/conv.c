/* Multi-channel 2D convolution (valid padding), accumulating into the output. */
#include <stdio.h>

#ifdef SMALL
#define SIZE(small, large, xlarge) (small)
#elif defined XLARGE
#define SIZE(small, large, xlarge) (xlarge)
#else
#define SIZE(small, large, xlarge) (large)
#endif
#ifndef BATCH
#define BATCH SIZE(2, 8, 16)
#endif
#ifndef CIN
#define CIN SIZE(12, 32, 64)
#endif
#ifndef COUT
#define COUT SIZE(16, 48, 96)
#endif
#ifndef HW
#define HW SIZE(48, 128, 256)
#endif
#ifndef K
#define K 3
#endif
#define OUT (HW - K + 1)

static float in[BATCH][CIN][HW][HW];
static float weight[COUT][CIN][K][K];
static float out[BATCH][COUT][OUT][OUT];

static float next_float(void)
{
    static unsigned s = 20240u;
    s = s * 1664525u + 1013904223u;
    return (float)(s >> 8) / 16777216.0f - 0.5f;
}

static void conv(void)
{
    for (int n = 0; n < BATCH; n++)
        for (int co = 0; co < COUT; co++)
            for (int y = 0; y < OUT; y++)
                for (int x = 0; x < OUT; x++)
                    for (int ci = 0; ci < CIN; ci++)
                        for (int ky = 0; ky < K; ky++)
                            for (int kx = 0; kx < K; kx++)
                                out[n][co][y][x] += in[n][ci][y + ky][x + kx] * weight[co][ci][ky][kx];
}

int main(void)
{
    double sum = 0.0;
    unsigned long long h = 14695981039346656037ULL;
    const unsigned char *bytes = (const unsigned char *)out;

    for (int n = 0; n < BATCH; n++)
        for (int c = 0; c < CIN; c++)
            for (int y = 0; y < HW; y++)
                for (int x = 0; x < HW; x++)
                    in[n][c][y][x] = next_float();
    for (int co = 0; co < COUT; co++)
        for (int ci = 0; ci < CIN; ci++)
            for (int ky = 0; ky < K; ky++)
                for (int kx = 0; kx < K; kx++)
                    weight[co][ci][ky][kx] = next_float();

    conv();

    for (int n = 0; n < BATCH; n++)
        for (int c = 0; c < COUT; c++)
            for (int y = 0; y < OUT; y++)
                for (int x = 0; x < OUT; x++)
                    sum += out[n][c][y][x];
    for (size_t b = 0; b < sizeof out; b++)
        h = (h ^ bytes[b]) * 1099511628211ULL;
    printf("%016llx %.17g\n", h, sum);
    return 0;
}
