#ifndef GRID_H
#define GRID_H

struct grid {
    int nx, ny, nz;
    double *p;
};

/* k runs fastest */
#define AT(g, i, j, k) \
    ((g)->p[((size_t)(i) * (g)->ny + (j)) * (g)->nz + (k)])
#define GRID_SIZE(g) ((size_t)(g)->nx * (g)->ny * (g)->nz)

int  grid_alloc(struct grid *g, int nx, int ny, int nz);
void grid_free(struct grid *g);
double grid_norm2(const struct grid *g);
double grid_max_abs(const struct grid *g);

#endif
