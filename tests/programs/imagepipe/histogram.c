#include <string.h>
#include "histogram.h"

void histogram(const Image *im, unsigned count[256])
{
    memset(count, 0, 256 * sizeof(unsigned));

#pragma omp parallel
    {
        unsigned mine[256] = { 0 };

#pragma omp for nowait
        FOR_PIXELS(im, y, x)
            mine[PIX(im, x, y)]++;
#pragma omp critical
        for (int i = 0; i < 256; i++)
            count[i] += mine[i];
    }
}

void equalize(const Image *in, Image *out)
{
    unsigned count[256], below = 0, first = 0, n = (unsigned)in->w * in->h;
    pixel map[256];

    histogram(in, count);
    for (int i = 0; i < 256; i++)
        if (count[i]) {
            first = count[i];
            break;
        }
    for (int i = 0; i < 256; i++) {
        below += count[i];
        map[i] = below <= first || n == first ? 0
               : (pixel)((255.0 * (below - first)) / (n - first) + 0.5);
    }
#pragma omp parallel for
    FOR_PIXELS(in, y, x)
        PIX(out, x, y) = map[PIX(in, x, y)];
}

/* The level that splits the histogram with the largest variance between. */
int otsu(const Image *im)
{
    unsigned count[256];
    double total = (double)im->w * im->h, sum = 0.0, low = 0.0, n = 0.0;
    double best = -1.0;
    int level = 0;

    histogram(im, count);
    for (int i = 0; i < 256; i++)
        sum += (double)i * count[i];
    for (int i = 0; i < 256; i++) {
        n += count[i];
        low += (double)i * count[i];
        if (n == 0.0 || n == total)
            continue;
        double apart = low / n - (sum - low) / (total - n);
        double between = n * (total - n) * apart * apart;
        if (between > best) {
            best = between;
            level = i;
        }
    }
    return level;
}

long threshold(const Image *in, Image *out, int level)
{
    long white = 0;

#pragma omp parallel for reduction(+:white)
    FOR_PIXELS(in, y, x) {
        if (PIX(in, x, y) > level) {
            PIX(out, x, y) = 255;
            white++;
        } else {
            PIX(out, x, y) = 0;
        }
    }
    return white;
}

double mean_level(const Image *im)
{
    unsigned long sum = 0;

#pragma omp parallel for reduction(+:sum)
    FOR_PIXELS(im, y, x)
        sum += PIX(im, x, y);
    return (double)sum / ((double)im->w * im->h);
}
