#include <stdlib.h>
#include "fft.h"

#define BLOCK 16

int fft_plan_create(struct fft_plan *plan, size_t n)
{
    plan->n = n;
    plan->log2n = 0;
    while (((size_t)1 << plan->log2n) < n)
        plan->log2n++;
    if (((size_t)1 << plan->log2n) != n || n < 2)
        return -1;

    plan->reversed = malloc(n * sizeof *plan->reversed);
    plan->root = malloc(n / 2 * sizeof *plan->root);
    if (!plan->reversed || !plan->root) {
        free(plan->reversed);
        free(plan->root);
        return -1;
    }

    for (size_t i = 0; i < n; i++) {
        size_t r = 0, v = i;
        for (int b = 0; b < plan->log2n; b++) {
            r = (r << 1) | (v & 1);
            v >>= 1;
        }
        plan->reversed[i] = r;
    }
    for (size_t k = 0; k < n / 2; k++) {
        double angle = -2.0 * M_PI * (double)k / (double)n;
        plan->root[k] = cnum(cos(angle), sin(angle));
    }
    return 0;
}

void fft_plan_destroy(struct fft_plan *plan)
{
    free(plan->reversed);
    free(plan->root);
    plan->reversed = NULL;
    plan->root = NULL;
}

static void butterfly(struct complex *a, struct complex *b, struct complex w)
{
    struct complex t = cmul(w, *b);

    *b = csub(*a, t);
    *a = cadd(*a, t);
}

void fft(const struct fft_plan *plan, struct complex *x,
         enum fft_direction dir)
{
    size_t n = plan->n;

    for (size_t i = 0; i < n; i++) {
        size_t r = plan->reversed[i];
        if (i < r) {
            struct complex t = x[i];
            x[i] = x[r];
            x[r] = t;
        }
    }

    for (size_t half = 1; half < n; half *= 2) {
        size_t stride = n / (2 * half);

        for (size_t base = 0; base < n; base += 2 * half) {
            for (size_t k = 0; k < half; k++) {
                struct complex w = plan->root[k * stride];

                if (dir == FFT_INVERSE)
                    w = cconj(w);
                butterfly(&x[base + k], &x[base + k + half], w);
            }
        }
    }

    if (dir == FFT_INVERSE) {
        for (size_t i = 0; i < n; i++)
            x[i] = cscale(1.0 / (double)n, x[i]);
    }
}

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void transpose(size_t n, const struct complex *in, struct complex *out)
{
    #pragma omp parallel for
    for (size_t ib = 0; ib < n; ib += BLOCK) {
        size_t iend = min_size(ib + BLOCK, n);
        for (size_t jb = 0; jb < n; jb += BLOCK) {
            size_t jend = min_size(jb + BLOCK, n);
            for (size_t i = ib; i < iend; i++)
                for (size_t j = jb; j < jend; j++)
                    out[j * n + i] = in[i * n + j];
        }
    }
}

void fft2d(const struct fft_plan *plan, struct complex *x,
           struct complex *scratch, enum fft_direction dir)
{
    size_t n = plan->n;

    #pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        fft(plan, x + i * n, dir);
    transpose(n, x, scratch);
    #pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        fft(plan, scratch + i * n, dir);
    transpose(n, scratch, x);
}
