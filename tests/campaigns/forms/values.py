"""Random C programs with functions that take and return structures by value, and with functions that return early."""

from __future__ import annotations

import random
from collections.abc import Callable

TYPES = """typedef struct { double x, y; } pt;
struct v { double v[3]; int k; };
typedef struct { pt a; float w; struct { int n; double s; } in; } box;
static double tally; static int count;
"""
FIXED = """static double norm(pt a) { return a.x * a.x + a.y * a.y; }
static int same(pt a, pt b) { return a.x == b.x && a.y == b.y; }
static double dot(struct v a, struct v b) { double s = 0; for (int e = 0; e < 3; e++) s += a.v[e] * b.v[e]; return s; }
static pt take(pt *p, int i) { pt old = p[i]; p[i].x = old.y; p[i].y += 1; return old; }
static void both(pt *a, const pt *b) { a->x += b->x * 0.5; a->y -= b->y; if (a->x > 4) a->x = 0; }
static void fill(box *b, pt a, int n) { b->a = a; b->w = n; b->in.n = n % 7; b->in.s = a.x; }
static pt turned(pt a) { pt t = a; both(&t, &a); both(&a, &t); return a.x > t.y ? a : t; }
static pt counted(pt a) { count++; tally += a.x * 0.5; return (pt){ tally, count % 5 }; }
"""


class Writer:
    """One program: a function `work` with nests over structures, called by a main that prints what they leave."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(f"values of structures {seed}")
        self.points: list[tuple[str, int]] = [("turned", 1)]  # functions from points to a point, and how many they take
        self.vectors: list[tuple[str, int]] = []
        self.numbers: list[str] = []  # functions from two points to an int

    def program(self) -> str:
        rng = self.rng
        helpers = [self.point_function(k) for k in range(rng.randint(2, 5))]
        helpers += [self.vector_function(k) for k in range(rng.randint(1, 3))]
        helpers += [self.number_function(k) for k in range(rng.randint(1, 3))]
        nests = "\n".join(self.nest() for _ in range(rng.randint(1, 3)))
        n = rng.randint(6, 14)
        shift = rng.choice(("q", "q", "p", "p + 1"))
        return f"""#include <stdio.h>
#include <stdlib.h>
{TYPES}{FIXED}{"".join(helpers)}
__attribute__((noinline)) void work(int n, int m, pt *p, pt *q, struct v *w, box *b, double *d, int *k, pt c)
{{
    pt last = c; double sum = 0; int hits = 0;
    (void)p; (void)q; (void)w; (void)b; (void)d; (void)k; (void)last; (void)norm; (void)m;
{nests}
    d[0] += sum + hits + last.x;
}}
static void show(const char *t, const void *p, size_t n) {{ const unsigned char *b = p; unsigned long h = 1;
    for (size_t i = 0; i < n; i++) h = h * 31 + b[i]; printf("%s %lx\\n", t, h); }}
