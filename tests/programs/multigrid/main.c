/*
 * Screened Poisson equation in a cube by geometric multigrid.
 *
 *    multigrid [levels] [cycles] [sources] [heat steps]
 *
 * First a problem with known solution (how large is the error?), then a set
 * of charges (what potential do they see?), then a few implicit steps of
 * heat conduction with the same solver.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "cycle.h"

static void known_problem(void)
{
   int i, j, k, n = lev[0].n;
   real h = lev[0].h, pi = acos(-1.0);

#pragma omp parallel for private(j, k)
   for (i = 1; i <= n; i++)
      for (j = 1; j <= n; j++)
         for (k = 1; k <= n; k++)
            lev[0].f[i][j][k] = (14.0 * pi * pi + sigma)
               * sin(pi * i * h) * sin(2.0 * pi * j * h) * sin(3.0 * pi * k * h);
}

static real known_error(void)
{
   int i, j, k, n = lev[0].n;
   real h = lev[0].h, pi = acos(-1.0);
   real worst = 0.0;

#pragma omp parallel for private(j, k) reduction(max:worst)
   for (i = 1; i <= n; i++)
      for (j = 1; j <= n; j++)
         for (k = 1; k <= n; k++) {
            real e = lev[0].u[i][j][k]
               - sin(pi * i * h) * sin(2.0 * pi * j * h) * sin(3.0 * pi * k * h);
            if (fabs(e) > worst)
               worst = fabs(e);
         }
   return worst;
}

static unsigned rng = 2463534242u;

static int random_index(int n)
{
   rng ^= rng << 13;
   rng ^= rng >> 17;
   rng ^= rng << 5;
   return 1 + (int) (rng % (unsigned) n);
}

static void charges(int count)
{
   int c, n = lev[0].n;
   real h = lev[0].h, q = 1.0 / (h * h * h);

   zero_grid(lev[0].f, n);
   for (c = 0; c < count; c++) {
      int i = random_index(n), j = random_index(n), k = random_index(n);
      lev[0].f[i][j][k] += (c % 2 ? -q : q) * (1.0 + 0.1 * c);
   }
}

static void solve(const char *name, int cycles)
{
   int c, n = lev[0].n;
   real first, last, now;

   residual(&lev[0]);
   first = last = l2norm(lev[0].r, n);
   for (c = 1; c <= cycles; c++) {
      vcycle(0, 2, 2);
      residual(&lev[0]);
      now = l2norm(lev[0].r, n);
      if (c <= 3)
         printf("%s: cycle %d, residual down to %.6f of the one before\n",
                name, c, now / last);
      last = now;
      if (now < 1e-9 * first) {
         printf("%s: converged in %d cycles\n", name, c);
         break;
      }
   }
}

static void heat_steps(int steps, int cycles)
{
   int s, c, i, j, k, n = lev[0].n;
   real total;

   /* (sigma - lap) u_new = sigma u_old */
   sigma = 400.0;
   for (s = 0; s < steps; s++) {
#pragma omp parallel for private(j, k)
      for (i = 1; i <= n; i++)
         for (j = 1; j <= n; j++)
            for (k = 1; k <= n; k++)
               lev[0].f[i][j][k] = sigma * lev[0].u[i][j][k];
      for (c = 0; c < cycles; c++)
         vcycle(0, 1, 1);
      total = 0.0;
#pragma omp parallel for private(j, k) reduction(+:total)
      for (i = 1; i <= n; i++)
         for (j = 1; j <= n; j++)
            for (k = 1; k <= n; k++)
               total += lev[0].u[i][j][k];
      if (s % 4 == 0 || s == steps - 1)
         printf("heat: step %d, content %.10g, peak %.10g\n", s + 1,
                total * lev[0].h * lev[0].h * lev[0].h, maxnorm(lev[0].u, n));
   }
}

int main(int argc, char *argv[])
{
   int levels = 5, cycles = 12, sources = 16, steps = 4;
   int l;

   if (argc > 1) levels = atoi(argv[1]);
   if (argc > 2) cycles = atoi(argv[2]);
   if (argc > 3) sources = atoi(argv[3]);
   if (argc > 4) steps = atoi(argv[4]);
   if (levels < 2 || levels > MAXLEVEL - 1 || cycles < 1 || sources < 1) {
      fprintf(stderr, "usage: multigrid levels(2..%d) cycles sources steps\n",
              MAXLEVEL - 1);
      return 2;
   }

   setup_levels((1 << levels) - 1);
   printf("levels:");
   for (l = 0; l < nlevel; l++)
      printf(" %d", lev[l].n);
   printf("\n");

   sigma = 1.0;
   known_problem();
   full_multigrid(2, 2);
   printf("known: error after full multigrid %.6e\n", known_error());
   known_problem();
   solve("known", cycles);
   printf("known: error %.8e, |u| %.10g\n", known_error(),
          l2norm(lev[0].u, lev[0].n));

   charges(sources);
   zero_grid(lev[0].u, lev[0].n);
   solve("charges", cycles);
   printf("charges: |u| %.10g, largest %.10g\n",
          l2norm(lev[0].u, lev[0].n), maxnorm(lev[0].u, lev[0].n));

   heat_steps(steps, 2);

   release_levels();
   return 0;
}
