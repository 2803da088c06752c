"""Random C programs with tables of pointers to rows, which lie in any way: permuted, shared, overlapping."""

from __future__ import annotations

import random

_LAYOUTS = """
enum { BLOCK, SINGLE, PERMUTED, REVERSED, TWICE, SHIFTED, LAYOUTS };
#define TABLE(T) \\
static T **table_##T(int n, int m, int how, int low, T **other) \\
{ \\
    T **t = malloc((n + 1) * sizeof *t), *block = calloc((size_t)(n + 2) * (m + 4), sizeof **t); \\
    for (int i = 0; i < n; i++) { \\
        int at = how == PERMUTED ? (i * 7 + 3) % (n % 7 ? n : 1) : how == REVERSED ? n - 1 - i : i; \\
        if (how == PERMUTED && n % 7 == 0) at = i ^ (i + 1 < n || i & 1); \\
        t[i] = how == SINGLE ? calloc(m + 1, sizeof **t) : block + (size_t)at * (how == SHIFTED ? m - 1 : m + 1); \\
        if (how == TWICE && i == n - 2 && i > low) t[i] = t[low]; \\
        if (other && i % 3 == 1) t[i] = other[i]; \\
        if (i < low) t[i] = (T *)(size_t)(16 + i); /* the program does not use it */ \\
        else for (int j = 0; j < m; j++) t[i][j] = (T)((i * 5 + j * 3) % 11); \\
    } \\
    return t; \\
}
TABLE(double)
TABLE(int)
static double ***cube(int n, int m, int l, int how)
{
    double ***t = malloc((n + 1) * sizeof *t);
    for (int i = 0; i < n; i++) t[i] = table_double(m, l, how, 0, 0);
    if (how == TWICE && n > 2) t[n - 1] = t[0];
    return t;
}
static void show(const char *t, const void *p, size_t n)
{
    const unsigned char *b = p;
    unsigned long h = 1;
    for (size_t i = 0; i < n; i++) h = h * 31 + b[i];
    printf("%s %lx\\n", t, h);
}
"""


