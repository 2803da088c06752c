/* A matrix product as a textbook writes it: every element is fetched again and again, and none is kept at hand. */
#include <stdio.h>

#define N 1200

static double A[N][N], B[N][N], C[N][N];

static void multiply(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            C[i][j] = 0.0;
            for (int k = 0; k < N; k++)
                C[i][j] += A[i][k] * B[k][j];
        }
}

int main(void)
{
    double sum = 0.0;

    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            A[i][j] = (i * 7 + j * 3) % 11 * 0.25 - 1.0;
            B[i][j] = (i * 5 + j * 2) % 13 * 0.5 - 3.0;
        }
    multiply();
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            sum += C[i][j] * ((i + 2 * j) % 5);
    printf("%.17g\n", sum);
    return 0;
}
