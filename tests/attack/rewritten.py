"""Complete programs whose nests are hard to take out of their text, or whose loops invite a wrong transformation.

Each prints a hash of everything its loops computed.
"""

from __future__ import annotations

from dataclasses import dataclass

_HEAD = r"""
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static double D[4096], E[4096], G[64][64];
static int I[4096];
static unsigned char U[4096];
static unsigned long long H = 1469598103934665603ull;
static void hash(const void *p, size_t n) { const unsigned char *b = p; while (n--) { H ^= *b++; H *= 1099511628211ull; } }
static void fill(void)
{
    unsigned s = 1; int i = 0;
    while (i < 4096) {
        s = s * 1664525u + 1013904223u;
        *(D + i) = (int)(s >> 8) / 8388608.0 - 1.0; *(E + i) = (int)(s >> 4) / 1e8; *(I + i) = s >> 7; *(U + i) = s >> 24;
        i++;
    }
}
static int report(void)
{
    hash(D, sizeof D); hash(E, sizeof E); hash(G, sizeof G); hash(I, sizeof I); hash(U, sizeof U);
    printf("%llx\n", H);
    return 0;
}
"""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """`nests`: how many are found at least, so that a refusal is no silent pass. `open`: why it is known to fail."""

    name: str
    source: bytes
    nests: int
    flags: tuple[str, ...] = ()
    open: str = ""


REWRITTEN: dict[str, Rewritten] = {}


def _add(name: str, functions: str, calls: str, nests: int = 1, flags: tuple[str, ...] = (), open: str = "") -> None:
    source = f"{_HEAD}{functions}\nint main(void)\n{{\n    fill();\n    {calls}\n    return report();\n}}\n"
    REWRITTEN[name] = Rewritten(name, source.encode(), nests, flags, open)


def _again(name: str, other: str, change: object) -> None:
    """The text of another program, changed."""
    assert callable(change)
    found = REWRITTEN[other]
    REWRITTEN[name] = Rewritten(name, change(found.source), found.nests, found.flags)


# ---------------------------------------------------------------------------------------------- memory

_add(
    "moved-onto-itself",
    """
static void up(int n, double *to, double *from) { for (int i = 0; i < n; i++) to[i] = from[i] * 0.5; }
static void down(int n, double *to, double *from) { for (int i = n - 1; i >= 0; i--) to[i] = from[i] + 1; }
static void both(int n, double *a, double *b) { for (int i = 0; i < n; i++) { a[i] = b[i] + 1; b[i] = a[i] * 0.5; } }
""",
    "up(900, D, D); up(900, D, D + 1); up(900, D + 1, D); up(900, D, E); down(900, D + 1, D); down(900, D, D + 1);"
    "both(500, D, D); both(500, D, D + 3); both(500, D + 3, D); both(0, 0, 0); both(500, D, E);",
    3,
)
_add(
    "rows-of-one-array",
    """
static void add(int n, int m, double *a, double *b) { for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i * m + j] += b[j * m + i]; }
static void sub(int n, double (*a)[64], double *b) { for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) a[i][j] -= b[i * 64 + j] * 0.25; }
""",
    "add(40, 40, D, D); add(40, 40, D, E); add(30, 40, D, D + 17); add(1, 1, D, D); sub(60, G, D); sub(60, G, &G[0][0]); sub(60, G, &G[1][3]);",
    2,
)
_add(
    "bytes-of-doubles",
    """
static void f(int n, unsigned char *bytes, double *d) { for (int i = 0; i < n; i++) { d[i] = i; bytes[i] += 3; } }
static void g(int n, char *bytes, double *d) { for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { d[i] += j; bytes[j] ^= 1; } }
""",
    "f(100, U, D); f(100, (unsigned char *)D, D); g(50, (char *)E, E); g(50, (char *)U, D);",
    2,
)
_add(
    "through-members",
    """
struct grid { int n, m; double *u, *v; double w[64]; };
static void f(struct grid *g) { for (int i = 1; i < g->n; i++) { g->u[i] = g->v[i - 1] + g->w[i % 64]; g->w[i % 64] = g->u[i]; } }
static void h(struct grid g) { for (int i = 0; i < g.m; i++) for (int j = 0; j < g.n; j++) g.u[j] += g.v[i]; }
""",
    "struct grid a = {60, 30, D, E, {1, 2}}, b = {60, 30, D, D, {3}}; f(&a); f(&b); h(a); h(b); hash(a.w, sizeof a.w); hash(b.w, sizeof b.w);",
    1,
)
_add(
    "uninitialised",
    """
static void f(int n, double *to) { double *t = malloc(n * sizeof *t + 8); int unset; (void)unset;
    for (int i = 0; i < n; i++) { double s; if (to[i] > 0) s = to[i]; t[i] = to[i] > 0 ? s : 0; }
    for (int i = 0; i < n; i++) to[i] = t[i] * 2; free(t); }
""",
    "f(1000, D); f(0, D); f(1, E);",
)
_add(
    "global-through-pointer",
    """
double X[1000]; double *P = X; int N = 500; int *Q = &N;
static void f(void) { for (int i = 0; i < N; i++) { P[i] = X[i + 1] + 1; X[i + 2] = P[i] * 0.5; } }
static void g(int *p) { for (int i = 0; i < 100; i++) { I[i] = p[i] + 1; I[i + 1] += i; } }
""",
    "f(); P = X + 7; f(); P = D; f(); g(I); g(I + 1); g(I + 50); hash(X, sizeof X);",
    1,
)
_add(
    "limit-in-the-array",
    """
static void f(int *a) { for (int i = 0; i < a[0]; i++) a[i + 1] += i; }
static void g(int n, int *a) { for (int i = 0; i < n; i++) for (int j = 0; j < a[i] % 7; j++) a[j + i] += 1; }
static void h(int n, int *r, double *a) { for (int i = 0; i < n; i++) for (int p = r[i]; p < r[i + 1]; p++) a[i] += p * 0.5; }
""",
    "I[0] = 50; f(I); g(100, I); for (int i = 0; i < 100; i++) I[i] = i * 3; h(90, I, D);",
    1,
)

