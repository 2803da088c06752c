#include <stdio.h>
#include <stdlib.h>

#include "fft.h"
#include "phase.h"

struct field {
    size_t n;
    double length;              /* side of the square */
    double epsilon2;            /* width of the interface, squared */
    double mobility;
    struct complex *c;          /* concentration, then its transform */
    struct complex *g;          /* bulk chemical potential, its transform */
    struct complex *scratch;
    double *k2;                 /* squared wave number, per axis */
};

static int field_create(struct field *f, size_t n)
{
    f->n = n;
    f->length = 0.5 * (double)n;
    f->epsilon2 = 0.5;
    f->mobility = 1.0;
    f->c = malloc(n * n * sizeof *f->c);
    f->g = malloc(n * n * sizeof *f->g);
    f->scratch = malloc(n * n * sizeof *f->scratch);
    f->k2 = malloc(n * sizeof *f->k2);
    if (!f->c || !f->g || !f->scratch || !f->k2)
        return -1;
    for (size_t i = 0; i < n; i++) {
        double m = i <= n / 2 ? (double)i : (double)i - (double)n;
        double k = 2.0 * M_PI * m / f->length;
        f->k2[i] = k * k;
    }
    return 0;
}

static void field_destroy(struct field *f)
{
    free(f->c);
    free(f->g);
    free(f->scratch);
    free(f->k2);
}

static void field_init(struct field *f, double mean)
{
    unsigned s = 2024u;

    for (size_t i = 0; i < f->n; i++) {
        for (size_t j = 0; j < f->n; j++) {
            s = s * 1664525u + 1013904223u;
            f->c[i * f->n + j].re = mean + 0.1 * ((double)(s >> 8) / 16777216.0 - 0.5);
            f->c[i * f->n + j].im = 0.0;
        }
    }
}

/* Double well: F(c) = (1 - c^2)^2 / 4 */
static double bulk_energy(double c)
{
    double q = 1.0 - c * c;
    return 0.25 * q * q;
}

static void step(const struct fft_plan *plan, struct field *f, double dt)
{
    size_t n = f->n;

    #pragma omp parallel for
    for (size_t p = 0; p < n * n; p++) {
        double c = f->c[p].re;
        f->g[p] = cnum(c * c * c - c, 0.0);
    }
    fft2d(plan, f->c, f->scratch, FFT_FORWARD);
    fft2d(plan, f->g, f->scratch, FFT_FORWARD);

    #pragma omp parallel for
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            double k2 = f->k2[i] + f->k2[j];
            double below = 1.0 + dt * f->mobility * f->epsilon2 * k2 * k2;
            struct complex *c = &f->c[i * n + j];
            struct complex g = f->g[i * n + j];

            *c = cscale(1.0 / below, csub(*c, cscale(dt * f->mobility * k2, g)));
        }
    }
    fft2d(plan, f->c, f->scratch, FFT_INVERSE);
    #pragma omp parallel for
    for (size_t p = 0; p < n * n; p++)
        f->c[p].im = 0.0;
}

static void report(const struct field *f, int istep, double t)
{
    size_t n = f->n;
    double h = f->length / (double)n;
    double sum = 0.0, energy = 0.0, square = 0.0;

    #pragma omp parallel for reduction(+:sum, energy, square)
    for (size_t i = 0; i < n; i++) {
        size_t down = (i + 1) % n;
        for (size_t j = 0; j < n; j++) {
            size_t right = (j + 1) % n;
            double c = f->c[i * n + j].re;
            double gx = (f->c[i * n + right].re - c) / h;
            double gy = (f->c[down * n + j].re - c) / h;

            sum += c;
            square += c * c;
            energy += bulk_energy(c) + 0.5 * f->epsilon2 * (gx * gx + gy * gy);
        }
    }
    double mean = sum / (double)(n * n);
    printf("  step %4d t %-7g mean %.10g variance %.10g energy %.10g\n", istep, t,
           mean, square / (double)(n * n) - mean * mean, energy * h * h);
}

/* Mean wave number of the pattern: it falls as the domains grow. */
static double mean_wave_number(const struct fft_plan *plan, struct field *f)
{
    size_t n = f->n;
    double weight = 0.0, weighted = 0.0;

    for (size_t p = 0; p < n * n; p++)
        f->g[p] = f->c[p];
    fft2d(plan, f->g, f->scratch, FFT_FORWARD);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            if (i == 0 && j == 0)
                continue;
            double s = cabs2(f->g[i * n + j]);
            weight += s;
            weighted += s * sqrt(f->k2[i] + f->k2[j]);
        }
    return weighted / weight;
}

int phase_separation(size_t n, int steps)
{
    struct fft_plan plan;
    struct field f;
    double dt = 0.1;

    if (fft_plan_create(&plan, n) != 0)
        return -1;
    if (field_create(&f, n) != 0) {
        field_destroy(&f);
        fft_plan_destroy(&plan);
        return -1;
    }
    printf("alloy: %zu x %zu points, %d steps\n", n, n, steps);
    field_init(&f, 0.15);
    report(&f, 0, 0.0);
    for (int s = 1; s <= steps; s++) {
        step(&plan, &f, dt);
        if (s % 10 == 0 || s == steps)
            report(&f, s, s * dt);
    }
    printf("  mean wave number %.10g\n", mean_wave_number(&plan, &f));
    field_destroy(&f);
    fft_plan_destroy(&plan);
    return 0;
}
