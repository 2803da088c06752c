#include <math.h>
#include <stdlib.h>
#include "filters.h"

static int make_kernel(int *kernel, double sigma)
{
    int radius = (int)ceil(2.5 * sigma);
    double weight[2 * MAX_RADIUS + 1], sum = 0.0;
    int total = 0;

    radius = CLAMP(radius, 1, MAX_RADIUS);
    for (int i = -radius; i <= radius; i++) {
        weight[i + radius] = exp(-0.5 * SQR(i / sigma));
        sum += weight[i + radius];
    }
    for (int i = 0; i <= 2 * radius; i++) {
        kernel[i] = (int)(16384.0 * weight[i] / sum + 0.5);
        total += kernel[i];
    }
    kernel[radius] += 16384 - total;
    return radius;
}

void blur(const Image *in, Image *out, double sigma)
{
    int kernel[2 * MAX_RADIUS + 1];
    int radius = make_kernel(kernel, sigma);
    int w = in->w, h = in->h;
    Image *tmp = image_new(w, h);

    if (!tmp)
        exit(1);

    /* along the rows */
#pragma omp parallel for
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            int sum = 0;
            for (int k = -radius; k <= radius; k++) {
                int xx = CLAMP(x + k, 0, w - 1);
                sum += kernel[k + radius] * PIX(in, xx, y);
            }
            PIX(tmp, x, y) = (sum + 8192) >> 14;
        }

    /* along the columns */
#pragma omp parallel for
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            int sum = 0;
            for (int k = -radius; k <= radius; k++) {
                int yy = CLAMP(y + k, 0, h - 1);
                sum += kernel[k + radius] * PIX(tmp, x, yy);
            }
            PIX(out, x, y) = (sum + 8192) >> 14;
        }
    image_free(tmp);
}

void sobel(const Image *in, Image *out)
{
    int w = in->w, h = in->h;

#pragma omp parallel for
    for (int y = 1; y < h - 1; y++) {
        for (int x = 1; x < w - 1; x++) {
            int gx = PIX(in, x + 1, y - 1) + 2 * PIX(in, x + 1, y) + PIX(in, x + 1, y + 1)
                   - PIX(in, x - 1, y - 1) - 2 * PIX(in, x - 1, y) - PIX(in, x - 1, y + 1);
            int gy = PIX(in, x - 1, y + 1) + 2 * PIX(in, x, y + 1) + PIX(in, x + 1, y + 1)
                   - PIX(in, x - 1, y - 1) - 2 * PIX(in, x, y - 1) - PIX(in, x + 1, y - 1);
            int g = (int)sqrtf((float)(SQR(gx) + SQR(gy)));
            PIX(out, x, y) = CLAMP(g, 0, 255);
        }
    }
    for (int x = 0; x < w; x++)
        PIX(out, x, 0) = PIX(out, x, h - 1) = 0;
    for (int y = 0; y < h; y++)
        PIX(out, 0, y) = PIX(out, w - 1, y) = 0;
}

#define MORPHOLOGY(name, start, better)                                     \
void name(const Image *in, Image *out)                                      \
{                                                                           \
    _Pragma("omp parallel for")                                             \
    FOR_PIXELS(in, y, x) {                                                  \
        pixel m = start;                                                    \
        for (int v = y - 1; v <= y + 1; v++)                                \
            for (int u = x - 1; u <= x + 1; u++)                            \
                if (u >= 0 && u < in->w && v >= 0 && v < in->h              \
                    && PIX(in, u, v) better m)                              \
                    m = PIX(in, u, v);                                      \
        PIX(out, x, y) = m;                                                 \
    }                                                                       \
}

MORPHOLOGY(dilate, 0, >)
MORPHOLOGY(erode, 255, <)

void median3(const Image *in, Image *out)
{
#pragma omp parallel for
    FOR_PIXELS(in, y, x) {
        pixel v[9];
        int n = 0;

        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
                int xx = CLAMP(x + dx, 0, in->w - 1);
                int yy = CLAMP(y + dy, 0, in->h - 1);
                pixel p = PIX(in, xx, yy);
                int i = n++;

                while (i > 0 && v[i - 1] > p) {
                    v[i] = v[i - 1];
                    i--;
                }
                v[i] = p;
            }
        PIX(out, x, y) = v[4];
    }
}

void difference(const Image *a, const Image *b, Image *out)
{
#pragma omp parallel for
    FOR_PIXELS(a, y, x)
        PIX(out, x, y) = abs(PIX(a, x, y) - PIX(b, x, y));
}
