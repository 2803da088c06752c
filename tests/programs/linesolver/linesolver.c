/*
 * linesolver - two species that react and diffuse in a box, by an
 * alternating-direction implicit scheme (Douglas).
 *
 *     linesolver nx ny nz steps
 *
 *     du/dt = div(Du grad u) + a - (b + 1) u + u^2 v
 *     dv/dt = div(Dv grad v)     + b u       - u^2 v       (Brusselator)
 *
 * The diffusivity varies in space; no flux through the walls.  Each half
 * step solves tridiagonal systems along all the lines of one direction.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#else
#include <time.h>
#endif

#define MAXLINE 1024

static int nx, ny, nz;                  /* x is the fastest index */
static int sx, sy, sz;                  /* strides */
static double dx = 0.5;

static double *u, *v;                   /* concentrations */
static double *rhs, *delta;             /* work */
static double *dif;                     /* relative diffusivity, in cells */

static const double Du = 0.3, Dv = 1.6;
static const double A = 1.0, B = 2.2;

static double wtime(void)
{
#ifdef _OPENMP
    return omp_get_wtime();
#else
    return (double) clock() / CLOCKS_PER_SEC;
#endif
}

static double *new_field(void)
{
    double *p = calloc((size_t) nx * ny * nz, sizeof(double));

    if (!p) {
        fprintf(stderr, "linesolver: out of memory\n");
        exit(1);
    }
    return p;
}

/* ---- lines ------------------------------------------------------------- */

/*
 * Solves a tridiagonal system along a line.  a, b, c are the lower, main and
 * upper diagonals (dense, n long; c is overwritten); x has the right-hand
 * side and becomes the solution, its elements `stride` apart.
 */
static void solve_line(const double *a, const double *b, double *c,
                       double *x, int n, int stride)
{
    int i;
    double m;

    c[0] = c[0] / b[0];
    x[0] = x[0] / b[0];
    for (i = 1; i < n; i++) {
        m = 1.0 / (b[i] - a[i] * c[i - 1]);
        c[i] = c[i] * m;
        x[i * stride] = (x[i * stride] - a[i] * x[(i - 1) * stride]) * m;
    }
    for (i = n - 2; i >= 0; i--)
        x[i * stride] -= c[i] * x[(i + 1) * stride];
}

/* Diagonals of 1 - w d/ds(dif d/ds) along a line; k is dif on that line. */
static void line_matrix(const double *k, int n, int stride, double w,
                        double *a, double *b, double *c)
{
    int i;

    for (i = 0; i < n; i++) {
        double lower = 0.0, upper = 0.0;

        if (i > 0)
            lower = 0.5 * w * (k[i * stride] + k[(i - 1) * stride]);
        if (i < n - 1)
            upper = 0.5 * w * (k[i * stride] + k[(i + 1) * stride]);
        a[i] = -lower;
        b[i] = 1.0 + lower + upper;
        c[i] = -upper;
    }
}

static void sweep_x(double *f, double w)
{
    int j, k;
    double a[MAXLINE], b[MAXLINE], c[MAXLINE];

#pragma omp parallel for private(j, a, b, c)
    for (k = 0; k < nz; k++)
        for (j = 0; j < ny; j++) {
            int p = k * sz + j * sy;

            line_matrix(dif + p, nx, sx, w, a, b, c);
            solve_line(a, b, c, f + p, nx, sx);
        }
}

static void sweep_y(double *f, double w)
{
    int i, k;
    double a[MAXLINE], b[MAXLINE], c[MAXLINE];

#pragma omp parallel for private(i, a, b, c)
    for (k = 0; k < nz; k++)
        for (i = 0; i < nx; i++) {
            int p = k * sz + i;

            line_matrix(dif + p, ny, sy, w, a, b, c);
            solve_line(a, b, c, f + p, ny, sy);
        }
}

static void sweep_z(double *f, double w)
{
    int i, j;
    double a[MAXLINE], b[MAXLINE], c[MAXLINE];

#pragma omp parallel for private(i, a, b, c)
    for (j = 0; j < ny; j++)
        for (i = 0; i < nx; i++) {
            int p = j * sy + i;

            line_matrix(dif + p, nz, sz, w, a, b, c);
            solve_line(a, b, c, f + p, nz, sz);
        }
}

/* ---- explicit part ------------------------------------------------------ */

/* div(dif grad f) / dx^2 at one cell */
static double diffuse(const double *f, int i, int j, int k)
{
    int p = k * sz + j * sy + i * sx;
    double s = 0.0;

    if (i > 0)
        s += 0.5 * (dif[p] + dif[p - sx]) * (f[p - sx] - f[p]);
    if (i < nx - 1)
        s += 0.5 * (dif[p] + dif[p + sx]) * (f[p + sx] - f[p]);
    if (j > 0)
        s += 0.5 * (dif[p] + dif[p - sy]) * (f[p - sy] - f[p]);
    if (j < ny - 1)
        s += 0.5 * (dif[p] + dif[p + sy]) * (f[p + sy] - f[p]);
    if (k > 0)
        s += 0.5 * (dif[p] + dif[p - sz]) * (f[p - sz] - f[p]);
    if (k < nz - 1)
        s += 0.5 * (dif[p] + dif[p + sz]) * (f[p + sz] - f[p]);
    return s / (dx * dx);
}

/*
 * Douglas in delta form:
 *   (1 - dt/2 Lx)(1 - dt/2 Ly)(1 - dt/2 Lz) delta = dt (L f + reaction)
 */
