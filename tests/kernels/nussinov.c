/* RNA secondary structure: maximal number of paired bases (dynamic programming over intervals). */
#include <stdio.h>

#ifndef N
#ifdef SMALL
#define N 260
#elif defined XLARGE
#define N 3600
#else
#define N 1500
#endif
#endif

#define MAX(a, b) ((a) >= (b) ? (a) : (b))

typedef unsigned char base;

static base seq[N];
static int table[N][N];

/* complementary bases sum to 3 */
static inline int match(base a, base b)
{
    return a + b == 3 ? 1 : 0;
}

static void nussinov(void)
{
    for (int i = N - 1; i >= 0; i--)
        for (int j = i + 1; j < N; j++) {
            if (j - 1 >= 0)
                table[i][j] = MAX(table[i][j], table[i][j - 1]);
            if (i + 1 < N)
                table[i][j] = MAX(table[i][j], table[i + 1][j]);
            if (j - 1 >= 0 && i + 1 < N) {
                if (i < j - 1)
                    table[i][j] = MAX(table[i][j], table[i + 1][j - 1] + match(seq[i], seq[j]));
                else
                    table[i][j] = MAX(table[i][j], table[i + 1][j - 1]);
            }
            for (int k = i + 1; k < j; k++)
                table[i][j] = MAX(table[i][j], table[i][k] + table[k + 1][j]);
        }
}

int main(void)
{
    unsigned s = 17u;
    long sum = 0;
    unsigned long long h = 14695981039346656037ULL;

    for (int i = 0; i < N; i++) {
        s = s * 1103515245u + 12345u;
        seq[i] = (base)(s >> 20 & 3u);
    }

    nussinov();

    for (int i = 0; i < N; i++)
        for (int j = i; j < N; j++) {
            sum += table[i][j];
            h = (h ^ (unsigned)table[i][j]) * 1099511628211ULL;
        }
    printf("%016llx %ld\n", h, sum);
    return 0;
}
