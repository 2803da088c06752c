"""Random programs whose loops end the program or are left on an error, which really happens in some of the calls."""

from __future__ import annotations

import random

_SIZE = 80  # readers think of 64 and more as usual sizes
_ABOUT_DATA = (
    "x[i] < 0",
    "!(x[i] >= 0)",
    "isnan(x[i]) || x[i] < -1",
    "c[i] < 0 || c[i] >= m",
    "c[i] >= 0 ? z[c[i] % 80] < 0 : 1",
    "c[i] < 0 || z[c[i] % 80] < 0",
    "fabs(x[i]) > 100 || c[i] == -7",
    "(c[i] & 64) && x[i] < 3",
    "A[i][0] < -50 || x[i] < 0",
)
_INNER = ("x[i] + j < 0", "A[j][i] > 90 && x[i] < 0", "c[i] < -j", "j == 3 && c[i] < 0")
_AFFINE = ("i >= m", "2 * i > m + n", "n > m", "i == m", "i < 0", "i + 1 > 80", "i > 3 && m < 9")
_CHANGED = ("A[i][0] > 30", "B[i][1] < -60", "sum > 1e6")
_BODIES = (
    "A[i][j] += x[i] * j;",
    "A[i][j] = B[i][j] + x[i];",
    "B[i][j] = z[j] - c[i];",
    "p[i * 80 + j] = x[i] + A[i][j];",
    "p[i] += A[i][j] * z[j];",
    "A[i][j] = i > 0 ? A[i - 1][j] + x[i] : x[i];",
    "sum += A[i][j] * 0.5;",
)


class Writer:
    """One program of some functions with a nest each, which are called with data that let all iterations pass, or not.
    In the latter case what is behind the last element that should be read may not be there."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(f"exits {seed}")
        self.apart: set[int] = set()  # functions that must not store through `p` into what they read

    def program(self) -> str:
        rng = self.rng
        count = rng.randint(1, 3)
        functions = "\n".join(self.function(k) for k in range(count))
        calls = "\n".join(self.call(rng.randrange(count)) for _ in range(5))
        return f"""#include <assert.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
static double A[80][80], B[80][80];
static jmp_buf stopped;
static double *p;
static unsigned long hash(const void *at, size_t n)
{{
    const unsigned char *b = at;
    unsigned long h = 1;
    for (size_t i = 0; i < n; i++) h = h * 31 + b[i];
    return h;
}}
static void show(void)
{{
    printf("%lx %lx %lx\\n", hash(A, sizeof A), hash(B, sizeof B), hash(p, 80 * 80 * sizeof *p));
    fflush(stdout);
}}
static void on_abort(int number) {{ (void)number; show(); _Exit(0); }}
static _Noreturn void leave(int code) {{ printf("left %d\\n", code); longjmp(stopped, 1); }}
static void die(const char *text, int code) {{ puts(text); show(); _Exit(code); }}
#define CHECK(c) do {{ if (!(c)) die("no " #c, 0); }} while (0)
static int at(const int *c, int i, int m) {{ assert(c[i] >= 0 && c[i] < m); return c[i]; }}
static double positive(double x) {{ if (x < 0) leave(9); return x; }}
{functions}
int main(void)
{{
    volatile int call = 0;
    p = calloc(80 * 80, sizeof *p);
    signal(SIGABRT, on_abort);
{calls}
    return 0;
}}
"""

    def call(self, number: int) -> str:
        """With data that fit `n` iterations, or of which one is bad."""
        rng = self.rng
        n = rng.choice((80, 80, 79, 33, 1, 0))
        bad = rng.choice((n, n, n, rng.randint(0, max(n - 1, 0)), rng.randint(0, 5)))
        stored = "p" if number in self.apart else rng.choice(("p", "p", "p", "x", "z"))
        what = rng.choice(("x[bad] = -9;", "x[bad] = NAN;", "c[bad] = -7;", "c[bad] = 300;", "z[c[bad] % 80] = -1;"))
        m = rng.choice((80, 80, 80, 100, 40, 5))
        return f"""    if (!setjmp(stopped)) {{
        int n = {n}, bad = {bad}, length = {rng.choice(("n", "n", "bad < n ? bad + 1 : n"))};
        double *x = malloc((length + !length) * sizeof *x), *z = malloc(80 * sizeof *z);
        int *c = malloc((length + !length) * sizeof *c);
        for (int i = 0; i < 80; i++) z[i] = i % 7 + 0.5;
        for (int i = 0; i < length; i++) x[i] = i % 11, c[i] = i * 37 % 80;
        if (bad < n) {{ {what} }}
        printf("%d: ", work{number}(x, c, z, {stored}, n, {m}));
    }}
    show(); call++;"""

    def function(self, number: int) -> str:
        rng = self.rng
        qualifier = rng.choice(("", "", "restrict "))
        head = rng.choice(("for (i = 0; i < n; i++)", "for (i = 0; i < n; i++)", "for (i = n - 1; i >= 0; i--)"))
        if rng.random() < 0.4:
            head = head.replace("(i =", "(int i =")
        parts = [self.check() for _ in range(rng.choice((1, 1, 2)))]
        loops = [self.inner() for _ in range(rng.choice((1, 1, 2)))]
        parts += [f"for (int j = 0; j < {rng.choice(('80', 'm', '8'))}; j++) {{ {body} }}" for body in loops]
        if rng.random() < 0.3:
            parts.append(rng.choice(("B[i][0] = x[i];", "p[i] = c[i];", "if (c[i] % 3 == 0) continue;")))
        rng.shuffle(parts)
        if rng.random() < 0.1:
            parts = [part for part in parts if not part.startswith("for")] or parts
            parts.append("A[i][3] += x[i];")
        if qualifier or any("p[i * 80" in part for part in parts):
            self.apart.add(number)
        around = "for (int t = 0; t < 2; t++) " if rng.random() < 0.15 else ""
        before = rng.choice(("", "", "", "for (i = 0; i < n; i++) B[i][2] = i; "))
        text = "\n".join(f"        {part}" for part in parts)
        return f"""__attribute__((noinline)) static int
