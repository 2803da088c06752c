/* Sparse (CSR) times dense matrix: C = S * B. */
#include <stdio.h>

#ifdef SMALL
#define SIZE(small, large, xlarge) (small)
#elif defined XLARGE
#define SIZE(small, large, xlarge) (xlarge)
#else
#define SIZE(small, large, xlarge) (large)
#endif
#ifndef ROWS
#define ROWS SIZE(1500, 20000, 160000)
#endif
#ifndef COLS
#define COLS SIZE(900, 18000, 120000)
#endif
#ifndef NJ
#define NJ SIZE(64, 256, 512)
#endif
#define MAX_PER_ROW 80

static int rowptr[ROWS + 1];
static int col[ROWS * MAX_PER_ROW];
static double val[ROWS * MAX_PER_ROW];
static double B[COLS][NJ];
static double C[ROWS][NJ];

static unsigned long long state = 88172645463325252ULL;

static unsigned next(void)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(state >> 33);
}

/* Every row gets between 1 and MAX_PER_ROW entries with increasing columns. */
static void build(void)
{
    int nnz = 0;
    for (int i = 0; i < ROWS; i++) {
        int count = 1 + (int)(next() % MAX_PER_ROW);
        int stride = COLS / count;
        rowptr[i] = nnz;
        for (int q = 0; q < count; q++) {
            col[nnz] = q * stride + (int)(next() % (unsigned)stride);
            val[nnz] = next() / 2147483648.0 - 0.5;
            nnz++;
        }
    }
    rowptr[ROWS] = nnz;
    for (int i = 0; i < COLS; i++)
        for (int j = 0; j < NJ; j++)
            B[i][j] = next() / 2147483648.0;
}

static void spmm(void)
{
    for (int i = 0; i < ROWS; i++)
        for (int p = rowptr[i]; p < rowptr[i + 1]; p++)
            for (int j = 0; j < NJ; j++)
                C[i][j] += val[p] * B[col[p]][j];
}

int main(void)
{
    double sum = 0.0;
    unsigned long long h = 14695981039346656037ULL;
    const unsigned char *bytes = (const unsigned char *)C;

    build();
    spmm();

    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < NJ; j++)
            sum += C[i][j];
    for (size_t b = 0; b < sizeof C; b++)
        h = (h ^ bytes[b]) * 1099511628211ULL;
    printf("%016llx %.17g\n", h, sum);
    return 0;
}
