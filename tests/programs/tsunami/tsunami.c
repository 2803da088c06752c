/*
 * tsunami STEPS
 *
 * Shallow water equations on a staggered grid: surface z and total depth h in
 * the cells, discharge m through the faces of x and n through those of y.
 * Upwind advection, implicit friction, cells become wet and dry.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include "ocean.h"
#include "gauge.h"

static double d[NX][NY];            /* still depth */
static double z[NX][NY];            /* surface */
static double h[NX][NY];            /* total depth, d + z */
static double m[NX + 1][NY];        /* face i is left of cell i */
static double n[NX][NY + 1];        /* face j is below cell j */
static double mnew[NX + 1][NY];
static double nnew[NX][NY + 1];
static double zmax[NX][NY];         /* highest surface so far */

/* depth of the water that can pass between two cells */
#define PASS(da, za, db, zb) (MAX(za, zb) + MIN(da, db))

static void start(void)
{
    FOR2(i, j) {
        d[i][j] = sea_floor(i, j);
        z[i][j] = d[i][j] > 0.0 ? uplift(i, j) : -d[i][j];
        h[i][j] = d[i][j] + z[i][j];
        if (h[i][j] < 0.0) {
            h[i][j] = 0.0;
            z[i][j] = -d[i][j];
        }
        zmax[i][j] = z[i][j];
    }
    gauge_add("deep", NX * 45 / 100, NY / 2);
    gauge_add("slope", NX * 68 / 100, NY / 2);
    gauge_add("canyon", NX * 80 / 100, NY * 62 / 100);
    gauge_add("island", NX * 78 / 100, NY * 35 / 100);
    gauge_add("harbour", NX * 92 / 100, NY * 45 / 100);
}

/* energy and volume of the water, and how much is wet */
static void balance(double *volume, double *potential, double *moving, long *wet)
{
    double vol = 0.0, pot = 0.0, kin = 0.0;
    long count = 0;

#pragma omp parallel for reduction(+:vol, pot, kin, count)
    FOR2(i, j) {
        double u, v;

        if (h[i][j] < HMIN)
            continue;
        u = 0.5 * (m[i][j] + m[i + 1][j]) / h[i][j];
        v = 0.5 * (n[i][j] + n[i][j + 1]) / h[i][j];
        vol += h[i][j];
        if (d[i][j] > 0.0)
            pot += 0.5 * GRAV * SQR(z[i][j]);
        kin += 0.5 * h[i][j] * (SQR(u) + SQR(v));
        count++;
    }
    *volume = vol * DX * DX;
    *potential = pot * DX * DX;
    *moving = kin * DX * DX;
    *wet = count;
}

