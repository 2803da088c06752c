/*
 * mandel FILE KIND WIDTH HEIGHT MAXITER
 *
 * Renders a fractal, zooms in three times towards the busiest part of the
 * picture, and writes the last picture to FILE.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fractal.h"

#define TILES 8

/* tile of the picture with the largest sum of counts of escaped points */
static void busiest_tile(const Image *im, int max_iter, int *tx, int *ty)
{
  long best = -1;
  int a, b;

  for (b = 0; b < TILES; b++)
    for (a = 0; a < TILES; a++) {
      long sum = 0;
      int r, c;
      for (r = b * im->h / TILES; r < (b + 1) * im->h / TILES; r++)
        for (c = a * im->w / TILES; c < (a + 1) * im->w / TILES; c++) {
          int n = im->count[r * im->w + c];
          if (n < max_iter)
            sum += n;
        }
      if (sum > best) {
        best = sum;
        *tx = a;
        *ty = b;
      }
    }
}

int main(int argc, char **argv)
{
  Image im;
  View v;
  unsigned char *grey;
  int k, zoom, max_iter;

  if (argc != 6) {
    fprintf(stderr, "usage: %s file kind width height maxiter\nkinds:", argv[0]);
    for (k = 0; k < N_KINDS; k++)
      fprintf(stderr, " %s", kind_name((Kind)k));
    fprintf(stderr, "\n");
    return 2;
  }
  for (k = 0; k < N_KINDS; k++)
    if (strcmp(argv[2], kind_name((Kind)k)) == 0)
      break;
  im.w = atoi(argv[3]);
  im.h = atoi(argv[4]);
  max_iter = atoi(argv[5]);
  if (k == N_KINDS || im.w < TILES || im.h < TILES || max_iter < 1) {
    fprintf(stderr, "%s: bad arguments\n", argv[0]);
    return 2;
  }

  im.count = malloc((size_t)im.w * im.h * sizeof *im.count);
  im.smooth = malloc((size_t)im.w * im.h * sizeof *im.smooth);
  grey = malloc((size_t)im.w * im.h);
  if (!im.count || !im.smooth || !grey) {
    fprintf(stderr, "%s: out of memory\n", argv[0]);
    return 1;
  }

  v = default_view((Kind)k, max_iter);
  printf("%s, %d x %d, at most %d steps\n", kind_name(v.kind), im.w, im.h, max_iter);
  for (zoom = 0; zoom < 4; zoom++) {
    Stats s;
    int tx = 0, ty = 0;

    render(&v, &im);
    s = histogram_colour(&im, max_iter, grey);
    printf("view %.12g %.12g width %.12g\n", v.cx, v.cy, v.width);
    printf("  inside %ld, escaped %ld\n", s.inside, s.escaped);
    printf("  counts: mean %.10g, median %d, %d different\n", s.mean_count,
           s.median_count, s.distinct);
    printf("  boundary %.10g, checksum %lu\n", boundary_length(&im, max_iter),
           adler(grey, (long)im.w * im.h));
    if (zoom == 3)
      break;
    busiest_tile(&im, max_iter, &tx, &ty);
    v.cx += ((tx + 0.5) / TILES - 0.5) * v.width;
    v.cy += ((ty + 0.5) / TILES - 0.5) * v.width * im.h / im.w;
    v.width /= 4.0;
  }

  if (!write_pgm(argv[1], im.w, im.h, grey)) {
    fprintf(stderr, "%s: cannot write %s\n", argv[0], argv[1]);
    return 1;
  }
  free(im.count);
  free(im.smooth);
  free(grey);
  return 0;
}
