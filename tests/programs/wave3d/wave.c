#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "wave.h"

#define MIN(a, b) ((a) < (b) ? (a) : (b))

/* Layers with a dipping interface and a slow lens. */
static double velocity(double x, double y, double z)
{
    double c = 1500.0;

    if (z > 0.35 + 0.15 * x)
        c = 2200.0;
    if (z > 0.7 - 0.1 * y)
        c = 3000.0;
    if ((x - 0.6) * (x - 0.6) + (y - 0.45) * (y - 0.45) + 4.0 * (z - 0.5) * (z - 0.5) < 0.02)
        c = 1800.0;
    return c;
}

static int distance_to_edge(int i, int n)
{
    return MIN(i, n - 1 - i);
}

int wave_init(struct wave *w, int nx, int ny, int nz, double h, int sponge)
{
    double cmax = 3000.0;

    for (int l = 0; l < 3; l++)
        if (!grid_alloc(&w->level[l], nx, ny, nz))
            return 0;
    if (!grid_alloc(&w->speed2, nx, ny, nz) || !grid_alloc(&w->damp, nx, ny, nz))
        return 0;
    w->prev = &w->level[0];
    w->now = &w->level[1];
    w->next = &w->level[2];
    w->h = h;
    w->dt = 0.45 * h / cmax;
    w->time = 0.0;
    w->step = 0;
    w->sponge = sponge;
    w->frequency = 1500.0 / (8.0 * h);
    w->si = nx / 2;
    w->sj = ny / 2;
    w->sk = nz / 6;

    #pragma omp parallel for
    for (int i = 0; i < nx; i++)
        for (int j = 0; j < ny; j++)
            for (int k = 0; k < nz; k++) {
                double r = velocity((double)i / nx, (double)j / ny, (double)k / nz) * w->dt / h;
                int d = MIN(distance_to_edge(i, nx), distance_to_edge(j, ny));

                d = MIN(d, distance_to_edge(k, nz));
                AT(&w->speed2, i, j, k) = r * r;
                if (d < sponge) {
                    double s = 0.08 * (double)(sponge - d) / sponge;
                    AT(&w->damp, i, j, k) = exp(-s * s * 20.0);
                } else {
                    AT(&w->damp, i, j, k) = 1.0;
                }
            }

    /* a line of receivers along x, near the top */
    w->receivers = MIN(MAX_RECEIVERS, nx / 8);
    for (int r = 0; r < w->receivers; r++) {
        w->rec[r] = (struct receiver){
            .i = (r + 1) * nx / (w->receivers + 1), .j = ny / 2, .k = nz / 8
        };
    }
    return 1;
}

void wave_free(struct wave *w)
{
    for (int l = 0; l < 3; l++)
        grid_free(&w->level[l]);
    grid_free(&w->speed2);
    grid_free(&w->damp);
}

static double ricker(double t, double f)
{
    double a = M_PI * f * (t - 1.2 / f);

    return (1.0 - 2.0 * a * a) * exp(-a * a);
}

static void update(struct wave *w)
{
    struct grid *prev = w->prev, *now = w->now, *next = w->next;
    const double c0 = -5.0 / 2.0, c1 = 4.0 / 3.0, c2 = -1.0 / 12.0;

    #pragma omp parallel for
    for (int i = HALO; i < now->nx - HALO; i++)
        for (int j = HALO; j < now->ny - HALO; j++)
            for (int k = HALO; k < now->nz - HALO; k++) {
                double lap = 3.0 * c0 * AT(now, i, j, k)
                    + c1 * (AT(now, i - 1, j, k) + AT(now, i + 1, j, k)
                          + AT(now, i, j - 1, k) + AT(now, i, j + 1, k)
                          + AT(now, i, j, k - 1) + AT(now, i, j, k + 1))
                    + c2 * (AT(now, i - 2, j, k) + AT(now, i + 2, j, k)
                          + AT(now, i, j - 2, k) + AT(now, i, j + 2, k)
                          + AT(now, i, j, k - 2) + AT(now, i, j, k + 2));

                AT(next, i, j, k) = 2.0 * AT(now, i, j, k) - AT(prev, i, j, k)
                                  + AT(&w->speed2, i, j, k) * lap;
            }
}

/* The sponge acts on two levels, in the cells near the boundary only. */
static void absorb(struct wave *w)
{
    struct grid *now = w->now, *next = w->next;
    int nx = now->nx, ny = now->ny, nz = now->nz, s = w->sponge;

    #pragma omp parallel for
    for (int i = 0; i < nx; i++) {
        for (int j = 0; j < ny; j++) {
            int whole = i < s || i >= nx - s || j < s || j >= ny - s;

            for (int k = 0; k < nz; k++) {
                if (!whole && k == s)
                    k = nz - s;
                AT(now, i, j, k) *= AT(&w->damp, i, j, k);
                AT(next, i, j, k) *= AT(&w->damp, i, j, k);
            }
        }
    }
}

static void listen(struct wave *w)
{
    for (int r = 0; r < w->receivers; r++) {
        struct receiver *rec = &w->rec[r];
        double v = AT(w->now, rec->i, rec->j, rec->k);

        rec->energy += v * v * w->dt;
        if (fabs(v) > fabs(rec->peak)) {
            rec->peak = v;
            rec->peak_step = w->step;
        }
    }
}

void wave_step(struct wave *w)
{
    update(w);
    AT(w->next, w->si, w->sj, w->sk) += w->dt * w->dt * 1e6 * ricker(w->time, w->frequency);
    absorb(w);

    struct grid *oldest = w->prev;
    w->prev = w->now;
    w->now = w->next;
    w->next = oldest;
    w->time += w->dt;
    w->step++;
    listen(w);
}

/* Kinetic part from two levels, strain part from the gradient. */
double wave_energy(const struct wave *w)
{
    const struct grid *now = w->now, *prev = w->prev;
    double kinetic = 0.0, strain = 0.0;

    #pragma omp parallel for reduction(+:kinetic, strain)
    for (int i = HALO; i < now->nx - HALO; i++)
        for (int j = HALO; j < now->ny - HALO; j++)
            for (int k = HALO; k < now->nz - HALO; k++) {
                double v = AT(now, i, j, k) - AT(prev, i, j, k);
                double gx = AT(now, i + 1, j, k) - AT(now, i, j, k);
                double gy = AT(now, i, j + 1, k) - AT(now, i, j, k);
                double gz = AT(now, i, j, k + 1) - AT(now, i, j, k);

                kinetic += v * v / AT(&w->speed2, i, j, k);
                strain += gx * gx + gy * gy + gz * gz;
            }
    return 0.5 * (kinetic + strain);
}
