#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "heatrod.h"

double *field_new(int n, double value)
{
    double *f = malloc((size_t)n * sizeof(double));
    int k;

    if (f == NULL) {
        fprintf(stderr, "heatrod: out of memory\n");
        exit(EXIT_FAILURE);
    }
    for (k = 0; k < n; k++)
        f[k] = value;
    return f;
}

void field_copy(double *dst, const double *src, int n)
{
    memcpy(dst, src, (size_t)n * sizeof(double));
}
