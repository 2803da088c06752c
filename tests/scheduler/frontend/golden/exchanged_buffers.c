void f(int n, int steps, double *a, double *b)
{
    double *old;
    for (int t = 1; t <= steps; t++) {
        for (int i = 1; i < n - 1; i++)
            b[i] = a[i - 1] + a[i + 1] + t;
        old = a;
        a = b;
        b = old;
    }
}
/* after rotate_buffers
for (long t_round = 0; t_round < t_rounds; ++t_round) {
    for (int i = 1; i < (n - 1); i++) {
        b[i] = (a[i - 1] + a[i + 1]) + ((2 * t_round) + 1);
    }
    for (int i = 1; i < (n - 1); i++) {
        a[i] = (b[i - 1] + b[i + 1]) + (((2 * t_round) + 1) + 1);
    }
}
*/
/* after delinearize
nest f_0 of f {
  param n: int;
  param steps: int;
  param t_rounds: long base "(long)(steps) / 2L" where "(long)(steps) >= 1L";
  array a: double[?] pointer;
  array b: double[?] pointer;
  assume t_rounds - 1 >= 0;
  for t_round: long in [0, t_rounds) step 1 {
    for i: int in [1, n - 1) step 1 {
      S0: b[i] = a[i - 1] + a[i + 1] + (int)(2l * t_round + 1);
    }
    for i_2: int in [1, n - 1) step 1 {
      S1: a[i_2] = b[i_2 - 1] + b[i_2 + 1] + (int)(2l * t_round + 1 + 1l);
    }
  }
}
*/
