/* Row-wise softmax with maximum subtraction, in place. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef SMALL
#define SIZE(small, large, xlarge) (small)
#elif defined XLARGE
#define SIZE(small, large, xlarge) (xlarge)
#else
#define SIZE(small, large, xlarge) (large)
#endif
#ifndef ROWS
#define ROWS SIZE(500, 12000, 50000)
#endif
#ifndef COLS
#define COLS SIZE(700, 2500, 19000)
#endif

static inline float maxf(float a, float b)
{
    return a > b ? a : b;
}

static void softmax(size_t rows, size_t cols, float *x)
{
    for (size_t i = 0; i < rows; i++) {
        float top = x[i * cols];
        for (size_t j = 1; j < cols; j++)
            top = maxf(top, x[i * cols + j]);

        float total = 0.0f;
        for (size_t j = 0; j < cols; j++) {
            x[i * cols + j] = expf(x[i * cols + j] - top);
            total += x[i * cols + j];
        }
        for (size_t j = 0; j < cols; j++)
            x[i * cols + j] /= total;
    }
}

int main(void)
{
    const size_t count = (size_t)ROWS * COLS;
    float *x = malloc(count * sizeof *x);
    uint32_t s = 123u, w;
    uint64_t h = 14695981039346656037u;
    double sum = 0.0;
    if (x == NULL)
        return 1;

    for (size_t i = 0; i < count; i++) {
        s = s * 1664525u + 1013904223u;
        x[i] = (float)(s >> 8) / 1048576.0f - 8.0f;
    }

    softmax(ROWS, COLS, x);

    for (size_t i = 0; i < count; i++) {
        sum += x[i] * (double)(i % 10);
        memcpy(&w, &x[i], sizeof w);
        h = (h ^ w) * 1099511628211u;
    }
    printf("%016llx %.17g\n", (unsigned long long)h, sum);
    free(x);
    return 0;
}