static void run(int first, int steps, double dt)
{
    const double r = dt / DX;

#pragma omp parallel
    for (int s = 0; s < steps; s++) {

        /* continuity */
#pragma omp for schedule(static) nowait
        FOR2(i, j) {
            z[i][j] -= r * (m[i + 1][j] - m[i][j] + n[i][j + 1] - n[i][j]);
            h[i][j] = d[i][j] + z[i][j];
            if (h[i][j] < 0.0) {
                h[i][j] = 0.0;
                z[i][j] = -d[i][j];
            }
            if (h[i][j] > HMIN && z[i][j] > zmax[i][j])
                zmax[i][j] = z[i][j];
        }
#pragma omp barrier

        /* momentum along x; reads the old discharges only */
#pragma omp for schedule(static) nowait
        FORU(i, j) {
            double pass = PASS(d[i - 1][j], z[i - 1][j], d[i][j], z[i][j]);
            double hu, grad, adv = 0.0, cross, fric = 0.0;

            if (pass < HMIN || (h[i - 1][j] < HMIN && h[i][j] < HMIN)) {
                mnew[i][j] = 0.0;
                continue;
            }
            grad = z[i][j] - z[i - 1][j];
            hu = MAX(pass, 0.5);
            cross = 0.25 * (n[i - 1][j] + n[i][j] + n[i - 1][j + 1] + n[i][j + 1]);
            if (i > 1 && i < NX - 1) {
                double a = m[i][j] + m[i - 1][j], b = m[i + 1][j] + m[i][j];
                double ha = MAX(h[i - 1][j], 0.5), hb = MAX(h[i][j], 0.5);
                adv = 0.5 * (b * UPWIND(b, m[i][j], m[i + 1][j]) / hb
                             - a * UPWIND(a, m[i - 1][j], m[i][j]) / ha);
            }
            if (j > 0 && j < NY - 1)
                adv += cross * UPWIND(cross, m[i][j] - m[i][j - 1], m[i][j + 1] - m[i][j]) / hu;
            if (hu < DEEP)
                fric = GRAV * SQR(MANN) * sqrt(SQR(m[i][j]) + SQR(cross)) / (hu * hu * cbrt(hu));
            mnew[i][j] = (m[i][j] - r * (GRAV * pass * grad + adv)) / (1.0 + dt * fric);
        }

        /* momentum along y, needs nothing of the loop above */
#pragma omp for schedule(static) nowait
        FORV(i, j) {
            double pass = PASS(d[i][j - 1], z[i][j - 1], d[i][j], z[i][j]);
            double hv, grad, adv = 0.0, cross, fric = 0.0;

            if (pass < HMIN || (h[i][j - 1] < HMIN && h[i][j] < HMIN)) {
                nnew[i][j] = 0.0;
                continue;
            }
            grad = z[i][j] - z[i][j - 1];
            hv = MAX(pass, 0.5);
            cross = 0.25 * (m[i][j - 1] + m[i][j] + m[i + 1][j - 1] + m[i + 1][j]);
            if (j > 1 && j < NY - 1) {
                double a = n[i][j] + n[i][j - 1], b = n[i][j + 1] + n[i][j];
                double ha = MAX(h[i][j - 1], 0.5), hb = MAX(h[i][j], 0.5);
                adv = 0.5 * (b * UPWIND(b, n[i][j], n[i][j + 1]) / hb
                             - a * UPWIND(a, n[i][j - 1], n[i][j]) / ha);
            }
            if (i > 0 && i < NX - 1)
                adv += cross * UPWIND(cross, n[i][j] - n[i - 1][j], n[i + 1][j] - n[i][j]) / hv;
            if (hv < DEEP)
                fric = GRAV * SQR(MANN) * sqrt(SQR(n[i][j]) + SQR(cross)) / (hv * hv * cbrt(hv));
            nnew[i][j] = (n[i][j] - r * (GRAV * pass * grad + adv)) / (1.0 + dt * fric);
        }
#pragma omp barrier

        /* the open sea lets waves out at i = 0; the other rims are walls */
#pragma omp for schedule(static) nowait
        for (int j = 0; j < NY; j++)
            mnew[0][j] = -sqrt(GRAV * MAX(h[0][j], 0.0)) * z[0][j];

#pragma omp for schedule(static) nowait
        FORV(i, j)
            n[i][j] = nnew[i][j];
#pragma omp barrier

        /* a discharge too small to matter is dropped */
#pragma omp for schedule(static)
        for (int i = 0; i < NX; i++)
            for (int j = 0; j < NY; j++)
                m[i][j] = fabs(mnew[i][j]) < 1e-12 ? 0.0 : mnew[i][j];

#pragma omp single
        {
            if (s % 5 == 0)
                for (int g = 0; g < ngauges; g++)
                    gauge_record(g, (first + s + 1) * dt, z[gauges[g].i][gauges[g].j]);
        }
    }
}

static double stable_step(void)
{
    double deepest = 0.0;

#pragma omp parallel for reduction(max:deepest)
    FOR2(i, j)
        deepest = MAX(deepest, d[i][j]);
    return 0.5 * DX / sqrt(2.0 * GRAV * (deepest + 5.0));
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 200;
    double dt, volume, pot, kin, first_pot, runup = 0.0, offshore = 0.0;
    long wet, wet0, flooded = 0;
    int run_i = 0, run_j = 0;

    if (steps < 1) {
        fprintf(stderr, "usage: %s steps\n", argv[0]);
        return 1;
    }
#ifdef _OPENMP
    fprintf(stderr, "%d threads\n", omp_get_max_threads());
#endif

    start();
    dt = stable_step();
    balance(&volume, &first_pot, &kin, &wet0);
    printf("basin %d x %d, step %.6g s, %d steps\n", NX, NY, dt, steps);
    printf("at first:  volume %.10g  energy %.10g  wet %ld\n", volume, first_pot, wet0);

    for (int part = 0; part < 4; part++) {
        int first = steps * part / 4, last = steps * (part + 1) / 4;

        run(first, last - first, dt);
        balance(&volume, &pot, &kin, &wet);
        printf("part %d:    volume %.10g  potential %.9g  kinetic %.9g  wet %ld\n",
               part + 1, volume, pot, kin, wet);
    }

    /* highest water on the coast */
    FOR2(i, j) {
        if (d[i][j] <= 0.0 && zmax[i][j] > -d[i][j] + HMIN) {
            flooded++;
            if (zmax[i][j] > runup) {
                runup = zmax[i][j];
                run_i = i;
                run_j = j;
            }
        } else if (d[i][j] > 100.0) {
            offshore = MAX(offshore, zmax[i][j]);
        }
    }
    printf("highest wave at sea %.9g m\n", offshore);
    printf("flooded land cells %ld", flooded);
    if (flooded > 0)
        printf(", run-up %.9g m at %d %d", runup, run_i, run_j);
    printf("\n");
    gauge_report();
    return 0;
}
