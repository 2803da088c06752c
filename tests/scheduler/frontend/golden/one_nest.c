struct pair {
    double re, im;
};
static double square(double x)
{
    return x * x;
}
double a[100], b[100];
void f(int n)
{
    struct pair c = {1.0, 2.0};
    double *p = a;
    int i = 0;
    while (i < n) {
        switch (i % 2) {
        case 0:
            b[i] = c.re;
            break;
        default:
            b[i] = c.im;
        }
        *p++ = square(b[i]);
        i++;
    }
}
/* after sroa
double square(double x) {
    return x * x;
}
void f(int n) {
    double c_re = 1.0;
    double c_im = 2.0;
    double *p = a;
    int i = 0;
    while (i < n) {
        switch (i % 2) {
            case 0:
                b[i] = c_re;
            break;
            default:
                b[i] = c_im;
        }
        *(p++) = square(b[i]);
        i++;
    }
}
*/
/* after hoist_side_effects
double square(double x) {
    return x * x;
}
void f(int n) {
    double c_re = 1.0;
    double c_im = 2.0;
    double *p = a;
    int i = 0;
    while (i < n) {
        switch (i % 2) {
            case 0:
                b[i] = c_re;
            break;
            default:
                b[i] = c_im;
        }
        *p = square(b[i]);
        p++;
        i++;
    }
}
*/
/* after lower_control_flow
double square(double x) {
    return x * x;
}
void f(int n) {
    double c_re = 1.0;
    double c_im = 2.0;
    double *p = a;
    int i = 0;
    while (i < n) {
        if ((i % 2) == 0) {
            b[i] = c_re;
        } else {
            b[i] = c_im;
        }
        *p = square(b[i]);
        p++;
        i++;
    }
}
*/
/* after normalize_loops
double square(double x) {
    return x * x;
}
void f(int n) {
    double c_re = 1.0;
    double c_im = 2.0;
    double *p = a;
    int i;
    for (i = 0; i < n; i++) {
        if ((i % 2) == 0) {
            b[i] = c_re;
        } else {
            b[i] = c_im;
        }
        *p = square(b[i]);
        p++;
    }
}
*/
/* after substitute_inductions
double square(double x) {
    return x * x;
}
void f(int n) {
    double c_re = 1.0;
    double c_im = 2.0;
    double *p = a;
    int i;
    {
        for (i = 0; i < n; i++) {
            if ((i % 2) == 0) {
                b[i] = c_re;
            } else {
                b[i] = c_im;
            }
            *(a + i) = square(b[i]);
        }
    }
}
*/
/* after inline_calls
for (i = 0; i < n; i++) {
    if ((i % 2) == 0) {
        b[i] = c_re;
    } else {
        b[i] = c_im;
    }
    *(a + i) = square(b[i]);
}
*/
/* after delinearize
nest f_0 of f {
  param n: int;
  array c_re: double local const base "c.re";
  array b: double[100];
  array c_im: double local const base "c.im";
  array a: double[100];
  for i: int in [0, n) step 1 {
    if ((i) % 2 == 0) {
      S0: b[i] = c_re;
    }
    if (i - 2*floor((i)/2) - 1 >= 0) {
      S1: b[i] = c_im;
    }
    S2: a[i] = b[i] * b[i];
  }
}
*/
/* after detect_scops
nest f_0 of f {
  param n: int;
  array c_re: double local const base "c.re";
  array b: double[100];
  array c_im: double local const base "c.im";
  array a: double[100];
  for i: int in [0, n) step 1 {
    if ((i) % 2 == 0) {
      S0: b[i] = c_re;
    }
    if (i - 2*floor((i)/2) - 1 >= 0) {
      S1: b[i] = c_im;
    }
    S2: a[i] = b[i] * b[i];
  }
}
*/
