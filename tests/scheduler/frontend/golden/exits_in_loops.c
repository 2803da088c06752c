#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
static void die(const char *text) { fputs(text, stderr); exit(3); }
static double at(const double *x, int k, int n) { assert(k < n); return x[k]; }
int f(double *restrict y, const double *restrict x, const int *restrict c, int n, int m) {
    int error = 0;
    for (int i = 0; i < n; i++) {
        if (x[i] < 0) { error = i; break; }
        if (c[i] < 0) die("negative");
        else y[i] = 1;
        if (i >= m) return -1;
        y[i] += at(x, c[i], n);
    }
    return error;
}
/* after inline_calls
for (int i = 0; i < n; i++) {
    if (x[i] < 0) {
        leave; // the loop contains break
    }
    {
        if (c[i] < 0) {
            leave; // calls 'die', which may end the program
        }
        y[i] = 1;
    }
    if (i >= m) {
        leave; // the loop returns from the function
    }
    y[i] += at(x, c[i], n);
}
*/
/* after delinearize
nest f_0 of f {
  param m: int;
  param n: int;
  array x: double[?] restrict const;
  array c: int[?] restrict const;
  array y: double[?] restrict;
  assume m - n >= 0;
  for i: int in [0, n) step 1 {
    S0: y[i] = 1;
    S1: y[i] += x[opaque(c[i])];
  }
}
*/
/* after detect_scops
nest f_0_inspector of f {
  param m: int;
  param n: int;
  array x: double[?] restrict const;
  array c: int[?] restrict const;
  for i: int in [0, n) step 1 {
    S0: if (x[i] < 0) {} exit;
    S1: if (c[i] < 0) {} exit;
    S2: if (c[i] >= n) {} exit;
  }
}
nest f_0 of f {
  param m: int;
  param n: int;
  array x: double[?] restrict const;
  array c: int[?] restrict const;
  array y: double[?] restrict;
  assume m - n >= 0;
  for i: int in [0, n) step 1 {
    S0: y[i] = 1;
    S1: y[i] += x[opaque(c[i])];
  }
}
*/
