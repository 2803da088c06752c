/* Daubechies-4 wavelet transform of every row of a matrix, all levels, periodic, repeated. */
#include <math.h>
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
#define ROWS SIZE(300, 5000, 16000)
#endif
#ifndef LEN
#define LEN SIZE(512, 4096, 8192) /* power of two */
#endif
#ifndef FRAMES
#define FRAMES SIZE(6, 4, 32)
#endif

/* One level: averages go to the lower half of a[0..n), details to the upper half. */
static void d4_step(double *a, int n)
{
    const double s3 = 1.7320508075688772, norm = 5.656854249492381;
    const double h0 = (1 + s3) / norm, h1 = (3 + s3) / norm;
    const double h2 = (3 - s3) / norm, h3 = (1 - s3) / norm;
    double tmp[LEN];
    const int half = n / 2;

    for (int j = 0; j < n - 2; j += 2) {
        tmp[j / 2] = a[j] * h0 + a[j + 1] * h1 + a[j + 2] * h2 + a[j + 3] * h3;
        tmp[j / 2 + half] = a[j] * h3 - a[j + 1] * h2 + a[j + 2] * h1 - a[j + 3] * h0;
    }
    tmp[half - 1] = a[n - 2] * h0 + a[n - 1] * h1 + a[0] * h2 + a[1] * h3;
    tmp[n - 1] = a[n - 2] * h3 - a[n - 1] * h2 + a[0] * h1 - a[1] * h0;

    for (int i = 0; i < n; i++)
        a[i] = tmp[i];
}

static void daubechies(int rows, int len, double *data)
{
    for (int r = 0; r < rows; r++)
        for (int n = len; n >= 4; n /= 2)
            d4_step(data + (size_t)r * len, n);
}

int main(void)
{
    const size_t count = (size_t)ROWS * LEN;
    double *data = malloc(count * sizeof *data);
    unsigned s = 55555u;
    unsigned long long h = 14695981039346656037ULL, word;
    double sum = 0.0;
    if (data == NULL)
        return 1;

    for (size_t i = 0; i < count; i++) {
        s = s * 1664525u + 1013904223u;
        data[i] = s / 4294967296.0 - 0.3;
    }

    for (int f = 0; f < FRAMES; f++)
        daubechies(ROWS, LEN, data);

    for (size_t i = 0; i < count; i++) {
        sum += fabs(data[i]);
        memcpy(&word, &data[i], sizeof word);
        h = (h ^ word) * 1099511628211ULL;
        h ^= h >> 31;
    }
    printf("%016llx %.17g\n", h, sum);
    free(data);
    return 0;
}
