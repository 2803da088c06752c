/* escape-time iteration of several maps of the plane */
#include <math.h>
#include "fractal.h"

#define BAILOUT 64.0

static const char *names[N_KINDS] = { "mandelbrot", "julia", "ship", "tricorn", "newton" };

const char *kind_name(Kind k)
{
  return k < N_KINDS ? names[k] : "?";
}

View default_view(Kind k, int max_iter)
{
  View v = { k, -0.5, 0.0, 3.2, -0.8, 0.156, max_iter };

  if (k == JULIA || k == NEWTON)
    v.cx = 0.0;
  if (k == SHIP) {
    v.cx = -1.755;
    v.cy = -0.03;
    v.width = 0.12;
  }
  if (k == TRICORN) {
    v.cx = -0.2;
    v.width = 4.0;
  }
  return v;
}

/* inside of the two largest discs of the Mandelbrot set, no need to iterate */
static int in_bulb(double x, double y)
{
  double xm = x - 0.25;
  double q = xm * xm + y * y;

  if (q * (q + xm) < 0.25 * y * y)
    return 1;
  return (x + 1.0) * (x + 1.0) + y * y < 0.0625;
}

static int iterate_quadratic(double zx, double zy, double px, double py,
                             int max_iter, double *last)
{
  int n;
  double x2, y2;
  double seen_x = zx, seen_y = zy;
  int next_mark = 8;

  for (n = 0; n < max_iter; n++) {
    x2 = zx * zx;
    y2 = zy * zy;
    if (x2 + y2 > BAILOUT) {
      *last = x2 + y2;
      break;
    }
    zy = 2.0 * zx * zy + py;
    zx = x2 - y2 + px;
    /* an orbit that returns to an earlier point never escapes */
    if (zx == seen_x && zy == seen_y)
      return max_iter;
    if (n == next_mark) {
      seen_x = zx;
      seen_y = zy;
      next_mark *= 2;
    }
  }
  return n;
}

static int iterate_ship(double px, double py, int max_iter, double *last)
{
  double zx = 0.0, zy = 0.0;
  int n = 0;

  while (n < max_iter) {
    double t = zx * zx - zy * zy + px;
    zy = fabs(2.0 * zx * zy) + py;
    zx = t;
    n++;
    if (zx * zx + zy * zy > BAILOUT) {
      *last = zx * zx + zy * zy;
      break;
    }
  }
  return n;
}

static int iterate_tricorn(double px, double py, int max_iter, double *last)
{
  double zx = px, zy = py;
  int n;

  for (n = 0; n < max_iter; n++) {
    double r2 = zx * zx + zy * zy;
    double t;
    if (r2 > BAILOUT) {
      *last = r2;
      return n;
    }
    t = zx * zx - zy * zy + px;
    zy = -2.0 * zx * zy + py;
    zx = t;
  }
  return max_iter;
}

/* Newton's method for z^3 = 1; counts the steps until it stands still */
static int iterate_newton(double zx, double zy, int max_iter, double *last)
{
  int n;

  *last = BAILOUT;
  for (n = 0; n < max_iter; n++) {
    double x2 = zx * zx - zy * zy, y2 = 2.0 * zx * zy;
    double d = x2 * x2 + y2 * y2;
    double fx, fy, qx, qy;
    if (d < 1e-30)
      break;
    fx = x2 * zx - y2 * zy - 1.0;
    fy = x2 * zy + y2 * zx;
    qx = (fx * x2 + fy * y2) / (3.0 * d);
    qy = (fy * x2 - fx * y2) / (3.0 * d);
    zx -= qx;
    zy -= qy;
    if (qx * qx + qy * qy < 1e-12)
      break;
  }
  return n;
}

void render(const View *v, Image *im)
{
  const int w = im->w, h = im->h;
  const double step = v->width / w;
  int row;

#pragma omp parallel for schedule(dynamic, 2)
  for (row = 0; row < h; row++) {
    int col;
    double y = v->cy + (row + 0.5 - 0.5 * h) * step;

    for (col = 0; col < w; col++) {
      double x = v->cx + (col + 0.5 - 0.5 * w) * step;
      double last = 0.0;
      int n;

      switch (v->kind) {
      case MANDELBROT:
        if (in_bulb(x, y))
          n = v->max_iter;
        else
          n = iterate_quadratic(0.0, 0.0, x, y, v->max_iter, &last);
        break;
      case JULIA:
        n = iterate_quadratic(x, y, v->jx, v->jy, v->max_iter, &last);
        break;
      case SHIP:
        n = iterate_ship(x, y, v->max_iter, &last);
        break;
      case TRICORN:
        n = iterate_tricorn(x, y, v->max_iter, &last);
        break;
      default:
        n = iterate_newton(x, y, v->max_iter, &last);
        break;
      }

      im->count[row * w + col] = n;
      if (n < v->max_iter && last > 1.0)
        im->smooth[row * w + col] = (float)(1.0 - log2(log(last) / log(BAILOUT)));
      else
        im->smooth[row * w + col] = 0.0f;
    }
  }
}
