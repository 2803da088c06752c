/* Colour conversion: interleaved 8-bit RGB to gray in fixed point (integer arithmetic). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef SMALL
#define SIZE(small, large, xlarge) (small)
#elif defined XLARGE
#define SIZE(small, large, xlarge) (xlarge)
#else
#define SIZE(small, large, xlarge) (large)
#endif
#ifndef WIDTH
#define WIDTH SIZE(1100, 9000, 34000)
#endif
#ifndef HEIGHT
#define HEIGHT SIZE(1000, 7000, 29000)
#endif

enum { WR = 77, WG = 151, WB = 28 };

static void rgb_to_gray(size_t width, size_t height, const uint8_t *rgb, uint8_t *gray)
{
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++) {
            const unsigned r = rgb[3 * (y * width + x)];
            const unsigned g = rgb[3 * (y * width + x) + 1];
            const unsigned b = rgb[3 * (y * width + x) + 2];
            gray[y * width + x] = (uint8_t)((WR * r + WG * g + WB * b + 128u) >> 8);
        }
}

int main(void)
{
    const size_t pixels = (size_t)WIDTH * HEIGHT;
    uint8_t *rgb = malloc(3 * pixels);
    uint8_t *gray = malloc(pixels);
    uint32_t s = 1357u;
    uint64_t h = 14695981039346656037u, sum = 0;
    if (rgb == NULL || gray == NULL)
        return 1;

    for (size_t p = 0; p < pixels; p++) {
        s = s * 1664525u + 1013904223u;
        rgb[3 * p] = (uint8_t)(s >> 24);
        rgb[3 * p + 1] = (uint8_t)(s >> 16);
        rgb[3 * p + 2] = (uint8_t)(s >> 8);
    }

    rgb_to_gray(WIDTH, HEIGHT, rgb, gray);

    for (size_t p = 0; p < pixels; p++) {
        sum += gray[p];
        h = (h ^ gray[p]) * 1099511628211u;
    }
    printf("%016llx %llu\n", (unsigned long long)h, (unsigned long long)sum);
    free(rgb);
    free(gray);
    return 0;
}
