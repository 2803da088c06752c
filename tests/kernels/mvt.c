/* x1 += A*y1 and x2 += A'*y2. */
#include <stdio.h>

#ifndef N
#ifdef SMALL
#define N 1000
#elif defined XLARGE
#define N 15000
#else
#define N 5900
#endif
#endif

static double A[N][N];
static double x1[N], x2[N], y1[N], y2[N];
static unsigned long long rng = 1ULL;

static double next_double(void)
{
    rng = rng * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(rng >> 40) / 16777216.0;
}

static void mvt(void)
{
    int i, j;
    for (i = 0; i < N; ++i)
        for (j = 0; j < N; ++j)
            x1[i] = x1[i] + A[i][j] * y1[j];
    for (i = 0; i < N; ++i)
        for (j = 0; j < N; ++j)
            x2[i] = x2[i] + A[j][i] * y2[j];
}

static unsigned long long add_hash(unsigned long long h, const void *p, size_t len)
{
    for (size_t i = 0; i < len; ++i)
        h = (h ^ ((const unsigned char *)p)[i]) * 1099511628211ULL;
    return h;
}

int main(void)
{
    double s1 = 0.0, s2 = 0.0;
    unsigned long long h = 14695981039346656037ULL;

    for (int i = 0; i < N; ++i) {
        x1[i] = next_double();
        x2[i] = next_double();
        y1[i] = next_double();
        y2[i] = next_double();
        for (int j = 0; j < N; ++j)
            A[i][j] = next_double() - 0.3;
    }

    mvt();

    for (int i = 0; i < N; ++i) {
        s1 += x1[i];
        s2 += x2[i];
    }
    h = add_hash(h, x1, sizeof x1);
    h = add_hash(h, x2, sizeof x2);
    printf("%016llx %.17g %.17g\n", h, s1, s2);
    return 0;
}