static void advance_species(double *f, double D, const double *reaction,
                            double dt)
{
    int i, j, k, p, n = nx * ny * nz;
    double w = 0.5 * dt * D / (dx * dx);

#pragma omp parallel for private(i, j, p)
    for (k = 0; k < nz; k++)
        for (j = 0; j < ny; j++)
            for (i = 0; i < nx; i++) {
                p = k * sz + j * sy + i * sx;
                delta[p] = dt * (D * diffuse(f, i, j, k) + reaction[p]);
            }

    sweep_x(delta, w);
    sweep_y(delta, w);
    sweep_z(delta, w);

#pragma omp parallel for
    for (p = 0; p < n; p++)
        f[p] += delta[p];
}

static void step(double dt)
{
    int p, n = nx * ny * nz;

#pragma omp parallel for
    for (p = 0; p < n; p++)
        rhs[p] = A - (B + 1.0) * u[p] + u[p] * u[p] * v[p];
    advance_species(u, Du, rhs, dt);

#pragma omp parallel for
    for (p = 0; p < n; p++)
        rhs[p] = B * u[p] - u[p] * u[p] * v[p];
    advance_species(v, Dv, rhs, dt);
}

/* ---- start and results -------------------------------------------------- */

static void initialize(void)
{
    int i, j, k;
    unsigned s = 77u;

    for (k = 0; k < nz; k++)
        for (j = 0; j < ny; j++)
            for (i = 0; i < nx; i++) {
                int p = k * sz + j * sy + i * sx;
                double x = (i + 0.5) / nx, y = (j + 0.5) / ny;
                double z = (k + 0.5) / nz;
                double r2 = (x - 0.5) * (x - 0.5) + (y - 0.5) * (y - 0.5)
                          + (z - 0.5) * (z - 0.5);

                dif[p] = r2 < 0.06 ? 0.25 : 1.0 + 0.3 * cos(6.0 * x) * sin(5.0 * z);
                s = s * 1103515245u + 12345u;
                u[p] = A + 0.1 * cos(9.0 * x) * cos(4.0 * y)
                     + 0.02 * ((s >> 16 & 0x7fff) / 32768.0 - 0.5);
                v[p] = B / A + 0.1 * sin(7.0 * y + 3.0 * z);
            }
}

static void statistics(const char *name, const double *f)
{
    int p, n = nx * ny * nz;
    double sum = 0.0, sq = 0.0, lo = f[0], hi = f[0];

#pragma omp parallel for reduction(+:sum,sq) reduction(min:lo) reduction(max:hi)
    for (p = 0; p < n; p++) {
        sum += f[p];
        sq += f[p] * f[p];
        if (f[p] < lo)
            lo = f[p];
        if (f[p] > hi)
            hi = f[p];
    }
    printf("  %s mean %.10g rms %.10g min %.10g max %.10g\n", name, sum / n,
           sqrt(sq / n), lo, hi);
}

/* A plain check of solve_line against a product, once at the start. */
static double self_test(int stride)
{
    enum { N = 37 };
    double a[N], b[N], c[N], c2[N], x[4 * N], y[N], worst = 0.0;
    int i;

    memset(x, 0, sizeof x);
    for (i = 0; i < N; i++) {
        a[i] = i > 0 ? -0.3 - 0.01 * i : 0.0;
        c[i] = c2[i] = i < N - 1 ? -0.2 - 0.02 * (i % 5) : 0.0;
        b[i] = 2.0 + 0.1 * (i % 3);
        y[i] = sin(1.0 + i);
        x[i * stride] = y[i];
    }
    solve_line(a, b, c2, x, N, stride);
    for (i = 0; i < N; i++) {
        double r = b[i] * x[i * stride] - y[i];

        if (i > 0)
            r += a[i] * x[(i - 1) * stride];
        if (i < N - 1)
            r += c[i] * x[(i + 1) * stride];
        if (fabs(r) > worst)
            worst = fabs(r);
    }
    return worst;
}

int main(int argc, char **argv)
{
    int s, steps;
    double dt = 0.05, t0;

    if (argc != 5) {
        fprintf(stderr, "usage: %s nx ny nz steps\n", argv[0]);
        return 2;
    }
    nx = atoi(argv[1]);
    ny = atoi(argv[2]);
    nz = atoi(argv[3]);
    steps = atoi(argv[4]);
    if (nx < 4 || ny < 4 || nz < 4 || nx > MAXLINE || ny > MAXLINE
        || nz > MAXLINE || (double) nx * ny * nz > 1e8 || steps < 1) {
        fprintf(stderr, "%s: sizes must be 4..%d\n", argv[0], MAXLINE);
        return 2;
    }
    if (self_test(1) > 1e-14 || self_test(3) > 1e-14) {
        fprintf(stderr, "%s: the line solver is broken\n", argv[0]);
        return 1;
    }
    sx = 1;
    sy = nx;
    sz = nx * ny;

    u = new_field();
    v = new_field();
    rhs = new_field();
    delta = new_field();
    dif = new_field();
    initialize();

    printf("box %d x %d x %d, dt %g, %d steps\n", nx, ny, nz, dt, steps);
    t0 = wtime();
    for (s = 1; s <= steps; s++) {
        step(dt);
        if (s == 1 || s % 10 == 0 || s == steps) {
            printf("t = %.2f\n", s * dt);
            statistics("u", u);
            statistics("v", v);
        }
    }
    fprintf(stderr, "%.3f s\n", wtime() - t0);

    free(u);
    free(v);
    free(rhs);
    free(delta);
    free(dif);
    return 0;
}