int main(void)
{{
    enum {{ N = {n}, M = {n + rng.randint(-2, 4)}, ALL = (N + 4) * (M + 4) }};
    pt *p = calloc(ALL, sizeof *p), *q = calloc(ALL, sizeof *q); struct v *w = calloc(ALL, sizeof *w);
    box *b = calloc(ALL, sizeof *b); double *d = calloc(ALL, 8); int *k = calloc(ALL, 4);
    for (int r = 0; r < 2; r++) {{
        for (int i = 0; i < ALL; i++) {{
            p[i].x = i % 7 * 0.25; p[i].y = i % 5 * 0.5 - 1; q[i].x = i % 3; q[i].y = i % 4 * 0.125; d[i] = i % 11;
            for (int e = 0; e < 3; e++) w[i].v[e] = (i + e) % 6 * 0.5;
            w[i].k = i % 4; b[i].a.x = i % 9; b[i].a.y = 1; b[i].w = i % 2; b[i].in.n = i % 3; b[i].in.s = 0.5;
            k[i] = i * 7 % 10;
        }}
        work(N, M, p, r ? {shift} : q, w, b, d, k, (pt){{ 0.25, -0.5 }});
        show("p", p, ALL * sizeof *p); show("q", q, ALL * sizeof *q); show("d", d, ALL * 8); show("k", k, ALL * 4);
        for (int i = 0; i < ALL; i++) {{
            show("w", w[i].v, 24); show("k", &w[i].k, 4); show("a", &b[i].a, 16); show("s", &b[i].in.s, 8);
            show("n", &b[i].in.n, 4); show("f", &b[i].w, 4);
        }}
    }}
    printf("%a %d\\n", tally, count);
    return 0;
}}
"""

    # ------------------------------------------------------------------------------------ helpers

    def point_function(self, number: int) -> str:
        rng, name = self.rng, f"f{number}"
        takes = rng.randint(1, 2)
        own = ["a", "b"][:takes]
        lines: list[str] = []
        for k in range(rng.randint(0, 3)):
            kind = rng.randrange(8)
            target = rng.choice(own)
            if kind == 0:
                lines.append(f"{target}.{rng.choice('xy')} {rng.choice(('=', '+=', '-='))} {self.inner_number(own)};")
            elif kind == 1:
                lines.append(f"pt t{k} = {self.inner_point(own)};")
                own.append(f"t{k}")
            elif kind == 2:
                lines.append(
                    f"if ({self.inner_number(own)} > {rng.choice(('0', '1', '0.25'))}) return {self.inner_point(own)};"
                )
            elif kind == 3:
                lines.append(f"if ({self.inner_number(own)} < 0.5) {target} = {self.inner_point(own)};")
            elif kind == 4:
                lines.append(f"{{ pt s = {target}; {target}.x = s.y; {target}.y = s.x; }}")
            elif kind == 5:
                lines.append(
                    f"for (int i = 0; i < 4; i++) {{ {target}.x = {target}.x * 0.5 + {target}.y;"
                    f" if ({target}.x > {rng.choice(('1', '2'))})"
                    f" {rng.choice((f'return {self.inner_point(own)};', 'break;'))} }}"
                )
            elif kind == 6:
                lines.append(f"pt u{k}; u{k}.x = {self.inner_number(own)}; u{k}.y = {self.inner_number(own)};")
                own.append(f"u{k}")
            else:
                lines.append(f"{target} = {self.inner_number(own)} > 0 ? {self.inner_point(own)} : {rng.choice(own)};")
        parameters = ", ".join(f"pt {p}" for p in ("a", "b")[:takes])
        head = f"static {rng.choice(('', 'inline '))}pt {name}({parameters})"
        text = f"{head} {{ {' '.join(lines)} return {self.inner_point(own)}; }}\n"
        self.points.append((name, takes))
        return text

    def inner_point(self, own: list[str], depth: int = 0) -> str:
        rng = self.rng
        kind = rng.randrange(6 if depth < 2 else 2)
        if kind == 0 or (kind >= 4 and not self.points):
            return rng.choice(own)
        if kind == 1:
            return f"(pt){{ {self.inner_number(own)} * 0.5, {self.inner_number(own)} }}"
        if kind == 2:
            return f"(pt){{ .y = {self.inner_number(own)} * 0.25{rng.choice((', .x = 1', ''))} }}"
        if kind == 3 and depth == 0:
            return f"({self.inner_number(own)} > 1 ? {self.inner_point(own, 2)} : {self.inner_point(own, 2)})"
        if not self.points:
            return rng.choice(own)
        name, takes = rng.choice(self.points)
        return f"{name}({', '.join(self.inner_point(own, depth + 1) for _ in range(takes))})"

    def inner_number(self, own: list[str]) -> str:
        rng = self.rng
        one, other = rng.choice(own), rng.choice(own)
        return rng.choice(
            (f"{one}.x", f"{one}.y", f"({one}.x - {other}.y)", f"{one}.x * {other}.x", f"norm({one}) * 0.125")
        )

    def vector_function(self, number: int) -> str:
        rng, name = self.rng, f"g{number}"
        takes = rng.randint(1, 2)
        second = "b" if takes == 2 else "a"
        body = rng.choice(
            (
                f"for (int e = 0; e < 3; e++) a.v[e] = a.v[e] * 0.5 + {second}.v[2 - e]; return a;",
                f"struct v r = {{ {{ a.v[0] + {second}.v[1], a.v[1], {second}.v[2] * 0.5 }}, a.k + 1 }}; return r;",
                f"struct v r = {second}; r.v[a.k & 1] = a.v[2]; r.k = a.k ^ 1; return r;",
                f"struct v r; for (int e = 0; e < 3; e++) r.v[e] = a.v[e] - {second}.v[e]; r.k = 2; return r;",
                f"if (a.v[0] > {second}.v[1]) return a; a.v[1] = 0.5; a.k = {second}.k; return a;",
                f"return (struct v){{ .k = a.k + 2, .v = {{ a.v[2], {second}.v[1] }} }};",
                "for (int e = 0; e < 3; e++) if (a.v[e] > 1.5) { a.v[e] = 0; return a; } return a;",
            )
        )
        parameters = ", ".join(f"struct v {p}" for p in ("a", "b")[:takes])
        self.vectors.append((name, takes))
        return f"static struct v {name}({parameters}) {{ {body} }}\n"

    def number_function(self, number: int) -> str:
        rng, name = self.rng, f"h{number}"
        call = self.call(self.points, lambda: rng.choice(("z", "c")))
        limit = rng.choice(("2", "1.5", "4"))
        body = rng.choice(
            (
                f"int n; for (n = 0; n < 9; n++) {{ z = {call}; if (norm(z) > {limit}) break; }} return n;",
                f"for (int n = 0; n < 7; n++) {{ if (norm(z) > {limit}) return n; z = {call}; }} return 7;",
                f"int n = 0; while (n < 8) {{ z = {call}; n++; if (norm(z) > {limit}) {{ z.x = 0; break; }} }}"
                " return n + (z.x > 1);",
                f"int n = 0; while (norm({call}) < {limit} && n < 6) {{ z.x += 0.5; n++; }} return n;",
                f"int n = 0; do {{ z = {call}; if (same(z, c)) return 9; n++; }}"
                f" while (norm(z) < {limit} && n < 5); return n;",
                f"switch ((int)norm(c) % 3) {{ case 0: return 1; case 1: z = {call}; return z.x > 1; default: break; }}"
                " return 3;",
                f"if (z.x > 0) {{ if (c.y > 0) return 4; z = {call}; }} return z.y > c.y ? 1 : 2;",
                "int s = 0; for (int i = 0; i < 3; i++)"
                " for (int e = 0; e < 2; e++) { s += i * e; if (z.x > s) return s; } return s;",
            )
        )
        self.numbers.append(name)
        return f"static int {name}(pt z, pt c) {{ {body} }}\n"

    def call(self, functions: list[tuple[str, int]], argument: Callable[[], str]) -> str:
        name, takes = self.rng.choice(functions)
        return f"{name}({', '.join(argument() for _ in range(takes))})"

    # -------------------------------------------------------------------------------------- nests

    def nest(self) -> str:
        rng = self.rng
        i, j = rng.sample(("i", "j", "r"), 2)
        if rng.random() < 0.5:
            return f"    for (int {i} = 1; {i} < n; {i}++) {{\n{self.body(i)}    }}"
        heads = [f"for (int {i} = 1; {i} < n; {i}++)", f"for (int {j} = 1; {j} < m - 2; {j}++)"]
        rng.shuffle(heads)
        return f"    {' '.join(heads)} {{\n{self.body(f'{i} * m + {j}')}    }}"

    def body(self, at: str) -> str:
        return "".join(f"        {self.statement(at)}\n" for _ in range(self.rng.randint(1, 3)))

    def near(self, at: str) -> str:
        return at + self.rng.choice(("", "", "", " + 1", " - 1"))

    def point(self, at: str, depth: int = 0) -> str:
        rng = self.rng
        kind = rng.randrange(10 if depth < 2 else 4)
        if kind < 2:
            return f"{rng.choice('pq')}[{self.near(at)}]"
        if kind == 2:
            return rng.choice(("c", f"b[{self.near(at)}].a"))
        if kind == 3:
            return f"(pt){{ {self.number(at, 2)}, {rng.choice(('1', '0.5'))} }}"
        if kind == 4 and depth == 0:
            return f"({self.number(at, 2)} > 1 ? {self.point(at, 1)} : {self.point(at, 1)})"
        return self.call(self.points, lambda: self.point(at, depth + 1))

    def vector(self, at: str, depth: int = 0) -> str:
        if self.rng.random() < 0.4 or depth > 1:
            return f"w[{self.near(at)}]"
        return self.call(self.vectors, lambda: self.vector(at, depth + 1))

    def number(self, at: str, depth: int = 0) -> str:
        rng = self.rng
        kind = rng.randrange(9 if depth < 2 else 4)
        if kind == 0:
            return f"d[{self.near(at)}]"
        if kind == 1:
            return f"{rng.choice('pq')}[{self.near(at)}].{rng.choice('xy')}"
        if kind == 2:
            return rng.choice((f"w[{at}].v[{rng.randrange(3)}]", f"b[{at}].in.s", f"b[{at}].w"))
        if kind == 3:
            return rng.choice(("0.5", "c.x", f"k[{at}]"))
        if kind in (4, 5):
            return f"norm({self.point(at, 1)})"
        if kind == 6:
            return f"{self.call(self.points, lambda: self.point(at, 2))}.{rng.choice('xy')}"
        if kind == 7:
            return f"dot({self.vector(at, 1)}, {self.vector(at, 1)})"
        return f"{rng.choice(self.numbers)}({self.point(at, 1)}, {self.point(at, 2)})"

    def statement(self, at: str) -> str:
        rng = self.rng
        kind = rng.randrange(20)
        to = rng.choice("pq")
        match kind:
            case 0 | 1:
                return f"{to}[{self.near(at)}] = {self.point(at)};"
            case 2:
                second = self.call(self.points, lambda: "t")
                return f"{{ pt t = {self.point(at)}, u = {second}; {to}[{at}] = u; d[{at}] += t.y; }}"
            case 3:
                return (
                    f"{{ pt t = p[{at}]; p[{at}] = {rng.choice('pq')}[{at} + 1]; {rng.choice('pq')}[{at} + 1] = t; }}"
                )
            case 4:
                return f"b[{at}].a = {self.point(at)};"
            case 5:
                return f"w[{self.near(at)}] = {self.vector(at)};"
            case 6:
                element = f"t.v[{rng.randrange(3)}]"
                return f"{{ struct v t = {self.vector(at)}; {element} += {self.number(at, 2)}; w[{at}] = t; }}"
            case 7:
                return f"d[{at}] = {self.number(at)} > 1 ? {self.number(at)} : {self.number(at, 2)};"
            case 8:
                return f"if ({self.number(at)} < 3 && k[{at}] > 2) {to}[{at}] = {self.point(at)}; else d[{at}] += 1;"
            case 9:
                return f"k[{at}] = {rng.choice(self.numbers)}({self.point(at)}, {rng.choice(('c', f'q[{at}]'))});"
            case 10:
                call = self.call(self.points, lambda: rng.choice(("z", "c")))
                return (
                    f"{{ pt z = {self.point(at, 1)}; int s = 0; while (norm({rng.choice(('z', call))}) < 4 && s < 9)"
                    f" {{ z = {call}; s++; }} k[{at}] = s; {to}[{at}] = z; }}"
                )
            case 11:
                changed = f"t.a = {self.point(at, 1)}; t.in.n += 1; t.w *= 0.5f;"
                return f"{{ box t = b[{at}]; {changed} b[{self.near(at)}] = t; }}"
            case 12:
                return f"{to}[{at}] = {rng.choice((f'take({to}, {at})', f'take(q, {at} + 1)', f'counted(p[{at}])'))};"
            case 13:
                return f"d[{at}] += {self.number(at)} * 0.25;"
            case 14:
                return f"{{ pt t; if (k[{at}] > 3) t = {self.point(at, 1)}; else t = c; {to}[{at}] = t; sum += t.x; }}"
            case 15:
                return f"last = {self.call(self.points, lambda: rng.choice(('last', f'p[{at}]')))}; d[{at}] = last.x;"
            case 17:
                other = rng.choice((f"&q[{self.near(at)}]", f"&p[{at}]", "&c", "&t"))
                return f"{{ pt t = {self.point(at, 1)}; both(&t, {other}); {to}[{at}] = t; d[{at}] += t.x; }}"
            case 18:
                return f"{{ box t; fill(&t, {self.point(at, 1)}, k[{at}]); t.a.y *= 0.5; b[{self.near(at)}] = t; }}"
            case 16:
                return f"hits += k[{at}] > 4 || {rng.choice(self.numbers)}({self.point(at, 1)}, c) > 2;"
            case _:
                return f"b[{at}].in.n = same({self.point(at, 1)}, {self.point(at, 2)});"
