#include <stdlib.h>
#include "image.h"

Image *image_new(int w, int h)
{
    Image *im = malloc(sizeof *im);

    if (!im)
        return NULL;
    im->w = w;
    im->h = h;
    im->data = calloc((size_t)w * h, 1);
    if (!im->data) {
        free(im);
        return NULL;
    }
    return im;
}

void image_free(Image *im)
{
    if (im)
        free(im->data);
    free(im);
}

int image_write_pgm(const Image *im, const char *name)
{
    FILE *f = fopen(name, "wb");
    size_t n = (size_t)im->w * im->h, written;

    if (!f) {
        perror(name);
        return -1;
    }
    fprintf(f, "P5\n%d %d\n255\n", im->w, im->h);
    written = fwrite(im->data, 1, n, f);
    if (fclose(f) != 0 || written != n) {
        perror(name);
        return -1;
    }
    return 0;
}

void image_shrink(const Image *im, Image *small)
{
    FOR_PIXELS(small, y, x) {
        int x0 = (int)((long)x * im->w / small->w);
        int x1 = (int)((long)(x + 1) * im->w / small->w);
        int y0 = (int)((long)y * im->h / small->h);
        int y1 = (int)((long)(y + 1) * im->h / small->h);
        unsigned sum = 0, count = 0;

        for (int v = y0; v < y1; v++)
            for (int u = x0; u < x1; u++) {
                sum += PIX(im, u, v);
                count++;
            }
        PIX(small, x, y) = count ? (pixel)(sum / count) : 0;
    }
}

/* FNV-1a */
unsigned image_hash(const Image *im)
{
    unsigned h = 2166136261u;
    size_t n = (size_t)im->w * im->h;

    for (size_t i = 0; i < n; i++) {
        h ^= im->data[i];
        h *= 16777619u;
    }
    return h;
}
