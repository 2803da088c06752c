#include <math.h>
#include "cycle.h"

real sigma = 0.0;

/* Red-black Gauss-Seidel */
void smooth(level *l, int sweeps)
{
   int s, color, i, j, k;
   int n = l->n;
   real h2 = l->h * l->h;
   real diag = 1.0 / (6.0 + sigma * h2);
   real ***u = l->u, ***f = l->f;

   for (s = 0; s < sweeps; s++) {
      for (color = 0; color < 2; color++) {
#pragma omp parallel for private(j, k)
         for (i = 1; i <= n; i++) {
            for (j = 1; j <= n; j++) {
               for (k = 1 + (i + j + color) % 2; k <= n; k += 2) {
                  u[i][j][k] = diag * (h2 * f[i][j][k]
                             + u[i-1][j][k] + u[i+1][j][k]
                             + u[i][j-1][k] + u[i][j+1][k]
                             + u[i][j][k-1] + u[i][j][k+1]);
               }
            }
         }
      }
   }
}

void residual(level *l)
{
   int i, j, k;
   int n = l->n;
   real ih2 = 1.0 / (l->h * l->h);
   real ***u = l->u, ***f = l->f, ***r = l->r;

#pragma omp parallel for private(j, k)
   for (i = 1; i <= n; i++) {
      for (j = 1; j <= n; j++) {
         for (k = 1; k <= n; k++) {
            r[i][j][k] = f[i][j][k]
               - ih2 * (6.0 * u[i][j][k]
                        - u[i-1][j][k] - u[i+1][j][k]
                        - u[i][j-1][k] - u[i][j+1][k]
                        - u[i][j][k-1] - u[i][j][k+1])
               - sigma * u[i][j][k];
         }
      }
   }
}

/* Full weighting: 27 fine points make one coarse right-hand side. */
void restrict_residual(const level *fine, level *coarse)
{
   int i, j, k, i2, j2, k2;
   int n = coarse->n;
   real ***r = fine->r, ***f = coarse->f;

#pragma omp parallel for private(j, k, i2, j2, k2)
   for (i = 1; i <= n; i++) {
      i2 = 2 * i;
      for (j = 1; j <= n; j++) {
         j2 = 2 * j;
         for (k = 1; k <= n; k++) {
            real faces, edges, corners;
            k2 = 2 * k;
            faces = r[i2-1][j2][k2] + r[i2+1][j2][k2]
                  + r[i2][j2-1][k2] + r[i2][j2+1][k2]
                  + r[i2][j2][k2-1] + r[i2][j2][k2+1];
            edges = r[i2-1][j2-1][k2] + r[i2-1][j2+1][k2]
                  + r[i2+1][j2-1][k2] + r[i2+1][j2+1][k2]
                  + r[i2-1][j2][k2-1] + r[i2-1][j2][k2+1]
                  + r[i2+1][j2][k2-1] + r[i2+1][j2][k2+1]
                  + r[i2][j2-1][k2-1] + r[i2][j2-1][k2+1]
                  + r[i2][j2+1][k2-1] + r[i2][j2+1][k2+1];
            corners = r[i2-1][j2-1][k2-1] + r[i2-1][j2-1][k2+1]
                    + r[i2-1][j2+1][k2-1] + r[i2-1][j2+1][k2+1]
                    + r[i2+1][j2-1][k2-1] + r[i2+1][j2-1][k2+1]
                    + r[i2+1][j2+1][k2-1] + r[i2+1][j2+1][k2+1];
            f[i][j][k] = 0.125 * r[i2][j2][k2] + 0.0625 * faces
                       + 0.03125 * edges + 0.015625 * corners;
         }
      }
   }
}

/* Trilinear interpolation of the correction, added to the fine solution.
   Each coarse cell gives to the eight fine points of its lower corner. */
