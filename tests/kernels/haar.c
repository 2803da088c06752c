/* 2D Haar transform of a square image: on every level first the rows, then the columns. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifndef N
#ifdef SMALL
#define N 512 /* power of two */
#elif defined XLARGE
#define N 8192
#else
#define N 4096
#endif
#endif

static float img[N][N], tmp[N][N];

static void haar_2d(void)
{
    const float c = 0.70710678f;

    for (int len = N; len > 1; len /= 2) {
        for (int i = 0; i < len; i++)
            for (int j = 0; j < len; j += 2) {
                tmp[i][j / 2] = c * (img[i][j] + img[i][j + 1]);
                tmp[i][len / 2 + j / 2] = c * (img[i][j] - img[i][j + 1]);
            }
        for (int j = 0; j < len; j++)
            for (int i = 0; i < len / 2; i++) {
                img[i][j] = c * (tmp[2 * i][j] + tmp[2 * i + 1][j]);
                img[len / 2 + i][j] = c * (tmp[2 * i][j] - tmp[2 * i + 1][j]);
            }
    }
}

int main(void)
{
    uint32_t s = 31415u, w;
    uint64_t h = 14695981039346656037u;
    double sum = 0.0;

    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            s = s * 1664525u + 1013904223u;
            img[i][j] = (float)(s >> 24) + 0.25f;
        }

    haar_2d();

    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            sum += img[i][j];
            memcpy(&w, &img[i][j], sizeof w);
            h = (h ^ w) * 1099511628211u;
        }
    printf("%016llx %.17g\n", (unsigned long long)h, sum);
    return 0;
}
