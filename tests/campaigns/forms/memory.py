"""Random programs that set and copy memory inside their loops, in whole arrays, rows, parts of rows and members, and
reach rows by their distance from the first element."""

from __future__ import annotations

import random

_TYPES = {"A": "double", "B": "double", "F": "float", "K": "int", "U": "unsigned char"}
_ROWS, _COLUMNS = 12, 80  # readers think of 64 and more as usual sizes


class Writer:
    """One program; `n` rows and `m` columns are used of more, `p` and `q` are as many in one dimension."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(f"memory {seed}")

    def program(self) -> str:
        rng = self.rng
        nests = "\n".join(self.nest() for _ in range(rng.randint(1, 3)))
        declared = "\n".join(f"static {kind} {name}[{_ROWS}][{_COLUMNS}];" for name, kind in _TYPES.items())
        shown = "\n".join(f'    show("{name}", {name}, sizeof {name});' for name in _TYPES)
        sizes = [(_ROWS, _COLUMNS), (rng.randint(0, _ROWS), rng.randint(0, _COLUMNS)), (1, 1)]
        calls = "\n".join(f"    work(p, q, s, {n}, {m}, {rng.randint(0, 300)});" for n, m in sizes)
        return f"""#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct cell {{ float g[4][2]; int h[6]; unsigned char c[5]; }};
{declared}
static void show(const char *t, const void *p, size_t n)
{{
    const unsigned char *b = p;
    unsigned long h = 1;
    for (size_t i = 0; i < n; i++) h = h * 31 + b[i];
    printf("%s %lx\\n", t, h);
}}
__attribute__((noinline)) void work(double *p, double *q, struct cell *s, int n, int m, int v)
{{
    int i, j;
    (void)i; (void)j; (void)p; (void)q; (void)s; (void)v;
{nests}
}}
int main(void)
{{
    double *p = calloc({_ROWS} * {_COLUMNS}, 8), *q = calloc({_ROWS} * {_COLUMNS}, 8);
    struct cell *s = calloc({_ROWS}, sizeof *s);
    for (int i = 0; i < {_ROWS}; i++)
        for (int j = 0; j < {_COLUMNS}; j++) {{
            A[i][j] = i * 3 - j; B[i][j] = (i + j) % 5; F[i][j] = i - j; K[i][j] = i * j; U[i][j] = i * 16 + j;
            p[i * {_COLUMNS} + j] = j - 2 * i;
        }}
{calls}
{shown}
    show("p", p, {_ROWS * _COLUMNS} * 8); show("q", q, {_ROWS * _COLUMNS} * 8); show("s", s, {_ROWS} * sizeof *s);
    return 0;
}}
"""

    def nest(self) -> str:
        rng = self.rng
        time = "for (int t = 0; t < 2; t++) " if rng.random() < 0.3 else ""
        parts = [self.memory() for _ in range(rng.randint(1, 3))] + [self.loop() for _ in range(rng.randint(1, 2))]
        rng.shuffle(parts)
        head = rng.choice(
            ("for (int i = 0; i < n; i++)", "for (i = 0; i < n; i++)", "for (int i = n - 1; i >= 0; i--)")
        )
        whole = f"{self.whole()} " if time and rng.random() < 0.5 else ""
        return f"    {time}{{ {whole}{head} {{\n" + "".join(f"        {p}\n" for p in parts) + "    } }"

    def whole(self) -> str:
        name, other = self.rng.choice(("A", "F", "K", "U")), self.rng.choice(("A", "B"))
        copied = f"memcpy({other}, {'B' if other == 'A' else 'A'}, sizeof {other});"
        return self.rng.choice(
            (f"memset({name}, 0, sizeof {name});", f"memset(&{name}[0][0], 0, sizeof({name}));", copied)
        )

    def memory(self) -> str:
        rng = self.rng
        if rng.random() < 0.2:
            member = rng.choice(("g", "h", "c"))
            value = {"g": "0", "h": rng.choice(("0", "-1", "0xff")), "c": "v + i"}[member]
            if rng.random() < 0.5:
                return f"memset(s[i].{member}, {value}, sizeof s[i].{member});"
            return f"memcpy(s[i].{member}, s[{rng.choice(('n - 1 - i', 'i / 2'))}].{member}, sizeof s->{member});"
        if rng.random() < 0.3:
            row = rng.choice(("p + i * m", "&p[i * m]", "q + (n - 1 - i) * m"))
            if rng.random() < 0.5:
                return f"memset({row}, 0, m * sizeof(double));"
            other = rng.choice(("q + i * m", "A[i]", "B[i]")) if "p" in row else rng.choice(("p + i * m", "A[i]"))
            return f"memcpy({row}, {other}, sizeof(double) * m);"
        name = rng.choice(list(_TYPES))
        value = "v + i" if name == "U" else rng.choice(("0", "-1")) if name == "K" else "0"
        row = rng.choice((f"{name}[i]", f"&{name}[i][0]", f"{name}[n - 1 - i]"))
        size = rng.choice((f"m * sizeof({_TYPES[name]})", f"sizeof {name}[0]", f"(size_t)m * sizeof **{name}"))
        if rng.random() < 0.2:
            row, size = f"&{name}[i][1]", f"(m - 1) * sizeof({_TYPES[name]})"
            return f"if (m > 0) memset({row}, {value}, {size});"
        if rng.random() < 0.5 or name not in ("A", "B"):
            return f"memset({row}, {value}, {size});"
        return f"memcpy({row}, {'B' if name == 'A' else 'A'}[{rng.choice(('i', 'n - 1 - i'))}], {size});"

    def loop(self) -> str:
        rng = self.rng
        lines = [
            f"{self.place()} += {self.place(False)} + {rng.choice(('1', 'i', 'j', self.place(False)))};" for _ in "12"
        ]
        if rng.random() < 0.3:  # rows by their distance from the first element
            name, column = rng.choice(("A", "B")), rng.choice(("j", "m - 1 - j"))
            row = rng.choice((f"i * {_COLUMNS}", f"(n - 1 - i) * {_COLUMNS}"))
            lines[0] = f"{{ double *w = &{name}[0][0]; w[i * {_COLUMNS} + j] = w[{row} + {column}] * 0.5 + 1; }}"
        return f"for (int j = 0; j < m; j++) {{ {' '.join(lines[: rng.randint(1, 2)])} }}"

    def place(self, written: bool = True) -> str:
        rng = self.rng
        if rng.random() < 0.3:
            return rng.choice(("p[i * m + j]", "q[i * m + j]", "s[i].g[j % 4][1]", "s[i].h[j % 6]", "s[i].c[2]"))
        row = "i" if written else rng.choice(("i", "i", "n - 1 - i", "0"))
        return f"{rng.choice(list(_TYPES))}[{row}][{rng.choice(('j', 'm - 1 - j'))}]"
