#ifndef REGIONS_H
#define REGIONS_H

#include "image.h"

#define MAX_REGIONS 100000

typedef struct region {
    int area;
    int left, right, top, bottom;
    double cx, cy;
} Region;

/* Connected white regions, four neighbours; returns how many. */
int find_regions(const Image *im, Region *list, int max);

#endif
