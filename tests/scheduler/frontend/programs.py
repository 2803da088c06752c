"""Small C programs of many styles; each prints hashes of what its loops computed."""

from __future__ import annotations

HEAD = """
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
static unsigned long long H(const void *p, size_t n)
{
    const unsigned char *b = p;
    unsigned long long h = 1469598103934665603ull;
    while (n--) { h ^= *b++; h *= 1099511628211ull; }
    return h;
}
static double D[4096]; static float F[4096]; static int I[4096];
static unsigned char U[4096]; static short S[4096]; static unsigned W[4096];
static void fill(void)
{
    unsigned s = 1;
    int i = 0;
    while (i < 4096) {
        s = s * 1664525u + 1013904223u;
        *(D + i) = (int)(s >> 8) / 8388608.0 - 1.0;
        *(F + i) = (int)(s >> 4) / 1e8f;
        *(I + i) = (int)s; *(U + i) = s >> 24; *(S + i) = s >> 16; *(W + i) = s;
        i++;
    }
}
"""
_TAIL = """
int main(void)
{
    fill();
    %s
    printf("%%llx %%llx %%llx %%llx %%llx %%llx\\n", H(D, sizeof D), H(F, sizeof F), H(I, sizeof I),
           H(U, sizeof U), H(S, sizeof S), H(W, sizeof W));
    return 0;
}
"""

PROGRAMS: dict[str, str] = {}


def _program(name: str, functions: str, calls: str) -> None:
    PROGRAMS[name] = HEAD + functions + _TAIL % calls


