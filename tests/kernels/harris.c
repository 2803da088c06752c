/* Harris corner response: Sobel gradients, products, 3x3 window sums, det - k*trace^2. */
#include <stdio.h>

#ifdef SMALL
#define SIZE(small, large, xlarge) (small)
#elif defined XLARGE
#define SIZE(small, large, xlarge) (xlarge)
#else
#define SIZE(small, large, xlarge) (large)
#endif
#ifndef H
#define H SIZE(300, 2400, 8000)
#endif
#ifndef W
#define W SIZE(420, 2600, 8200)
#endif

static float img[H][W], ix[H][W], iy[H][W];
static float ixx[H][W], ixy[H][W], iyy[H][W], response[H][W];

static inline float det2(float a, float b, float c)
{
    return a * c - b * b;
}

static void harris(float kappa)
{
    for (int y = 1; y < H - 1; y++)
        for (int x = 1; x < W - 1; x++) {
            ix[y][x] = (img[y - 1][x + 1] - img[y - 1][x - 1])
                       + 2.0f * (img[y][x + 1] - img[y][x - 1])
                       + (img[y + 1][x + 1] - img[y + 1][x - 1]);
            iy[y][x] = (img[y + 1][x - 1] - img[y - 1][x - 1])
                       + 2.0f * (img[y + 1][x] - img[y - 1][x])
                       + (img[y + 1][x + 1] - img[y - 1][x + 1]);
        }
    for (int y = 1; y < H - 1; y++)
        for (int x = 1; x < W - 1; x++) {
            ixx[y][x] = ix[y][x] * ix[y][x];
            ixy[y][x] = ix[y][x] * iy[y][x];
            iyy[y][x] = iy[y][x] * iy[y][x];
        }
    for (int y = 2; y < H - 2; y++)
        for (int x = 2; x < W - 2; x++) {
            float sxx = 0.0f, sxy = 0.0f, syy = 0.0f;
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++) {
                    sxx += ixx[y + dy][x + dx];
                    sxy += ixy[y + dy][x + dx];
                    syy += iyy[y + dy][x + dx];
                }
            response[y][x] = det2(sxx, sxy, syy) - kappa * (sxx + syy) * (sxx + syy);
        }
}

int main(void)
{
    unsigned s = 777u;
    double sum = 0.0;
    int corners = 0;
    unsigned long long h = 14695981039346656037ULL;
    const unsigned char *bytes = (const unsigned char *)response;

    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            s = s * 1664525u + 1013904223u;
            img[y][x] = (float)(s >> 24) / 255.0f;
        }

    harris(0.04f);

    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            sum += response[y][x];
            if (response[y][x] > 100.0f)
                corners++;
        }
    for (size_t b = 0; b < sizeof response; b++)
        h = (h ^ bytes[b]) * 1099511628211ULL;
    printf("%016llx %.17g %d\n", h, sum, corners);
    return 0;
}
