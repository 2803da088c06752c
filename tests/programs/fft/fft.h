#ifndef FFT_H
#define FFT_H

#include <stddef.h>
#include "complex.h"

/* A plan for transforms of one length, a power of two. */
struct fft_plan {
    size_t n;
    int log2n;
    size_t *reversed;           /* bit reversal */
    struct complex *root;       /* exp(-2 pi i k / n), k < n/2 */
};

enum fft_direction { FFT_FORWARD, FFT_INVERSE };

int  fft_plan_create(struct fft_plan *plan, size_t n);
void fft_plan_destroy(struct fft_plan *plan);

/* In place; the inverse divides by n. */
void fft(const struct fft_plan *plan, struct complex *x,
         enum fft_direction dir);

/* n x n, by rows, a transposition, and rows again. */
void fft2d(const struct fft_plan *plan, struct complex *x,
           struct complex *scratch, enum fft_direction dir);

#endif
