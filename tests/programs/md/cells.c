/* cells.c - linked cells */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "md.h"

int ncell;
int *head, *next;

void cells_init(void)
{
    ncell = (int)(box / rcut);
    if (ncell < 1)
        ncell = 1;
    head = malloc((size_t)ncell * ncell * ncell * sizeof(int));
    if (!head) {
        fprintf(stderr, "md: out of memory\n");
        exit(1);
    }
}

static int cell_of(const real *p)
{
    int c[DIM], d;

    for (d = 0; d < DIM; d++) {
        c[d] = (int)(p[d] / box * ncell);
        if (c[d] >= ncell)      /* by rounding */
            c[d] = ncell - 1;
    }
    return (c[0] * ncell + c[1]) * ncell + c[2];
}

void cells_fill(void)
{
    int i, c;

    for (c = 0; c < ncell * ncell * ncell; c++)
        head[c] = -1;
    for (i = natoms - 1; i >= 0; i--) {
        c = cell_of(pos + DIM * i);
        next[i] = head[c];
        head[c] = i;
    }
}

/* renumbers the atoms so that those of one cell lie together */
void cells_sort_atoms(void)
{
    size_t bytes = (size_t)DIM * natoms * sizeof(real);
    real *p = malloc(bytes), *v = malloc(bytes);
    int n = 0, c, i;

    if (!p || !v) {
        fprintf(stderr, "md: out of memory\n");
        exit(1);
    }
    cells_fill();
    for (c = 0; c < ncell * ncell * ncell; c++) {
        i = head[c];
        while (i >= 0) {
            memcpy(p + DIM * n, pos + DIM * i, DIM * sizeof(real));
            memcpy(v + DIM * n, vel + DIM * i, DIM * sizeof(real));
            n++;
            i = next[i];
        }
    }
    memcpy(pos, p, bytes);
    memcpy(vel, v, bytes);
    free(p);
    free(v);
    cells_fill();
}
