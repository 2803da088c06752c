#ifndef IMAGE_H
#define IMAGE_H

#include <stdio.h>

typedef unsigned char pixel;

typedef struct image {
    int w, h;
    pixel *data;
} Image;

#define PIX(im, x, y)       ((im)->data[(y) * (im)->w + (x)])
#define CLAMP(v, lo, hi)    ((v) < (lo) ? (lo) : (v) > (hi) ? (hi) : (v))
#define FOR_PIXELS(im, y, x) \
    for (int y = 0; y < (im)->h; y++) \
        for (int x = 0; x < (im)->w; x++)
#define SQR(a) ((a) * (a))

Image *image_new(int w, int h);
void   image_free(Image *im);
int    image_write_pgm(const Image *im, const char *name);
void   image_shrink(const Image *im, Image *small);     /* by averages */
unsigned image_hash(const Image *im);

#endif
