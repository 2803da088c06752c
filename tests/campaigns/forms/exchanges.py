"""Random programs whose loops over time exchange buffers, in all manners that people write that in, and in some that
only look so."""

from __future__ import annotations

import random
from itertools import pairwise

_SIZE = 24
_HEADS = (
    "for (int t = 0; t < steps; t++)",
    "for (int t = 0; t < steps; t++)",
    "for (t = 0; t < steps; ++t)",
    "for (int t = 1; t <= steps; t++)",
    "for (int t = steps; t > 0; t--)",
    "for (long t = 0; t < steps; t += 2)",
    "for (unsigned t = 3; t < (unsigned)(steps + 3); t++)",
    "for (size_t t = 0; t != (size_t)steps; t++)",
    "for (int t = 0, k = 5; t < steps; t++, k += 2)",
    "for (t = 0; t < 5; t++)",
    "for (int t = 0; t < 6 && t < steps; t++)",
    "t = 0; while (t < steps)",
    "t = 1; while (t <= steps)",
)


class Writer:
    """One program; its buffers have `n` elements, or `n / 4` rows of 4."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(f"exchanges {seed}")
        self.names = self.rng.sample("abcd", self.rng.choice((2, 2, 2, 3, 4)))

    def program(self) -> str:
        rng = self.rng
        works = "\n".join(self.work(number) for number in range(rng.randint(1, 2)))
        steps = [rng.randint(0, 2), *rng.sample(range(3, 12), 3)]
        overlap = rng.choice(("B + 0", "B + 0", "B + 0", "A + 2"))
        calls = "\n".join(
            f"    work{k}({_SIZE - 4}, {s}, A + 0, {overlap}, C + 0, D + 0); look();"
            for s in steps
            for k in range(2)
            if f"work{k}(" in works
        )
        return f"""#include <stdio.h>
#include <stdlib.h>
typedef struct {{ int n, cur; double *a, *b, *c, *d, *u[4]; double buf[4][{_SIZE}]; }} grid;
static double A[{_SIZE}], B[{_SIZE}], C[{_SIZE}], D[{_SIZE}], *ga, *gb, *gc, *gd;
static void exchange(double **p, double **q) {{ double *t = *p; *p = *q; *q = t; }}
#define SWAP(T, p, q) do {{ T t_ = p; p = q; q = t_; }} while (0)
static void relax(int n, const double *p, double *q)
{{
    for (int i = 1; i < n - 1; i++) q[i] = 0.5 * p[i] + 0.25 * (p[i - 1] + p[i + 1]);
}}
static void show(const char *s, const double *p)
{{
    double x = 0;
    for (int i = 0; i < {_SIZE}; i++) x += p[i] * (i + 1);
    printf("%s %.17g\\n", s, x);
}}
static void look(void) {{ show("A", A); show("B", B); show("C", C); show("D", D); }}
{works}
int main(void)
{{
    for (int i = 0; i < {_SIZE}; i++) {{ A[i] = i % 5; B[i] = i % 7 - 2; C[i] = 3 - i % 4; D[i] = i % 3; }}
{calls}
    return 0;
}}
"""

    def work(self, number: int) -> str:
        rng = self.rng
        manner = rng.choice(
            ("pointers", "pointers", "pointers", "members", "table", "globals", "rows", "index", "index")
        )
        head = rng.choice(_HEADS)
        self.step = " t++;" if "while" in head else ""
        self.own_t = "(" in head and any(f"({kind} t" in head for kind in ("int", "long", "unsigned", "size_t"))
        names, setup, behind = getattr(self, f"_{manner}")()
        order = list(names)
        body = [self.compute(order, manner) for _ in range(rng.randint(1, 2))]
        exchange = self.exchange(order, manner)
        if manner == "index":
            body = [self.indexed() for _ in body]
        more = [] if rng.random() < 0.5 else [self.more(order, manner)]
        parts = [*body, *more]
        parts.insert(rng.choice((len(parts), len(parts), 0, rng.randint(0, len(parts)))), exchange)
        lines = "\n".join(f"            {part}" for part in parts)
        loop = f"{head} {{\n{lines}\n           {self.step}\n        }}"
        if rng.random() < 0.15:
            loop = f"for (int r = 0; r < 2; r++) {{ {loop} }}"
        used = "" if self.own_t else " sum += t;"
        return f"""__attribute__((noinline))
