/* Histogram equalisation of an 8-bit image: data-dependent subscripts for counting and lookup. */
#include <stdint.h>
#include <stdio.h>

#ifdef SMALL
#define SIZE(small, large, xlarge) (small)
#elif defined XLARGE
#define SIZE(small, large, xlarge) (xlarge)
#else
#define SIZE(small, large, xlarge) (large)
#endif
#ifndef H
#define H SIZE(900, 10000, 30000)
#endif
#ifndef W
#define W SIZE(1100, 13000, 31000)
#endif
#define BINS 256

static uint8_t img[H][W], eq[H][W];
static uint32_t hist[BINS];

static void equalize(void)
{
    uint8_t lut[BINS];
    uint32_t cdf = 0;

    for (int b = 0; b < BINS; b++)
        hist[b] = 0;
    for (int i = 0; i < H; i++)
        for (int j = 0; j < W; j++)
            hist[img[i][j]]++;
    for (int b = 0; b < BINS; b++) {
        cdf += hist[b];
        lut[b] = (uint8_t)((uint64_t)cdf * 255u / ((uint64_t)H * W));
    }
    for (int i = 0; i < H; i++)
        for (int j = 0; j < W; j++)
            eq[i][j] = lut[img[i][j]];
}

int main(void)
{
    uint32_t s = 24680u;
    uint64_t h = 14695981039346656037u, sum = 0;

    for (int i = 0; i < H; i++)
        for (int j = 0; j < W; j++) {
            s = s * 1664525u + 1013904223u;
            img[i][j] = (uint8_t)((s >> 24) * (s >> 16 & 255u) / 255u);
        }

    equalize();

    for (int b = 0; b < BINS; b++)
        h = (h ^ hist[b]) * 1099511628211u;
    for (int i = 0; i < H; i++)
        for (int j = 0; j < W; j++) {
            sum += eq[i][j];
            h = (h ^ eq[i][j]) * 1099511628211u;
        }
    printf("%016llx %llu\n", (unsigned long long)h, (unsigned long long)sum);
    return 0;
}
