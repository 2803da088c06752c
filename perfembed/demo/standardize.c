/* Columns of a table brought to mean 0 and variance 1: walked column by column, though memory holds it row by row. */
#include <math.h>
#include <stdio.h>

#define ROWS 6000
#define COLUMNS 2000

static double table[ROWS][COLUMNS], mean[COLUMNS], deviation[COLUMNS];

static void standardize(void)
{
    for (int j = 0; j < COLUMNS; j++) {
        mean[j] = 0.0;
        for (int i = 0; i < ROWS; i++)
            mean[j] += table[i][j];
        mean[j] /= ROWS;
        deviation[j] = 0.0;
        for (int i = 0; i < ROWS; i++)
            deviation[j] += (table[i][j] - mean[j]) * (table[i][j] - mean[j]);
        deviation[j] = sqrt(deviation[j] / ROWS);
        for (int i = 0; i < ROWS; i++)
            table[i][j] = (table[i][j] - mean[j]) / deviation[j];
    }
}

int main(void)
{
    double sum = 0.0;

    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            table[i][j] = (i * 13 + j * 29) % 97 * (1.0 + j % 10);
    standardize();
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            sum += table[i][j] * ((i + j) % 3);
    printf("%.9g\n", sum); /* what compilers fuse into one rounding differs beyond that */
    return 0;
}
