#ifndef FRACTAL_H
#define FRACTAL_H

typedef enum { MANDELBROT, JULIA, SHIP, TRICORN, NEWTON, N_KINDS } Kind;

typedef struct {
  Kind kind;
  double cx, cy;        /* centre of the picture */
  double width;         /* extent along x */
  double jx, jy;        /* parameter of the Julia set */
  int max_iter;
} View;

typedef struct {
  int w, h;
  int *count;           /* steps until escape, max_iter: never */
  float *smooth;        /* fraction of a step, for colouring */
} Image;

/* fractal.c */
const char *kind_name(Kind k);
View default_view(Kind k, int max_iter);
void render(const View *v, Image *im);

/* colour.c */
typedef struct {
  long inside;
  long escaped;
  double mean_count;
  int median_count;
  int distinct;
} Stats;

Stats histogram_colour(const Image *im, int max_iter, unsigned char *grey);
double boundary_length(const Image *im, int max_iter);
int write_pgm(const char *path, int w, int h, const unsigned char *grey);
unsigned long adler(const unsigned char *p, long n);

#endif
