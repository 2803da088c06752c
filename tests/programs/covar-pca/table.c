#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

static void *grow(void *p, size_t bytes)
{
    p = realloc(p, bytes ? bytes : 1);
    if (p == NULL) {
        fputs("covar-pca: out of memory\n", stderr);
        exit(EXIT_FAILURE);
    }
    return p;
}

/* first line: names; then one line of numbers per observation, "NA" or "?"
   for a missing one; lines that start with # are skipped */
table *table_read(FILE *f)
{
    table *t = grow(NULL, sizeof *t);
    size_t room = 0, line_no = 0, cap = 0;
    char *line = NULL, *save, *word;

    memset(t, 0, sizeof *t);
    while (getline(&line, &cap, f) != -1) {
        line_no++;
        char *p = line;

        while (isspace((unsigned char)*p))
            p++;
        if (*p == '\0' || *p == '#')
            continue;
        if (t->cols == 0) {
            for (word = strtok_r(p, " \t\r\n", &save); word; word = strtok_r(NULL, " \t\r\n", &save)) {
                t->name = grow(t->name, (t->cols + 1) * sizeof *t->name);
                t->name[t->cols] = grow(NULL, strlen(word) + 1);
                strcpy(t->name[t->cols], word);
                t->cols++;
            }
            continue;
        }
        if (t->rows == room) {
            room = room ? 2 * room : 64;
            t->x = grow(t->x, room * t->cols * sizeof *t->x);
        }
        size_t c = 0;
        for (word = strtok_r(p, " \t\r\n", &save); word && c < t->cols; word = strtok_r(NULL, " \t\r\n", &save)) {
            double v;

            if (strcmp(word, "NA") == 0 || strcmp(word, "?") == 0) {
                v = NAN;
            } else {
                char *end;
                v = strtod(word, &end);
                if (*end != '\0') {
                    fprintf(stderr, "covar-pca: line %zu: %s is no number\n", line_no, word);
                    exit(EXIT_FAILURE);
                }
            }
            t->x[t->rows * t->cols + c++] = v;
        }
        if (c < t->cols) {
            fprintf(stderr, "covar-pca: line %zu has %zu of %zu columns\n", line_no, c, t->cols);
            exit(EXIT_FAILURE);
        }
        t->rows++;
    }
    free(line);
    return t;
}

static uint32_t rnd_state;

static double rnd(void)
{
    rnd_state ^= rnd_state << 13;
    rnd_state ^= rnd_state >> 17;
    rnd_state ^= rnd_state << 5;
    return rnd_state / 4294967296.0;
}

static double rnd_bell(void)
{
    double s = 0.0;

    for (int k = 0; k < 8; k++)
        s += rnd();
    return (s - 4.0) * 1.22474487139;
}

/* a few hidden factors, noise, and one value in five hundred missing */
table *table_generate(size_t rows, size_t cols, unsigned seed)
{
    table *t = grow(NULL, sizeof *t);
    size_t factors = cols / 6 + 2;
    double *load = grow(NULL, factors * cols * sizeof *load);
    double *score = grow(NULL, factors * sizeof *score);

    t->rows = rows;
    t->cols = cols;
    t->x = grow(NULL, rows * cols * sizeof *t->x);
    t->name = grow(NULL, cols * sizeof *t->name);
    rnd_state = 2463534242u + seed * 7919u;
    if (rnd_state == 0)
        rnd_state = 1;
    for (size_t c = 0; c < cols; c++) {
        t->name[c] = grow(NULL, 16);
        snprintf(t->name[c], 16, "v%04zu", (c + 1) % 10000);
    }
    for (size_t f = 0; f < factors; f++)
        for (size_t c = 0; c < cols; c++)
            load[f * cols + c] = rnd_bell() / (1.0 + 0.6 * f);
    for (size_t r = 0; r < rows; r++) {
        for (size_t f = 0; f < factors; f++)
            score[f] = rnd_bell();
        for (size_t c = 0; c < cols; c++) {
            double v = 10.0 + 0.1 * c + 0.4 * rnd_bell();
            for (size_t f = 0; f < factors; f++)
                v += score[f] * load[f * cols + c];
            t->x[r * cols + c] = rnd() < 0.002 ? NAN : v;
        }
    }
    free(load);
    free(score);
    return t;
}

/* puts the mean of its column in the place of a missing value */
size_t table_impute(table *t)
{
    size_t filled = 0;

#pragma omp parallel for reduction(+ : filled)
    for (size_t c = 0; c < t->cols; c++) {
        double sum = 0.0;
        size_t n = 0;

        for (size_t r = 0; r < t->rows; r++)
            if (!isnan(t->x[r * t->cols + c])) {
                sum += t->x[r * t->cols + c];
                n++;
            }
        if (n == t->rows)
            continue;
        for (size_t r = 0; r < t->rows; r++)
            if (isnan(t->x[r * t->cols + c])) {
                t->x[r * t->cols + c] = n ? sum / n : 0.0;
                filled++;
            }
    }
    return filled;
}

void table_write(const table *t, FILE *f)
{
    for (size_t c = 0; c < t->cols; c++)
        fprintf(f, "%s%c", t->name[c], c + 1 < t->cols ? ' ' : '\n');
    for (size_t r = 0; r < t->rows; r++)
        for (size_t c = 0; c < t->cols; c++) {
            double v = t->x[r * t->cols + c];
            if (isnan(v))
                fputs("NA", f);
            else
                fprintf(f, "%.4f", v);
            fputc(c + 1 < t->cols ? ' ' : '\n', f);
        }
}

void table_free(table *t)
{
    for (size_t c = 0; c < t->cols; c++)
        free(t->name[c]);
    free(t->name);
    free(t->x);
    free(t);
}
