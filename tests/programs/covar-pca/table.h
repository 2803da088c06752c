#ifndef TABLE_H
#define TABLE_H

#include <stddef.h>
#include <stdio.h>

/* observations in rows, variables in columns; NaN where a value is missing */
typedef struct table {
    size_t rows, cols;
    double *x;
    char **name;
} table;

table *table_read(FILE *f);
table *table_generate(size_t rows, size_t cols, unsigned seed);
size_t table_impute(table *t);
void table_write(const table *t, FILE *f);
void table_free(table *t);

#endif