# ---------------------------------------------------------------------------------------------- numbers

_add(
    "edges-of-int",
    """
static void f(double *a) { for (int i = INT_MAX - 100; i < INT_MAX; i++) a[i - (INT_MAX - 100)] += i; }
static void g(double *a) { for (int i = INT_MIN; i < INT_MIN + 100; i += 3) a[i - INT_MIN] -= i; }
static void h(double *a) { for (long i = LONG_MAX - 70; i < LONG_MAX; i++) a[i - (LONG_MAX - 70)] += 1; }
static void k(double *a) { for (unsigned i = UINT_MAX - 60; i < UINT_MAX; i++) a[i - (UINT_MAX - 60)] += i; }
static void l(double *a) { for (int i = INT_MAX; i > INT_MAX - 50; i--) a[INT_MAX - i] *= 1.5; }
""",
    "f(D); g(D); h(D); k(D); l(D);",
    3,
)
_add(
    "beyond-long",
    "static void m(double *a) { for (unsigned long i = ULONG_MAX - 60; i < ULONG_MAX; i++) a[i - (ULONG_MAX - 60)] += 2; }",
    "m(D); m(E);",
    open="bounds beyond LONG_MAX become loops that do not compile (or would not end), as all iterators are long",
)
_add(
    "no-trips",
    """
static void f(int n, int m, double *a) { for (int i = 0; i < n; i++) for (int j = i; j < m; j++) a[i + j] += a[j] + 1; }
static void g(int lo, int hi, double *a) { for (int i = lo; i < hi; i++) a[i] = a[i] * 2 + lo; for (int i = hi; i >= lo; i--) a[i] -= i; }
static void h(unsigned n, double *a) { for (unsigned i = 0; i + 1 < n; i++) a[i] = a[i + 1]; for (unsigned i = n; i-- > 0;) a[i] += i; }
""",
    "f(-5, 3, D); f(0, 0, D); f(3, -5, D); f(1, 1, D); f(20, 30, D); f(30, 20, D); f(INT_MIN, INT_MIN, D); f(INT_MIN, INT_MAX, D);"
    "g(5, 5, D); g(5, 4, D); g(7, -3, D); g(0, 40, D); h(0, D); h(1, D); h(2, D); h(50, D);",
    3,
)
_add(
    "wrapping",
    """
static void f(int n) { for (int i = 0; i < n; i++) { U[i] = U[i] * 7 + 250; I[i] = (unsigned)I[i] * 2654435761u; U[(unsigned char)(i + 200)] ^= i; } }
static void g(unsigned n) { for (unsigned i = 0; i < n; i++) D[(i * 37u) % 4096u] += i; for (unsigned char c = 250; c > 3; c -= 3) D[c] += c; }
static void h(int n) { for (int i = 0; i < n; i++) I[i] = I[i] >> 3 << 2 ^ ~I[i] & 0x55; for (short s = 300; s >= 0; s -= 7) I[s] -= s; }
""",
    "f(50); g(3000); g(0); h(4000);",
    2,
)
_add(
    "special-values",
    """
static void f(int n) { for (int i = 0; i < n; i++) { D[i] = fmin(D[i], E[i]); E[i] = fmax(E[i + 1], D[i]); D[i] = D[i] < E[i] ? D[i] : E[i]; } }
static double g(int n) { double s = 0, p = 1; for (int i = 0; i < n; i++) { s += D[i]; p *= 1 + D[i] * 1e-3; } return s * p; }
static float h(int n, float s) { for (int i = 0; i < n; i++) s += D[i]; return s; }
""",
    "D[3] = NAN; D[4] = -0.0; D[5] = 0.0; E[4] = 0.0; E[5] = -0.0; D[6] = INFINITY; E[7] = -INFINITY; D[8] = 5e-324; f(60);"
    "D[3] = D[6] = 1; E[7] = 2; double s = g(60); hash(&s, 8); s = h(1000, 1e8f); hash(&s, 8);",
    2,
)
_add(
    "divisions",
    """
static void f(int n) { for (int i = 0; i < n; i++) { if (I[i] != 0) D[i] /= I[i]; if (i % 5 == 3) I[i] = 1000 / (i + 1) % 7; } }
static void g(int n) { for (int i = 0; i < n; i++) D[i / 3] += E[i % 17] * (i / 7); for (int i = n; i > 0; i--) D[i >> 2] -= i & 3; }
""",
    "I[7] = 0; f(500); g(500); g(0);",
    2,
)