void work{number}(int n, int steps, double *a, double *b, double *c, double *d)
{{
    int i, j, t = 0, m = n / 4, cur = 0, next = 1; double s, sum = 0, *old, *tmp; grid whole, *g = &whole;
    (void)t; (void)m; (void)cur; (void)next; (void)old; (void)tmp; (void)g;
{setup}
    {{
        {loop}
    }}
{behind}{used}
    D[3] += sum;
}}"""

    # ------------------------------------------------------------------------ how buffers are named

    def _pointers(self) -> tuple[list[str], str, str]:
        local = self.rng.random() < 0.3
        setup = "    a = malloc(n * 8); for (int i = 0; i < n; i++) a[i] = A[i] + i;" if local else ""
        behind = "".join(f" {name}[1] += {k + 1};" for k, name in enumerate(self.names) if self.rng.random() < 0.7)
        return self.names, setup, f"    D[2] += {self.names[0]}[2] * 3;{behind}"

    def _members(self) -> tuple[list[str], str, str]:
        names = [f"g->{name}" for name in self.names]
        setup = "".join(f" g->{name} = {name};" for name in "abcd")
        return names, f"    g->n = n;{setup}", "".join(f"    {name}[1] += {k + 1};" for k, name in enumerate(names))

    def _table(self) -> tuple[list[str], str, str]:
        names = [f"g->u[{k}]" for k in range(len(self.names))]
        setup = "".join(f" g->u[{k}] = {name};" for k, name in enumerate("abcd"))
        return names, f"   {setup}", "".join(f"    {name}[1] += {k + 1};" for k, name in enumerate(names))

    def _globals(self) -> tuple[list[str], str, str]:
        names = [f"g{name}" for name in self.names]
        setup = "".join(f" g{name} = {name};" for name in "abcd")
        return names, f"   {setup}", "".join(f"    {name}[1] += {k + 1};" for k, name in enumerate(names))

    def _rows(self) -> tuple[list[str], str, str]:
        names = [f"{name}2" for name in self.names]
        declared = "".join(f" double (*{name}2)[4] = (double (*)[4]){name};" for name in "abcd")
        used = "".join(f" (void){name}2;" for name in "abcd")
        return names, f"   {declared}{used}", "".join(f"    {n}[1][2] += {k + 1};" for k, n in enumerate(names))

    def _index(self) -> tuple[list[str], str, str]:
        setup = "    for (int k = 0; k < 4; k++) for (int i = 0; i < n; i++) g->buf[k][i] = A[i] + k;"
        start = self.rng.choice(("", " cur = 1; next = 0;", " cur = steps % 2; next = 1 - cur;"))
        behind = "    for (int i = 0; i < n; i++) C[i] = g->buf[cur][i] - g->buf[next & 3][i]; sum += cur + 2 * next;"
        return ["g->buf[0]", "g->buf[1]"], setup + start, behind

    # --------------------------------------------------------------------------- what stands in the loop

    def compute(self, names: list[str], manner: str) -> str:
        rng = self.rng
        source, target = names[0], names[-1]
        if manner == "rows":
            return (
                f"for (int i = 1; i < m - 1; i++) for (int j = 0; j < 4; j++) {target}[i][j] = "
                f"0.5 * {source}[i][j] + 0.25 * ({source}[i - 1][j] + {source}[i + 1][j]){self.term()};"
            )
        if rng.random() < 0.15 and manner != "rows":
            return f"relax(n, {source}, {target});"
        other = rng.choice(names)
        pragma = "\n#pragma omp parallel for\n            " if rng.random() < 0.1 else ""
        if rng.random() < 0.15:
            pragma = "\n#pragma omp parallel for private(s, j)\n            " if rng.random() < 0.5 else ""
            sums = f"for (j = 0; j < 3; j++) s += {source}[i + j];" if rng.random() < 0.5 else ""
            lines = f"s = {source}[i]; {sums} {target}[i] = s * 0.25{self.term()};"
            return f"{pragma}for (i = 0; i < n - 3; i++) {{ {lines} }}"
        if rng.random() < 0.2:
            return (
                f"{pragma}for (int i = 1; i < n; i++) {target}[i] = {source}[i] - 0.5 * {source}[i - 1]{self.term()};"
            )
        return (
            f"{pragma}for (int i = 1; i < n - 1; i++) {target}[i] = 0.5 * {source}[i] + 0.125 * "
            f"({source}[i - 1] + {other}[i]){self.term()};"
        )

    def term(self) -> str:
        return self.rng.choice(("", "", " + t", " + (t & 1)", " + 1"))

    def indexed(self) -> str:
        rng = self.rng
        source = rng.choice(("cur", "cur", "t & 1", "t % 2"))
        target = {"cur": rng.choice(("next", "1 - cur", "!cur", "cur ^ 1"))}.get(source, "(t + 1) % 2")
        return (
            f"for (int i = 1; i < n - 1; i++) g->buf[{target}][i] = 0.5 * g->buf[{source}][i] + 0.25 * "
            f"(g->buf[{source}][i - 1] + g->buf[{source}][i + 1]){self.term()};"
        )

    def exchange(self, names: list[str], manner: str) -> str:
        rng = self.rng
        if manner == "index":
            return rng.choice(
                (
                    "cur = 1 - cur; next = 1 - next;",
                    "cur ^= 1; next ^= 1;",
                    "cur = !cur; next = !next;",
                    "{ int q = cur; cur = next; next = q; }",
                    "next = cur; cur = 1 - cur;",
                    "cur = (cur + 1) % 2; next = 1 - cur;",
                    "if (t % 2) { cur ^= 1; next ^= 1; }",
                    "cur = 0;",
                )
            )
        star = "(*{})[4]" if manner == "rows" else "*{}"
        kept = rng.choice(("tmp", "old", "")) if manner != "rows" else ""
        first = f"{kept} = {names[0]};" if kept else f"double {star.format('held')} = {names[0]};"
        moves = [f"{one} = {other};" for one, other in pairwise(names)]
        moves.append(f"{names[-1]} = {kept or 'held'};")
        chosen = rng.random()
        if len(names) == 2 and chosen < 0.3 and manner != "rows":
            return rng.choice((f"exchange(&{names[0]}, &{names[1]});", f"SWAP(double *, {names[0]}, {names[1]});"))
        if chosen > 0.93:  # no exchange, though it looks so
            return rng.choice(
                (
                    f"{names[0]} = {names[1]};",
                    f"if (t % 3) {{ {first} {' '.join(moves)} }}",
                    f"{first} {' '.join(moves[:-1])}",
                    f"{first} {' '.join(moves)} {names[0]} += 0;",
                )
            )
        if len(names) > 2 and chosen < 0.4:  # the first two alone, or backwards
            return f"{first} {names[0]} = {names[1]}; {names[1]} = {kept or 'held'};"
        return f"{first} {' '.join(moves)}"

    def more(self, names: list[str], manner: str) -> str:
        rng = self.rng
        one = rng.choice(names)
        if manner == "index":
            return rng.choice(("sum += g->buf[cur][2];", "sum += t;", "g->buf[next & 3][0] = t + cur;"))
        if manner == "rows":
            return f"{one}[0][1] = {rng.choice(names)}[1][0] + t;"
        return rng.choice(
            (
                f"{one}[0] = t;",
                f"sum += {one}[3] * t;",
                f"{one}[n - 1] = {rng.choice(names)}[n - 2];",
                f"if ({one}[2] > 1) sum += 0.5;",
                f"for (int i = 0; i < n; i++) sum += {one}[i];",
                f"{{ double *here = {one} + 1; for (int i = 0; i < n - 1; i++) here[i] *= 0.5; }}",
                f"if (t % 2 == 0) {one}[1] = 2;",
            )
        )
