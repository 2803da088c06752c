/* Three matrix products G = (A*B)*(C*D), one helper called three times, j-i-k order. */
#include <stdio.h>

#ifdef SMALL
#define SIZE(small, large, xlarge) (small)
#elif defined XLARGE
#define SIZE(small, large, xlarge) (xlarge)
#else
#define SIZE(small, large, xlarge) (large)
#endif
#ifndef NI
#define NI SIZE(100, 540, 1080)
#endif
#ifndef NJ
#define NJ SIZE(110, 600, 1200)
#endif
#ifndef NK
#define NK SIZE(120, 660, 1320)
#endif
#ifndef NL
#define NL SIZE(130, 720, 1440)
#endif
#ifndef NM
#define NM SIZE(90, 620, 1240)
#endif

static double A[NI][NK], B[NK][NJ], C[NJ][NM], D[NM][NL];
static double E[NI][NJ], F[NJ][NL], G[NI][NL];

static void fill(int n, int m, double X[n][m], unsigned s)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            s = s * 22695477u + 1u;
            X[i][j] = (s >> 12) / 1048576.0 - 0.4;
        }
}

/* Z = X * Y with X n-by-p and Y p-by-m */
static void matmul(int n, int m, int p, double Z[restrict n][m],
                   double X[restrict n][p], double Y[restrict p][m])
{
    for (int j = 0; j < m; j++)
        for (int i = 0; i < n; i++) {
            double dot = 0.0;
            for (int k = 0; k < p; k++)
                dot += X[i][k] * Y[k][j];
            Z[i][j] = dot;
        }
}

int main(void)
{
    double sum = 0.0;
    unsigned long long h = 14695981039346656037ULL;
    const unsigned char *bytes = (const unsigned char *)G;

    fill(NI, NK, A, 10u);
    fill(NK, NJ, B, 20u);
    fill(NJ, NM, C, 30u);
    fill(NM, NL, D, 40u);

    matmul(NI, NJ, NK, E, A, B);
    matmul(NJ, NL, NM, F, C, D);
    matmul(NI, NL, NJ, G, E, F);

    for (int i = 0; i < NI; i++)
        for (int j = 0; j < NL; j++)
            sum += G[i][j];
    for (size_t q = 0; q < sizeof G; q++)
        h = (h ^ bytes[q]) * 1099511628211ULL;
    printf("%016llx %.17g\n", h, sum);
    return 0;
}