class Writer:
    """One program. `clean`: no memory is in two rows, so that the new code has to run."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(f"rows {seed}")
        self.clean = self.rng.random() < 0.5
        self.low = self.rng.choice((0, 0, 1, 2))  # the first row that exists
        self.margin = 1

    def program(self) -> str:
        rng = self.rng
        n, m, depth = (rng.choice((3, 6, 9, 14, 21)) for _ in range(3))
        small = tuple(rng.randint(0, 3) for _ in range(3))
        called = [(n, m, depth), small, (n, rng.randint(0, m), depth)]
        nests = "\n".join(self.nest() for _ in range(rng.randint(1, 3)))

        def how() -> str:
            shared = () if self.clean else ("TWICE", "SHIFTED")
            return str(rng.choice(("BLOCK", "SINGLE", "PERMUTED", "REVERSED", *shared)))

        other = "0" if self.clean or rng.random() < 0.5 else "a"
        calls = [f"    work(a, b, k, c, &s, u, v, x, f, {', '.join(map(str, sizes))});" for sizes in called]
        second = "a" if not self.clean and rng.random() < 0.3 else "b"
        calls.append(f"    work({second}, b, k, c, &s, u, {'v' if self.clean else 'u'}, x, f, {n}, {m}, {depth});")
        rows = f"for (int i = {self.low}; i < N; i++)"
        return "\n".join(
            (
                "#include <stdio.h>",
                "#include <stdlib.h>",
                "struct space { int n, m; double **g; };",
                "static double *fixed[32];",
                _LAYOUTS,
                "__attribute__((noinline)) void work(double **a, double **b, int **k, double *const *c,",
                "    struct space *s, double ***u, double ***v, double *x, const int *f, int n, int m, int l)",
                "{",
                "    double total = 0;",
                "    int i, j;",
                "    (void)i; (void)j; (void)a; (void)b; (void)k; (void)c; (void)s; (void)u; (void)v; (void)f;",
                "    (void)l;",
                nests,
                "    x[0] += total;",
                "}",
                "int main(void)",
                "{",
                f"    enum {{ N = {n}, M = {m}, L = {depth} }};",
                f"    double **a = table_double(N, M, {how()}, {self.low}, 0);",
                f"    double **b = table_double(N, M, {how()}, {self.low}, {other});",
                f"    double **c = table_double(N, M, {how()}, {self.low}, {other});",
                f"    int **k = table_int(N, M, {how()}, {self.low}, 0), f[32];",
                f"    double **g = table_double(N, M, {how()}, {self.low}, {other}), *x = calloc(64, 8);",
                f"    double ***u = cube(N, M, L, {how()}), ***v = cube(N, M, L, {how()});",
                "    struct space s = { N, M, g };",
                "    for (int i = 0; i < 32; i++) f[i] = i % 3 != 1, x[i] = i * 0.25;",
                f"    for (int i = 0; i < N; i++) fixed[i] = {'calloc(M + 1, 8)' if self.clean else 'b[i]'};",
                calls[0],
                "#ifndef FIRST",
                *calls[1:],
                "#endif",
                f'    {rows} {{ show("a", a[i], M * 8); show("b", b[i], M * 8); show("c", c[i], M * 8); }}',
                f'    {rows} {{ show("g", g[i], M * 8); show("k", k[i], M * 4); show("fixed", fixed[i], M * 8); }}',
                '    for (int i = 0; i < N; i++) for (int j = 0; j < M; j++) show("u", u[i][j], L * 8), '
                'show("v", v[i][j], L * 8);',
                '    show("x", x, 64 * 8);',
                "    return 0;",
                "}",
                "",
            )
        )

    # ------------------------------------------------------------------------------------- nests

    def nest(self) -> str:
        rng, low = self.rng, self.low + self.margin
        cubic = rng.random() < 0.3
        heads = [f"for (int i = {low}; i < n - 1; i++)", "for (int j = 1; j < m - 1; j++)"]
        if cubic:
            heads = ["for (int i = 1; i < n - 1; i++)", heads[1], "for (int p = 1; p < l - 1; p++)"]
        elif rng.random() < 0.2:
            heads = [f"for (i = {low}; i < n - 1; i++)", "for (j = 1; j < m - 1; j++)"]
        elif rng.random() < 0.2:
            heads[1] = "for (int j = 1; j < m - 1 && j <= i; j++)"
        if rng.random() < 0.5 and "&&" not in heads[1]:
            rng.shuffle(heads)
        if not cubic and rng.random() < 0.2:
            heads.insert(0, "for (int t = 0; t < 2; t++)")
        if not cubic and rng.random() < 0.15 and "j <=" not in heads[1]:
            heads.append("for (int p = 0; p < m; p++)")
        if rng.random() < 0.12:
            heads.insert(
                len(heads) - 1 if heads[-1].find("j") > 0 else len(heads),
                "if (f[i % 32] > 0)" if heads[0].find("i =") > 0 else "",
            )
        statements = [self.cubic() if cubic else self.statement() for _ in range(rng.randint(1, 2))]
        return f"    {' '.join(heads)} {{\n" + "".join(f"        {s}\n" for s in statements) + "    }"

    def row(self) -> str:
        return self.rng.choice(("i", "i", "i", "i - 1", "i + 1"))

    def column(self) -> str:
        return self.rng.choice(("j", "j", "j", "j - 1", "j + 1"))

    def place(self, written: bool = False) -> str:
        rng = self.rng
        name = rng.choice(("a", "b", "a", "b", "c", "s->g", "fixed"))
        if name == "fixed" and self.low:
            name = "b"
        kind = rng.randrange(8)
        if kind == 0:
            return f"*(*({name} + {self.row()}) + {self.column()})"
        if kind == 1:
            return f"(*({name} + ({self.row()})))[{self.column()}]"
        if kind == 2 and not written:
            return f"{name}[{self.low + 1}][{self.column()}]" if rng.random() < 0.5 else f"x[{self.column()}]"
        if kind == 3 and self.rng.random() < 0.5:
            return f"x[{self.column()}]"
        return f"{name}[{self.row()}][{self.column()}]"

    def value(self) -> str:
        return f"{self.place()} * 0.5 + {self.rng.choice((self.place(), '0.25', 'k[i][j]', 'x[i]'))}"

    def statement(self) -> str:
        rng = self.rng
        kind = rng.randrange(9)
        if kind == 0:
            return f"k[{self.row()}][j] = k[i][{self.column()}] % 5 + i;"
        if kind == 1:
            return f"total += {self.value()};"
        if kind == 2:
            return f"{{ double *row = a[{self.row()}]; row[j] = row[{self.column()}] * 0.5 + {self.place()}; }}"
        if kind == 3:
            return f"if ({self.place()} > 3) {self.place(True)} = {self.value()};"
        if kind == 4:
            return f"{{ double t = {self.value()}; {self.place(True)} = t; {self.place(True)} = t * 0.5; }}"
        return f"{self.place(True)} {rng.choice(('=', '=', '+='))} {self.value()};"

    def cubic(self) -> str:
        rng = self.rng

        def at(name: str) -> str:
            j, p = self.column(), rng.choice(("p", "p", "p - 1", "p + 1"))
            return f"{name}[{self.row()}][{j}][{p}]"

        return f"{at(rng.choice('uv'))} {rng.choice(('=', '+='))} {at('u')} * 0.5 + {at(rng.choice('uv'))} * 0.25;"
