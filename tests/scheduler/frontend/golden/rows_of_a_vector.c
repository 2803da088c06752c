static void scale(double *v, int n, double by)
{
    for (int k = 0; k < n; k++)
        v[k] *= by;
}
void f(int n, int m, double *a)
{
    for (int i = 0; i < n; i++)
        scale(a + i * m, m, 2.0);
}
/* after inline_calls
for (int k = 0; k < n; k++) {
    v[k] *= by;
}
for (int i = 0; i < n; i++) {
    for (int k = 0; k < m; k++) {
        (a + (i * m))[k] *= 2.0;
    }
}
*/
/* after delinearize
nest scale_0 of scale {
  param n: int;
  array by: double local const;
  array v: double[?] pointer;
  for k: int in [0, n) step 1 {
    S0: v[k] *= by;
  }
}
nest f_0 of f {
  param m: int;
  param n: int;
  array a: double[?][m] pointer flat;
  for i: int in [0, n) step 1 {
    for k: int in [0, m) step 1 {
      S0: a[i][k] *= 2.0;
    }
  }
}
*/
