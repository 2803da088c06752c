#ifndef LU_H
#define LU_H

typedef struct {
    int n;
    double **a;      /* L below, U on and above the diagonal */
    int *perm;       /* perm[i]: row of the matrix that became row i */
    int swaps;
    int sign;
    double growth;   /* largest element met / largest element of A */
} LU;

/* returns 0 when the matrix is singular; takes over the rows of a */
int lu_factor(LU *lu, double **a, int n);
void lu_solve(const LU *lu, const double *b, double *x);
void lu_solve_transposed(const LU *lu, const double *b, double *x);
void lu_solve_many(const LU *lu, double **b, double **x, int nrhs);
int lu_refine(const LU *lu, double **a, const double *b, double *x,
              double tol, int max_steps);
double lu_log_det(const LU *lu);
double lu_inverse_norm(const LU *lu);
void lu_free(LU *lu);

#endif
