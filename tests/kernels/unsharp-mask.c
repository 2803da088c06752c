/* Unsharp mask on a three-channel image: separable 5-tap blur, then thresholded sharpening. */
#include <math.h>
#include <stdio.h>

#ifdef SMALL
#define SIZE(small, large, xlarge) (small)
#elif defined XLARGE
#define SIZE(small, large, xlarge) (xlarge)
#else
#define SIZE(small, large, xlarge) (large)
#endif
#ifndef ROWS
#define ROWS SIZE(300, 2000, 6200)
#endif
#ifndef COLS
#define COLS SIZE(360, 2400, 6200)
#endif
#define CH 3

static float in[CH][ROWS][COLS], blur_y[CH][ROWS][COLS], blur[CH][ROWS][COLS], out[CH][ROWS][COLS];

static void unsharp_mask(float weight, float threshold)
{
    int c, y, x;

    for (c = 0; c < CH; c++) {
        for (y = 2; y <= ROWS - 3; y++)
            for (x = 0; x <= COLS - 1; x++)
                blur_y[c][y][x] = (in[c][y - 2][x] + 4.0f * in[c][y - 1][x] + 6.0f * in[c][y][x]
                                   + 4.0f * in[c][y + 1][x] + in[c][y + 2][x]) * 0.0625f;
        for (y = 2; y <= ROWS - 3; y++)
            for (x = 2; x <= COLS - 3; x++)
                blur[c][y][x] = (blur_y[c][y][x - 2] + 4.0f * blur_y[c][y][x - 1]
                                 + 6.0f * blur_y[c][y][x] + 4.0f * blur_y[c][y][x + 1]
                                 + blur_y[c][y][x + 2]) * 0.0625f;
        for (y = 2; y <= ROWS - 3; y++)
            for (x = 2; x <= COLS - 3; x++) {
                float orig = in[c][y][x];
                float diff = orig - blur[c][y][x];
                out[c][y][x] = fabsf(diff) < threshold ? orig : orig + weight * diff;
            }
    }
}

int main(void)
{
    unsigned s = 1234567u;
    double sum = 0.0;
    unsigned long long h = 14695981039346656037ULL;
    const unsigned char *bytes = (const unsigned char *)out;

    for (int c = 0; c < CH; c++)
        for (int y = 0; y < ROWS; y++)
            for (int x = 0; x < COLS; x++) {
                s = s * 214013u + 2531011u;
                in[c][y][x] = (float)(s >> 16) / 65536.0f;
            }

    unsharp_mask(3.0f, 0.01f);

    for (int c = 0; c < CH; c++)
        for (int y = 0; y < ROWS; y++)
            for (int x = 0; x < COLS; x++)
                sum += out[c][y][x];
    for (size_t b = 0; b < sizeof out; b++)
        h = (h ^ bytes[b]) * 1099511628211ULL;
    printf("%016llx %.17g\n", h, sum);
    return 0;
}
