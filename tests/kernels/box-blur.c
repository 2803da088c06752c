/* Box blur of an 8-bit image: mean over a (2R+1) x (2R+1) window, clamped at the borders. */
#include <stdint.h>
#include <stdio.h>

#ifdef SMALL
#define SIZE(small, large, xlarge) (small)
#elif defined XLARGE
#define SIZE(small, large, xlarge) (xlarge)
#else
#define SIZE(small, large, xlarge) (large)
#endif
#ifndef W
#define W SIZE(240, 4000, 13000)
#endif
#ifndef H
#define H SIZE(200, 3600, 12000)
#endif
#ifndef R
#define R 3
#endif

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

static inline int clamp(int v, int lo, int hi)
{
    return MIN(MAX(v, lo), hi);
}

static void box_blur(int w, int h, const uint8_t *src, uint8_t *dst)
{
    const int taps = (2 * R + 1) * (2 * R + 1);

    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            int sum = 0;
            for (int dy = -R; dy <= R; dy++)
                for (int dx = -R; dx <= R; dx++)
                    sum += src[clamp(y + dy, 0, h - 1) * w + clamp(x + dx, 0, w - 1)];
            dst[y * w + x] = (uint8_t)((sum + taps / 2) / taps);
        }
}

int main(void)
{
    static uint8_t src[W * H], dst[W * H];
    uint32_t s = 987654321u;
    uint64_t hash = 14695981039346656037u;
    unsigned long sum = 0;

    for (int i = 0; i < W * H; i++) {
        s = s * 1664525u + 1013904223u;
        src[i] = (uint8_t)(s >> 24);
    }

    box_blur(W, H, src, dst);

    for (int i = 0; i < W * H; i++) {
        sum += dst[i];
        hash = (hash ^ dst[i]) * 1099511628211u;
    }
    printf("%016llx %lu\n", (unsigned long long)hash, sum);
    return 0;
}
