#ifndef VEC_H
#define VEC_H

/* Vector kernels.  All of them share their work among the threads of the
 * team that calls them, and all threads must call them. */
double vec_dot(int n, const double *x, const double *y);
double vec_max_abs(int n, const double *x);
void vec_axpy(int n, double alpha, const double *x, double *y);
void vec_xpby(int n, const double *x, double beta, double *y);
void vec_copy(int n, const double *x, double *y);
void vec_fill(int n, double value, double *x);
void vec_scale_by(int n, const double *d, const double *x, double *y);

#endif
