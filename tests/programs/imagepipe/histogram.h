#ifndef HISTOGRAM_H
#define HISTOGRAM_H

#include "image.h"

void histogram(const Image *im, unsigned count[256]);
void equalize(const Image *in, Image *out);
int  otsu(const Image *im);
long threshold(const Image *in, Image *out, int level);
double mean_level(const Image *im);

#endif
