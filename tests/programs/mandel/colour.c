/* grey levels by rank in the histogram of the counts, and other statistics */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "fractal.h"

Stats histogram_colour(const Image *im, int max_iter, unsigned char *grey)
{
  Stats s = { 0, 0, 0.0, 0, 0 };
  long total = (long)im->w * im->h, i, run, sum = 0;
  long *hist = calloc((size_t)max_iter + 1, sizeof *hist);
  double *level = malloc(((size_t)max_iter + 2) * sizeof *level);
  int k;

  if (hist == NULL || level == NULL) {
    fprintf(stderr, "mandel: out of memory\n");
    exit(1);
  }

#pragma omp parallel for reduction(+ : hist[0:max_iter + 1])
  for (i = 0; i < total; i++)
    hist[im->count[i]]++;

  s.inside = hist[max_iter];
  s.escaped = total - s.inside;

  /* running sum: which share of the escaped points escaped no later */
  run = 0;
  level[0] = 0.0;
  for (k = 0; k < max_iter; k++) {
    if (hist[k] > 0)
      s.distinct++;
    if (2 * run < s.escaped && 2 * (run + hist[k]) >= s.escaped)
      s.median_count = k;
    run += hist[k];
    sum += (long)k * hist[k];
    level[k + 1] = s.escaped ? (double)run / s.escaped : 0.0;
  }
  level[max_iter + 1] = 1.0;
  s.mean_count = s.escaped ? (double)sum / s.escaped : 0.0;

#pragma omp parallel for private(k)
  for (i = 0; i < total; i++) {
    k = im->count[i];
    if (k >= max_iter) {
      grey[i] = 0;
    } else {
      double f = im->smooth[i];
      double g;
      if (f < 0.0)
        f = 0.0;
      else if (f > 1.0)
        f = 1.0;
      g = level[k] + f * (level[k + 1] - level[k]);
      grey[i] = (unsigned char)(255.0 * sqrt(g) + 0.5);
    }
  }

  free(hist);
  free(level);
  return s;
}

/* pixels of the set that have a neighbour outside, in units of the width */
double boundary_length(const Image *im, int max_iter)
{
  int r, c;
  long edge = 0;

#pragma omp parallel for private(c) reduction(+ : edge)
  for (r = 1; r < im->h - 1; r++)
    for (c = 1; c < im->w - 1; c++) {
      const int *p = im->count + r * im->w + c;
      if (*p < max_iter)
        continue;
      if (p[-1] < max_iter || p[1] < max_iter || p[-im->w] < max_iter || p[im->w] < max_iter)
        edge++;
    }
  return (double)edge / im->w;
}

int write_pgm(const char *path, int w, int h, const unsigned char *grey)
{
  FILE *f = fopen(path, "wb");
  size_t n = (size_t)w * h;

  if (f == NULL)
    return 0;
  fprintf(f, "P5\n%d %d\n255\n", w, h);
  if (fwrite(grey, 1, n, f) != n) {
    fclose(f);
    return 0;
  }
  return fclose(f) == 0;
}

unsigned long adler(const unsigned char *p, long n)
{
  unsigned long a = 1, b = 0;
  long i;

  for (i = 0; i < n; i++) {
    a = (a + p[i]) % 65521UL;
    b = (b + a) % 65521UL;
  }
  return b << 16 | a;
}