work{number}(const double *x, const int *{qualifier}c, const double *z, double *{qualifier}p, int n, int m)
{{
    int error = 0, i;
    double sum = 0;
    (void)i; (void)p; (void)m; (void)z; (void)c; (void)x;
    if (n > 80 || m > 100) return -100;
    {before}{around}{head} {{
{text}
    }}
    A[79][79] = sum;
    return error;
out:
    return -3;
}}""".replace("out:\n    return -3;\n", "" if "goto out" not in text else "out:\n    return -3;\n")

    def inner(self) -> str:
        rng = self.rng
        body = rng.choice(_BODIES)
        return body if rng.random() < 0.8 else f"{self.leaving(rng.choice(_INNER), False)} {body}"

    def check(self) -> str:
        rng = self.rng
        kind = rng.random()
        if kind < 0.1:
            return rng.choice(("A[at(c, i, m) % 80][1] += 1;", "B[i][4] = positive(x[i]);"))
        if kind < 0.2:
            left = self.leaving(rng.choice(("t < 0", "t != t || t < -3")), True)
            return f"{{ double t = x[i] * 2 + 1; {left} B[i][5] = t; }}"
        if kind < 0.3:
            left = self.leaving(rng.choice(("k < 0", "k >= 160", "k < i")), True)
            return f"{{ int k = c[i] + i; {left} A[k % 80][2] += 1; }}"
        source = _ABOUT_DATA if kind < 0.75 else _AFFINE if kind < 0.93 else _CHANGED
        check = self.leaving(rng.choice(source), True)
        return f"if (c[i] % 5) {{ {check} }}" if rng.random() < 0.2 else check

    def leaving(self, condition: str, outermost: bool) -> str:
        rng = self.rng
        ways = [
            f"assert(!({condition}));",
            f"if ({condition}) leave({rng.randint(1, 8)});",
            f"if ({condition}) return -{rng.randint(1, 9)};",
            f'if ({condition}) {{ printf("bad %d\\n", i); return -2; }}',
            f"if ({condition}) goto out;",
            f"CHECK(!({condition}));",
            f"if ({condition}) {{ show(); _Exit(0); }}",
            f"if (!({condition})) A[i][7] += 1; else leave(3);",
        ]
        if outermost:
            ways += [f"if ({condition}) {{ error = i + 1; break; }}"] * 2 + [f"if ({condition}) break;"]
        return rng.choice(ways)
