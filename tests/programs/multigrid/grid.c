#include <stdio.h>
#include <stdlib.h>
#include "grid.h"

level lev[MAXLEVEL];
int nlevel;

real ***alloc_grid(int n)
{
   int i, j, k;
   real ***g;

   g = (real ***) malloc((n + 2) * sizeof(real **));
   if (!g) goto fail;
   for (i = 0; i < n + 2; i++) {
      g[i] = (real **) malloc((n + 2) * sizeof(real *));
      if (!g[i]) goto fail;
      for (j = 0; j < n + 2; j++) {
         g[i][j] = (real *) malloc((n + 2) * sizeof(real));
         if (!g[i][j]) goto fail;
         for (k = 0; k < n + 2; k++)
            g[i][j][k] = 0.0;
      }
   }
   return g;

fail:
   fprintf(stderr, "multigrid: out of memory (n = %d)\n", n);
   exit(EXIT_FAILURE);
}

void free_grid(real ***g, int n)
{
   int i, j;

   for (i = 0; i < n + 2; i++) {
      for (j = 0; j < n + 2; j++)
         free(g[i][j]);
      free(g[i]);
   }
   free(g);
}

void zero_grid(real ***g, int n)
{
   int i, j, k;

#pragma omp parallel for private(j, k)
   for (i = 0; i < n + 2; i++)
      for (j = 0; j < n + 2; j++)
         for (k = 0; k < n + 2; k++)
            g[i][j][k] = 0.0;
}

/* lev[0] is the finest.  Sides go n -> (n-1)/2 down to 3 points or fewer. */
void setup_levels(int finest)
{
   int n = finest;

   nlevel = 0;
   for (;;) {
      level *l = &lev[nlevel++];
      l->n = n;
      l->h = 1.0 / (n + 1);
      l->u = alloc_grid(n);
      l->f = alloc_grid(n);
      l->r = alloc_grid(n);
      if (n <= 3 || n % 2 == 0 || nlevel == MAXLEVEL)
         break;
      n = (n - 1) / 2;
   }
}

void release_levels(void)
{
   int l;

   for (l = 0; l < nlevel; l++) {
      free_grid(lev[l].u, lev[l].n);
      free_grid(lev[l].f, lev[l].n);
      free_grid(lev[l].r, lev[l].n);
   }
}
