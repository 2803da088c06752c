#ifndef FILTERS_H
#define FILTERS_H

#include "image.h"

#define MAX_RADIUS 16

/* Separable Gaussian with an integer kernel whose sum is 1 << 14. */
void blur(const Image *in, Image *out, double sigma);

/* Gradient magnitude, by Sobel, clipped to 255. */
void sobel(const Image *in, Image *out);

/* Largest / smallest of the 3 x 3 neighbourhood. */
void dilate(const Image *in, Image *out);
void erode(const Image *in, Image *out);

/* Middle of the 3 x 3 neighbourhood, against salt and pepper. */
void median3(const Image *in, Image *out);

/* out = |a - b| */
void difference(const Image *a, const Image *b, Image *out);

#endif