_program(
    "counting",
    """
void f(size_t n, double *a)
{
    for (size_t i = n; i-- > 0;) a[i] += i * 0.5;
    for (size_t i = n - 1; i < n; i--) a[i] *= 1.5;
    for (int i = (int)n - 1; i >= 0; --i) a[i] -= i;
    for (unsigned i = (unsigned)n; i > 0; i--) a[i - 1] *= 0.5;
    for (size_t i = n; i--;) a[i] += 1;
    for (int i = (int)n - 1; i >= 1; i -= 3) a[i] = a[i - 1] * 2;
    for (long i = n; i > 3; i = i - 2) a[i - 1] += i;
    for (int i = 0; i != (int)n; i++) a[i] += 3;
    for (int i = 2; (int)n > i; i = 4 + i) a[i] -= a[i - 2];
    for (short i = 0; i < 20; i++) a[i] += i;
    for (signed char i = 20; i >= -1; i--) a[i + 1] -= i;
}
""",
    "f(50, D); f(0, D); f(1, D);",
)
_program(
    "unsigned_sizes",
    """
void f(unsigned n, unsigned m, double *a)
{
    for (unsigned i = 1; i < n - 1; i++)
        for (unsigned j = 0; j < m; j++)
            a[i * m + j] += a[(i - 1) * m + j];
}
void g(unsigned char n, double *a) { for (unsigned char c = 0; c < n; c++) a[c] += c; }
void h(size_t n, int m, double *a)
{
    for (int i = 0; i < n; i++)
        for (size_t j = 1; j < m; j++)
            a[i * m + j] -= a[i * m + j - 1];
}
""",
    "f(20, 30, D); f(2, 3, D); g(200, D); h(10, 12, D);",
)
_program(
    "conversions",
    """
void f(int n)
{
    for (int i = 0; i < n; i++) {
        U[i] = U[i] * 3 + S[i];
        S[i] = S[i] * U[i] - (i << 2);
        F[i] = D[i] * F[i] + i;
        D[i] = F[i] * 2 + (float)D[i] + U[i] / 7;
        I[i] = (int)(F[i] * 1e3) + (U[i] & 15) - (I[i] >> 3);
        W[i] = W[i] * 2654435761u + I[i];
        I[i] %= 1000;
        W[i] ^= W[i] >> 13;
        U[i] >>= 1; S[i] -= U[i];
        D[i] += -U[i]; D[i] += ~S[i]; D[i] += !I[i];
        D[i] += I[i] > W[i];
        D[i] += (unsigned char)(I[i]);
        D[i] += (I[i] ? 1 : 2.5f);
        F[i] += 0.1; I[i] += 1.7; U[i] += 3.9;
        D[i] += I[i] / 3 * 2.0;
        I[i] += U[i] == S[i];
        D[i] += (double)(float)D[i];
        W[i] += -1;
        D[i] += sqrt(U[i]) + fabs(S[i]) + pow(F[i], 2) + sqrtf(U[i]) + abs(S[i]) + fmin(D[i], 1) + labs(I[i]);
        I[i] = -I[i];
        F[i] = I[i] % 7 ? F[i] * W[i] : U[i];
        W[i] <<= 3; W[i] = -W[i] / 3 + (W[i] && I[i]) + (W[i] || U[i]);
    }
}
""",
    "f(4096);",
)
_program(
    "scalars",
    """
double g1;
double f(int n, double *x, double *y)
{
    double t, s = 0, u = 3;
    int j, k = 0;
    for (int i = 0; i < n; i++) {
        t = x[i];
        for (j = 0; j < n; j++) { u = t * x[j]; y[i] += u; }
        s += u;
    }
    for (int i = 0; i < n; i++) { t = x[i] * 2; x[i] = t + s; }
    g1 = 0;
    for (int i = 0; i < n; i++) { if (x[i] > 0) k++; g1 += x[i]; if (x[i] > u) u = x[i]; }
    y[0] = t;
    return s + u + k + g1;
}
double g(int n, double *x)
{
    double last = 0, prev = x[0];
    for (int i = 1; i < n; i++) { double now = x[i]; x[i] = now + prev; prev = now; if (now > 0) last = now; }
    return last;
}
""",
    "D[0] = f(40, D, D + 2000); D[1] = g(300, D + 1000);",
)
_program(
    "indices",
    """
void f(int n, int m, double *A, double *x, int *col)
{
    for (int i = 0; i < n; i++) {
        int base = i * m;
        double *row = A + i * m;
        const double *r2 = &A[i * m];
        int im = i > 0 ? i - 1 : 0;
        for (int j = 0; j < m; j++) {
            int k = base + j;
            A[k] = A[k] * 2 + row[j] + r2[j] + k + A[im * m + j];
            int c = (col[j] & 31);
            x[c] += A[base + c];
        }
    }
}
void g(int n, double (*A)[64])
{
    for (int i = 1; i < n; i++) {
        double (*p)[64] = A + i;
        double *q = A[i - 1];
        for (int j = 0; j < 64; j++) (*p)[j] += q[j] * 0.25;
    }
}
void h(int n, int m, int k, double *A)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            for (int l = 0; l < k; l++)
                *(A + (i * m + j) * k + l) += A[((i * m) + j) * k + (k - 1 - l)] + A[l];
    for (int i = 0; i < n; i++) A[i * m + m - 1] = A[i * m];
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 7; j++) A[i * 7 + j] -= A[(i + 1) * 7 + 6 - j];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            for (int c = 0; c < 3; c++) A[(i * m + j) * 3 + c] *= A[(i * m + j) * 3];
}
""",
    "f(30, 32, D, D + 2048, I); g(20, (void *)D); h(7, 8, 9, D + 500);",
)
_program(
    "guards",
    """
void f(int n, double (*A)[64])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            if (i == j) A[i][j] = 1; else if (i < j && j != 5) A[i][j] = 2; else A[i][j] += 3;
            if (i % 2 == 0) A[i][j] += 1;
            if ((i + j) % 3 != 1 || i > 2 * j) A[i][j] += 2;
            if (i & 1) A[i][j] -= 1;
            if ((i - j) % 3 == 0) A[i][j] *= 2;
            if ((i - j) % 3 == -1) A[i][j] *= 3;
            if (!(i < 3 || j >= 7)) A[i][j] += i / 2;
            if (i / 4 == j / 4) A[i][j] -= 4;
            if ((i >> 1) == 3) A[i][j] += 9;
            if (j % 4 < 2) A[i][j] += 8;
            if (i) A[i][j] += 1.5;
            if (i - 3 < (j < 4 ? j : 4)) A[i][j] += 0.25;
        }
}
void g(int n, int m, double (*A)[64], int flag)
{
    for (int i = 0; i < n; i++) {
        if (flag) for (int j = 0; j < m; j++) A[i][j] += 1; else A[i][0] = 2;
        if (A[i][0] > 0.5) { double s = A[i][0]; for (int j = 1; j < m; j++) A[i][j] *= s; }
        if (D[3000 + i] > 0) for (int j = 1; j < m; j++) A[i][j] += 1;
        else for (int j = 1; j < m; j++) A[i][j] = 0;
        if (i == 3) continue;
        A[i][1] += 7;
        if (A[i][2] > 0) continue;
        A[i][3] = 3;
        for (int j = 4; j < m; j++) A[i][j] += j;
    }
}
void h(int n, double *a)
{
    for (int i = 0; i < n; i++) {
        if (a[i] > 0.5 && i > 3) { double t = a[i]; a[i] = t * t; if (t > 0.7) a[i] -= 1; else { a[i] += 1; } }
        else if (a[i] < -0.5) a[i] = -a[i];
        if (a[i] > 0) {} else a[i] += 2;
    }
}
""",
    "f(40, (void *)D); g(30, 20, (void *)D, 1); g(30, 20, (void *)D, 0); h(100, D + 3500);",
)
_program(
    "bounds",
    """
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
static inline int imin(int a, int b) { return a < b ? a : b; }
static inline int clampi(int v, int l, int h) { if (v < l) return l; if (v > h) return h; return v; }
static float poly(float x) { float y = x * x; y += 1; if (y > 3) y = 3; else y *= 2; return y + x; }
static inline double sq(double x) { return x * x; }
static unsigned mix(unsigned h, int k) { h ^= h >> 15; h *= 2246822519u; if (k > 3) return h; h += k; return h ^ 5u; }
void f(int n, int m, double *a)
{
    for (int i = MAX(0, m - 3); i < MIN(n, m + 9); i++) a[i] += 1;
    for (int i = 0; i < n && i <= m; i++) a[i] += 2;
    for (int i = 0; i < imin(n, m) - 1; i++) a[i] += sq(a[i] + 1);
    for (int i = 0; i < n; i++) a[clampi(i - 3, 0, n - 5)] += i;
    for (int i = 0; i < n; i++) F[i] = poly(F[i]) + poly(a[i]);
    for (int ii = 0; ii < n; ii += 7)
        for (int i = ii; i < MIN(ii + 7, n); i++) a[i] *= 3;
    for (int i = 0; i != n; i++) a[i] -= 1;
    for (int i = MAX(n - 5, 1); i <= MIN(MIN(n, m), 30); ++i) a[i] *= 1.25;
    for (int i = n - 1; i >= MAX(0, m - 30); i--) a[i] += a[i + 1];
    for (int i = 0; i < n; i++)
        for (int j = i > 3 ? i - 3 : 0; j < (i + 3 < n ? i + 3 : n); j++) a[i] += a[j];
    for (int i = 0; i < n; i++) W[i] = mix(i * 7u + W[i], i) ^ mix(W[i], n);
    for (int i = 0; i < n; i++) a[i] += a[i] > 0 ? sq(a[i]) : sq(a[i] - 1);
}
""",
    "f(40, 35, D); f(5, 1, D); f(33, 60, D);",
)
_program(
    "locals",
    """
static const double coef[3] = {1, 2, 3};
enum { K = 4 };
const int NN = 6;
void f(int n, double *x)
{
    for (int i = 0; i < n; i++) {
        double w[3] = {0}, z[K][2] = {{1, 2}, {3}};
        double v[2] = {1.0, x[i]};
        for (int k = 0; k < 3; k++) w[k] += coef[k] * x[i] + z[k][1];
        x[i] = w[0] + w[1] + w[2] + v[0] + z[K - 1][0];
    }
    double t[64];
    for (int i = 0; i < n; i++) t[i] = x[i];
    for (int i = 0; i < NN; i++) x[i] = t[n - 1 - i];
    int a = 3;
    double s;
    for (int i = 0; i < n; i++) {
        double q = x[i];
        { double q = 2; x[i] += q; }
        x[i] += q;
        x[i] = D[i] = x[i] + (x[i] > 0 ? 1 : 2);
        a += i;
        x[i] += a;
    }
    for (int i = 0; i < n; i++) { s = x[i]; ; {} x[i] += s, x[i] *= 0.5; (void)s; x[i]++; --x[i]; }
}
""",
    "f(50, D + 100);",
)
_program(
    "pointers",
    """
void f(int n, double *a, double *b)
{
    double *p = a + 1, *q = b;
    for (int i = 0; i < n; i++) p[i] = q[i] + a[i];
    for (int i = 0; i < n; i++) q[i] = p[i + 1];
    const unsigned char *c = (const unsigned char *)a;
    unsigned long h = 0;
    for (int i = 0; i < n; i++) h = h * 31 + c[i];
    b[0] = h;
}
void g(int n, int m)
{
    int w = m + 2;
    int half = n / 2;
    double *A = D;
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= m; j++) A[i * w + j] = A[(i - 1) * w + j] + A[i * w + j + 1];
    for (int i = 0; i < half; i++) A[i] += A[half + i];
}
struct s { int n; double *d; double a[8]; };
void h(struct s *s, struct s t)
{
    for (int i = 0; i < 8; i++) s->d[i] += t.a[i] + s->a[i];
    for (int i = 0; i < s->n; i++) s->d[i] *= 2;
    for (int i = 0; i < (*s).n; i++) (*s).a[i & 7] += i;
}
""",
    "f(50, D, D + 100); f(50, D, D + 1); g(20, 20); struct s z = {9, D, {1, 2, 3, 4, 5, 6, 7, 8}}; h(&z, z);"
    "D[5] = z.a[2];",
)
_program(
    "shadows",
    """
int n = 9;
void f(int i, double *a)
{
    for (int n = 0; n < i; n++) {
        a[n] += i;
        for (int i = 0; i < 3; i++) { a[i] += n; double a2 = i; a[i] += a2; }
    }
    for (int i = 0; i < n; i++) { int n = i + 1; a[n] *= 2; }
    int i_2 = 4;
    for (int i = 0; i < i_2; i++) a[i] += 1;
    for (int i = 0; i < i_2; i++) a[i] += i_2;
}
static int glob = 5;
static int useg(int x) { return x + glob; }
void g(double *a, int glob) { for (int i = 0; i < 5; i++) a[i] += useg(i) + glob; }
void k(double *a) { for (int i = 0; i < 5; i++) a[i] += useg(i); }
""",
    "f(20, D); g(D, 3); k(D);",
)
_program(
    "sparse",
    """
static int ptr[41], col[400];
void f(int n, int m, const int *p, const int *c, const double *v, double (*B)[16], double (*C)[16])
{
    for (int i = 0; i < n; i++) {
        int lo = p[i], hi = p[i + 1];
        for (int q = lo; q < hi; q++) {
            double x = v[q];
            int k = c[q];
            for (int j = 0; j < m; j++) C[i][j] += x * B[k][j];
        }
    }
    for (int i = 0; i < n; i++)
        for (int q = p[i + 1] - 1; q >= p[i]; q--) C[i][c[q] & 15] -= v[q];
}
void g(void)
{
    for (int i = 0; i <= 40; i++) ptr[i] = i * (i + 1) / 8;
    for (int i = 0; i < 400; i++) col[i] = (i * 37 + 11) % 41;
}
""",
    "g(); f(40, 16, ptr, col, D + 3000, (void *)D, (void *)(D + 1000));",
)
