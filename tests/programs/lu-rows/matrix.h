#ifndef MATRIX_H
#define MATRIX_H

/* Matrices are arrays of pointers to rows; the rows are allocated one by
   one, so that they can be exchanged without copying. */

double **matrix_alloc(int rows, int cols);
void matrix_free(double **a, int rows);
double **matrix_copy(double **a, int rows, int cols);

double *vector_alloc(int n);
int *ivector_alloc(int n);

double norm_inf(double **a, int n);
double norm_one(double **a, int n);
double norm_frobenius(double **a, int n);
double vector_max(const double *x, int n);
double vector_norm(const double *x, int n);
double dot(const double *x, const double *y, int n);

/* y = A x */
void mat_vec(double **a, const double *x, double *y, int n);

/* test problems */
enum { PROBLEM_RANDOM = 1, PROBLEM_LAPLACE = 2, PROBLEM_LEHMER = 3, PROBLEM_DECAY = 4 };
const char *problem_name(int problem);
void problem_fill(double **a, int n, int problem);
void problem_solution(double *x, int n, int which);

#endif