void prolong_add(const level *coarse, level *fine)
{
   int i, j, k;
   int n = coarse->n;
   real ***c = coarse->u, ***u = fine->u;

#pragma omp parallel for private(j, k)
   for (i = 0; i <= n; i++) {
      for (j = 0; j <= n; j++) {
         for (k = 0; k <= n; k++) {
            real a = c[i][j][k], b = c[i][j][k+1];
            real d = c[i][j+1][k], e = c[i][j+1][k+1];
            real p = c[i+1][j][k], q = c[i+1][j][k+1];
            real s = c[i+1][j+1][k], t = c[i+1][j+1][k+1];

            u[2*i][2*j][2*k] += a;
            u[2*i][2*j][2*k+1] += 0.5 * (a + b);
            u[2*i][2*j+1][2*k] += 0.5 * (a + d);
            u[2*i][2*j+1][2*k+1] += 0.25 * (a + b + d + e);
            u[2*i+1][2*j][2*k] += 0.5 * (a + p);
            u[2*i+1][2*j][2*k+1] += 0.25 * (a + b + p + q);
            u[2*i+1][2*j+1][2*k] += 0.25 * (a + d + p + s);
            u[2*i+1][2*j+1][2*k+1] += 0.125 * (a + b + d + e + p + q + s + t);
         }
      }
   }
}

/* The coarsest grid is tiny: relax until nothing moves. */
void solve_coarsest(level *l)
{
   int i, j, k, it;
   int n = l->n;
   real h2 = l->h * l->h;
   real change = 1.0, new;

   for (it = 0; it < 200 && change > 1e-15; it++) {
      change = 0.0;
      for (i = 1; i <= n; i++)
         for (j = 1; j <= n; j++)
            for (k = 1; k <= n; k++) {
               new = (h2 * l->f[i][j][k]
                      + l->u[i-1][j][k] + l->u[i+1][j][k]
                      + l->u[i][j-1][k] + l->u[i][j+1][k]
                      + l->u[i][j][k-1] + l->u[i][j][k+1])
                     / (6.0 + sigma * h2);
               if (fabs(new - l->u[i][j][k]) > change)
                  change = fabs(new - l->u[i][j][k]);
               l->u[i][j][k] = new;
            }
   }
}

void vcycle(int depth, int pre, int post)
{
   level *l = &lev[depth];

   if (depth == nlevel - 1) {
      solve_coarsest(l);
      return;
   }
   smooth(l, pre);
   residual(l);
   restrict_residual(l, &lev[depth + 1]);
   zero_grid(lev[depth + 1].u, lev[depth + 1].n);
   vcycle(depth + 1, pre, post);
   prolong_add(&lev[depth + 1], l);
   smooth(l, post);
}

/* Start on the coarsest grid and work up: the right-hand side goes down by
   full weighting, the solution comes up as the first guess. */
void full_multigrid(int pre, int post)
{
   int d, i, j, k, n;

   for (d = 0; d < nlevel - 1; d++) {
      n = lev[d].n;
      for (i = 1; i <= n; i++)
         for (j = 1; j <= n; j++)
            for (k = 1; k <= n; k++)
               lev[d].r[i][j][k] = lev[d].f[i][j][k];
      restrict_residual(&lev[d], &lev[d + 1]);
   }
   zero_grid(lev[nlevel - 1].u, lev[nlevel - 1].n);
   solve_coarsest(&lev[nlevel - 1]);
   for (d = nlevel - 2; d >= 0; d--) {
      zero_grid(lev[d].u, lev[d].n);
      prolong_add(&lev[d + 1], &lev[d]);
      /* the V-cycle below overwrites the coarser right-hand sides, which
         are not needed any more on the way up */
      vcycle(d, pre, post);
   }
}

real l2norm(real ***g, int n)
{
   int i, j, k;
   real s = 0.0;

#pragma omp parallel for private(j, k) reduction(+:s)
   for (i = 1; i <= n; i++)
      for (j = 1; j <= n; j++)
         for (k = 1; k <= n; k++)
            s += g[i][j][k] * g[i][j][k];
   return sqrt(s / ((real) n * n * n));
}

real maxnorm(real ***g, int n)
{
   int i, j, k;
   real m = 0.0;

   for (i = 1; i <= n; i++)
      for (j = 1; j <= n; j++)
         for (k = 1; k <= n; k++)
            if (fabs(g[i][j][k]) > m)
               m = fabs(g[i][j][k]);
   return m;
}
