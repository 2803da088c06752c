#include <stdio.h>
#include <stdlib.h>
#include "align.h"

static void no_memory(void)
{
    fprintf(stderr, "dp-align: out of memory\n");
    exit(1);
}

/* rows pointing into one block */
int **table_new(int rows, int cols)
{
    int **t = (int **)malloc(rows * sizeof(int *));
    int i;

    if (!t)
        no_memory();
    t[0] = (int *)malloc((size_t)rows * cols * sizeof(int));
    if (!t[0])
        no_memory();
    for (i = 1; i < rows; i++)
        t[i] = t[i - 1] + cols;
    return t;
}

void table_free(int **t)
{
    free(t[0]);
    free(t);
}

char **dir_new(int rows, int cols)
{
    char **t = (char **)malloc(rows * sizeof(char *));
    int i;

    if (!t)
        no_memory();
    t[0] = (char *)malloc((size_t)rows * cols);
    if (!t[0])
        no_memory();
    for (i = 1; i < rows; i++)
        t[i] = t[i - 1] + cols;
    return t;
}

void dir_free(char **t)
{
    free(t[0]);
    free(t);
}