# ---------------------------------------------------------------------------------------------- text

_TWO = """
static void f(int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            G[j][i] = G[j][i] * 0.5 + D[i] * E[j];	/* "{ */
    for (int i = 1; i < n; i++)
        for (int j = 1; j < n; j++) {
            G[i][j] += G[i - 1][j] * 0.25;
            D[i] += G[i][j];
        }
}
"""
_add("plain", _TWO, "f(60); f(0); f(2);")
_again("carriage-returns", "plain", lambda text: text.replace(b"\n", b"\r\n"))
_again("tabs", "plain", lambda text: text.replace(b"    ", b"\t"))
_again("no-last-newline", "plain", lambda text: text.rstrip())
_again("byte-order-mark", "plain", lambda text: b"\xef\xbb\xbf" + text)
_again("latin-1", "plain", lambda text: text.replace(b'/* "{ */', b'/* \xe4 "{ \xff */ /* \xc3\xa4 */'))
_again("line-directives", "plain", lambda text: text.replace(b"static void f", b'#line 7 "none.y"\nstatic void f'))
_again(
    "continued-lines",
    "plain",
    lambda text: text.replace(b"G[j][i] = ", b"G[j]\\\n[i] = \\\n").replace(b"D[i] +=", b"D[i] \\\n+="),
)
_again(
    "comments-everywhere",
    "plain",
    lambda text: text.replace(b"for (int", b"for/*;(*/(/*{*/int").replace(b"i++)", b"i++ // )\n)"),
)
_add(
    "one-line",
    "",
    "{ for (int i = 0; i < 50; i++) for (int j = 0; j < 50; j++) G[i][j] = D[i + j] * i; for (int i = 49; i >= 0; i--) E[i] += G[i][i]; } if (D[0] > 5) for (int i = 0; i < 9; i++) D[i] = 1; else for (int i = 0; i < 9; i++) D[i] = 2; for (int i = 0; i < 9; i++) D[i] += 3;;",
    3,
)
_add(
    "places-of-statements",
    """
static void f(int n, int how)
{
    if (how) for (int i = 0; i < n; i++) D[i] += 1; else for (int i = 0; i < n; i++) D[i] -= 1;
    if (how > 1)
        for (int i = 0; i < n; i++) E[i] += 1;
    else if (how > 2)
        for (int i = 0; i < n; i++) E[i] -= 1;
    else
        hash(D, 8);
    switch (how) { case 0: for (int i = 0; i < n; i++) I[i] += 1; break; default: for (int i = 0; i < n; i++) I[i] += 2; case 7: ; }
    do for (int i = 0; i < n; i++) D[i] *= 0.5; while (--how > 0);
    while (how++ < 2) for (int i = 0; i < n; i++) E[i] *= 0.25;
again: for (int i = 0; i < n; i++) D[i] += 3;
    if (how++ < 5) goto again;
    { for (int i = 0; i < n; i++) D[i] += 5; }
    for (int i = 0; i < n; i++) D[i] += 6; for (int i = 0; i < n; i++) E[i] = D[i] + 1;
}
""",
    "f(50, 0); f(50, 1); f(50, 2); f(0, 3);",
    6,
)
_add(
    "own-helpers",
    """
#define pe_min(a, b) 17
static long pe_max(long a, long b) { return a - b; }
int pe_threads = 3, pe_floord = 4, pe_apart = 5; typedef int pe_v4d; struct pe_alloc { int x; };
static void pe_nest(int n, double *a, double *b) { for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) a[j] += b[i] * 0.5; }
static void pe_kernel(int pe_n, double *pe_a) { for (int pe_i = 0; pe_i < pe_n; pe_i++) for (int pe_j = 0; pe_j < pe_n; pe_j++) pe_a[pe_j * pe_n + pe_i] += pe_i; }
""",
    "pe_nest(40, D, E); pe_kernel(40, D); int x = pe_min(1, 2) + pe_max(9, 4) + pe_threads + pe_floord + pe_apart; hash(&x, 4);",
    2,
    open="the file has names of our helpers already, as a file that was tuned before has: it does not compile",
)
_add(
    "names-of-isl",
    """
static void f(int max, int min, double *floor) { for (int mod = 0; mod < max; mod++) for (int and = 0; and < min; and++) floor[and * max + mod] += mod - and; }
static void g(int n, double *exists) { for (int or = 1; or < n; or++) for (int not = 1; not < n; not++) exists[or * n + not] = exists[(or - 1) * n + not] + exists[or * n + not - 1]; }
static void h(int S0, double *S1) { for (int S2 = 0; S2 < S0; S2++) { double S3 = S1[S2]; S1[S2] = S3 * 2; for (int S4 = 0; S4 < S2; S4++) E[S4] += S1[S2]; } }
static void k(int n, int *r) { for (int infty = 0; infty < n; infty++) for (int nan = r[infty]; nan < r[infty + 1]; nan++) D[infty] += nan; }
""",
    "f(30, 40, D); g(50, D); h(60, D); for (int i = 0; i < 99; i++) I[i] = i * 2; k(90, I);",
    4,
)
_add(
    "names-of-ours",
    """
static void f(int i_t, int j_t, double *a) { for (int i = 0; i < i_t; i++) for (int j = 0; j < j_t; j++) a[j * i_t + i] += i * j; }
static void g(int n, double *t) { for (int t0 = 0; t0 < n; t0++) for (int t1 = 0; t1 < n; t1++) { double acc = t[t0 * n + t1]; t[t0 * n + t1] = acc + t0; } }
static void h(int n) { for (int c0 = 0; c0 < n; c0++) for (int c1 = 0; c1 < n; c1++) for (int c2 = 0; c2 < n; c2++) G[c0][c1] += D[c0 * n + c2] * E[c2 * n + c1]; }
static void k(int lb, int ub, int i_o) { for (int i_i = lb; i_i < ub; i_i++) for (int i = lb; i < ub; i++) D[i * i_o + i_i] += 1; }
""",
    "f(30, 40, D); g(50, D); h(40); k(3, 50, 60);",
    4,
)
_add(
    "macros-for-words",
    """
#define parallel serial
#define simd none
#define schedule(x) nothing
#define num_threads 3
#define collapse
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define floord(a, b) error
#define restrict error
#define ii error
#define tile error
static void f(int n) { for (int i = 0; i < min(n, 60); i++) for (int j = max(0, i - 5); j < min(n, i + 5); j++) G[i][j] += D[i] + j; }
""",
    "f(60); f(30);",
)
_add(
    "macros-for-text",
    """
#define BEGIN {
#define END }
#define FORWARDS ++
#define AT(a, i, j) a[(i) * 50 + (j)]
#define UPDATE(i, j) AT(D, i, j) = AT(D, i, j) * 0.5 + AT(E, j, i)
#define P(a, b) a##b
#define BODY { D[i] += 2; E[i] -= D[i]; }
#define N_ (40 + 2)
static void f(void) { for (int i = 0; i < N_; i++) for (int j = 0; j < N_; j++) UPDATE(i, j); }
static void g(void) { for (int i = 0; i < N_; i FORWARDS) BEGIN for (int j = 0; j < N_; j++) BEGIN AT(D, j, i) += 1; END END }
static void h(void) { for (int P(i, 1) = 0; P(i, 1) < N_; P(i, 1)++) AT(E, i1, i1) += P(1, 2); }
static void k(void) { for (int i = 0; i < N_; i++) BODY for (int i = 0; i < N_; i++) BODY; D[0] += 1; }
static void l(int x) { if (x) for (int i = 0; i < N_; i++) BEGIN D[i] = 1; END else D[0] = 2; }
""",
    "f(); g(); h(); k(); l(0); l(1);",
    2,
)
_add(
    "macros-for-keywords",
    """
#define if(x) if (!(x))
#define int long
#define double float
static void f(int n, double *a) { for (int i = 0; i < n; i++) { if (i > 5) a[i] = a[i + 1] * 3; for (int j = 0; j < i; j++) a[j] += i; } }
""",
    "static double t[99]; f(60, t); hash(t, sizeof t);",
    0,
)
_add(
    "macros-for-nothing",
    """
#define for for
#define const
#define restrict
#define inline
#define static
#define real double
inline void f(const int n, const real *restrict b, real *restrict a) { for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) a[j] += i * b[i]; }
""",
    "f(60, E, D);",
    1,
    ("-fgnu89-inline",),
)
_add(
    "digraphs",
    """
static void f(int n) <% for (int i = 0; i < n; i++) <% for (int j = 0; j < n; j++) <% G<:i:><:j:> = G<:j:><:i:> + 1; %> D<:i:> += 1; %> %>
%:define M 30
static void g(void) <% for (int i = 0; i < M; i++) for (int j = 0; j < M; j++) G<:j:><:i:> *= D<:j:>; %>
""",
    "f(40); g();",
    2,
)
_add(
    "trigraphs",
    """
static void f(int n) ??< for (int i = 0; i < n; i++) ??< for (int j = 0; j < n; j++) ??< G??(j??)??(i??) += D??(i??) * 0.5; ??> ??> ??>
""",
    "f(40);",
    1,
    ("-std=c99", "-trigraphs"),
)
_add(
    "old-style",
    """
static f(n, a, b) int n; double *a, b; { register i, j; for (i = 0; i < n; i++) for (j = 0; j < n; j++) a[j * n + i] += b * i; return i; }
""",
    "int x = f(50, D, 2.0); hash(&x, 4);",
    0,
    ("-std=gnu89",),
    open="loops declare their iterators, which C89 does not know: it does not compile",
)
_add(
    "extensions",
    """
__attribute__((noinline, hot)) static void f(int n) { for (int i = 0; i < n; i++) for (__typeof__(n) j = 0; j < n; j++) G[j][i] += __builtin_sqrt(fabs(D[i])); }
static void g(int n) { __label__ out; int k; for (int i = 0; i < n; i++) { for (int j = 0; j < n; j++) G[i][j] *= 0.5; if (G[i][i] > 1e9) goto out; } out: k = 1; (void)k; }
static int h(int n) { return ({ int s = 0; for (int i = 0; i < n; i++) s ^= I[i]; for (int i = 0; i < n; i++) I[i] += s; s; }); }
""",
    "f(40); g(40); int x = h(900); hash(&x, 4);",
    1,
)
_add(
    "scopes",
    """
static int i = 3, n = 40; static double s = 2;
static void f(void) { for (int i = 0; i < n; i++) { double s = D[i]; { int n = 3; for (int i = 0; i < n; i++) D[i + 50] += s; } for (int n = 0; n < i; n++) E[n] += s; } D[0] += s + i; }
static void g(int D_) { extern double X_[]; double D[60]; for (int i = 0; i < 60; i++) D[i] = i * D_; for (int i = 1; i < 60; i++) { double t = D[i - 1]; { double t = D[i]; E[i] += t; } E[i] += t; } }
static void h(int j) { for (j = 0; j < n; j++) { int k; for (k = 0; k < j; k++) G[k][j] += 1; D[j] += k; } for (j = 0; j < 5; j++) D[j] += 1; i = j; }
""",
    "f(); g(3); h(2); hash(&i, 4);",
    2,
)
_add(
    "many-calls",
    """
static void f(int n, int from, double *a) { for (int i = from; i < n; i++) for (int j = from; j <= i; j++) a[i * n + j] = a[j * n + i] + i - j; }
static int depth(int n) { for (int i = 0; i < n; i++) D[i] += n; return n > 0 ? depth(n - 1) + 1 : 0; }
""",
    "for (int k = 0; k < 50; k++) f(k, k % 7, k % 2 ? D : E); int d = depth(30); hash(&d, 4);",
    2,
)
_add(
    "changed-scalars",
    """
static void f(int n) { double t = 0; int k = 7; for (int i = 0; i < n; i++) { t = D[i] + 1; for (int j = 0; j < n; j++) G[i][j] = t * j; k = i; } D[1] = t; I[1] = k; }
static double g(int n) { double best = -1e9; int at = -1; for (int i = 0; i < n; i++) if (D[i] > best) { best = D[i]; at = i; } return best + at; }
static void h(int n) { double last; for (int i = 0; i < n; i++) { if (i == 0) last = D[0]; double next = D[i]; E[i] = next - last; last = next; } }
static int k(int n) { int count = 0; for (int i = 0; i < n; i++) { count += I[i] > 1000; I[i] = count; } return count; }
""",
    "f(50); f(0); double b = g(900); hash(&b, 8); h(900); h(0); int c = k(900); hash(&c, 4);",
    2,
)
_add(
    "signal-handler",
    """
#include <signal.h>
#include <sys/time.h>
static volatile sig_atomic_t ticks; static double shared[8];
static void tick(int s) { (void)s; ticks++; shared[ticks % 8] = ticks; }
static void f(int n) { for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) G[j][i] += D[i] * 0.5; for (int i = 0; i < n; i++) if (ticks >= 0) D[i] += 1; }
""",
    "signal(SIGALRM, tick); struct itimerval t = {{0, 1000}, {0, 1000}}; setitimer(ITIMER_REAL, &t, 0); for (int r = 0; r < 300; r++) f(60);"
    "memset(&t, 0, sizeof t); setitimer(ITIMER_REAL, &t, 0);",
    1,
)
_add(
    "thread-local",
    """
static _Thread_local double mine[64]; static __thread double total; static double theirs[64];
#pragma omp threadprivate(theirs)
static void f(int n) { for (int i = 0; i < n; i++) mine[i] = D[i]; for (int i = 0; i < n; i++) total += mine[i]; for (int i = 0; i < n; i++) theirs[i] = i; for (int i = 0; i < n; i++) D[i] += 1; }
""",
    "f(60); hash(mine, sizeof mine); hash(&total, 8); hash(theirs, sizeof theirs);",
    1,
    ("-fopenmp",),
)
_add(
    "included-nest",
    """
static inline double half(double x) { return x * 0.5; }
static double pick(int c, double a, double b) { if (c) return a; return b; }
static void f(int n) { for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) G[i][j] = half(G[j][i]) + pick(i > j, D[i], E[j]); }
""",
    "f(60);",
)
_add(
    "declared-in-header",
    """
#include <omp.h>
#include <stdint.h>
static void f(int n) { for (int i = 0; i < n; i++) D[i] += omp_get_max_threads() > 0; }
static void g(int64_t n) { for (int64_t i = 0; i < n; ++i) for (int_fast16_t j = 0; j < 40; ++j) G[i][j] += j; }
""",
    "f(60); g(60);",
    1,
    ("-fopenmp",),
)
_add(
    "conditional-text",
    """
#if 0
static void f(int n) { for (int i = 0; i < n; i++) D[i] = "never"; }
#elif defined(WRONG)
#error wrong
#else
static void f(int n)
{
#ifdef SET
    for (int i = 0; i < n; i++)
#else
    for (int i = 1; i < n; i++)
#endif
        D[i] += 1;
    for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) G[j][i] += 1;
}
#endif
""",
    "f(60);",
    1,
    ("-DSET",),
)
