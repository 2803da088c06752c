"""Random C programs with structures: members as sizes and arrays, arrays of structures, values that are structures."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

_KINDS = ("double", "float", "int")


@dataclass
class Shape:
    """A structure type: `members` are (C text behind an element, type, whether an array) of its numbers."""

    name: str
    text: str
    members: list[tuple[str, str, int]] = field(default_factory=list)


def structure(rng: random.Random, name: str) -> Shape:
    """A structure of numbers, arrays of numbers and an inner structure."""
    lines: list[str] = []
    members: list[tuple[str, str, int]] = []
    for k in range(rng.randint(1, 4)):
        kind = rng.choices(_KINDS, (6, 2, 2))[0]
        extent = rng.choice((0, 0, 0, 2, 3, 5))
        lines.append(f"{kind} m{k}{f'[{extent}]' if extent else ''};")
        members.append((f".m{k}", kind, extent))
    if rng.random() < 0.4:
        kind = rng.choice(_KINDS)
        inner = rng.choice((f"struct {{ {kind} x, y; }} in;", f"struct {name}_in {{ {kind} x, y; }} in;"))
        lines.insert(rng.randint(0, len(lines)), inner)
        members += [(".in.x", kind, 0), (".in.y", kind, 0)]
    if rng.random() < 0.15:
        lines.append("char tag; short code;")
        members += [(".tag", "char", 0), (".code", "short", 0)]
    if rng.random() < 0.5:
        return Shape(f"struct {name}", f"struct {name} {{ {' '.join(lines)} }};", members)
    return Shape(name, f"typedef struct {{ {' '.join(lines)} }} {name};", members)


class Writer:
    """One program: a function `work` with nests over structures, called by a main that prints what they leave."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(f"structures {seed}")
        self.cell, self.other = structure(rng, "cell"), structure(rng, "other")
        self.helpers: list[str] = []
        self.depth = 0

    def program(self) -> str:
        rng = self.rng
        n, m = rng.randint(5, 13), rng.randint(5, 13)
        by_value, static = rng.random() < 0.3, rng.random() < 0.3
        self.s = "s." if by_value or static else "s->"
        nests = "\n".join(self.nest() for _ in range(rng.randint(1, 3)))
        local = self.prologue()
        parameter = "" if static else f"struct space {'' if by_value else '*'}s, "
        given = "" if static else f"{'' if by_value else '&'}s, "
        storage = "static struct space s;" if static else ""
        own = "" if static else "struct space s;"
        return "\n".join(
            (
                "#include <stdio.h>",
                "#include <stdlib.h>",
                self.cell.text,
                self.other.text,
                "typedef struct { double re, im; } cplx;",
                "struct level { int n; double *u; };",
                f"struct space {{ int n, m; struct {{ int ld; double scale; }} in; double *u; double *v;"
                f" {self.cell.name} *c; {self.other.name} *o; struct level lev[3]; struct level *at; cplx *z; int *k;"
                " double w[4]; };",
                storage,
                "static cplx cmul(cplx a, cplx b) { cplx r; r.re = a.re * b.re - a.im * b.im;"
                " r.im = a.re * b.im + a.im * b.re; return r; }",
                "static cplx cadd(cplx a, cplx b) { return (cplx){ a.re + b.re, a.im + b.im }; }",
                "static inline cplx pick(cplx a, cplx b) { if (a.re > b.re) return a; return b; }",
                "static double norm(cplx a) { return a.re * a.re + a.im * a.im; }",
                *self.helpers,
                f"__attribute__((noinline)) void work({parameter}cplx *y, {self.cell.name} *c, {self.cell.name} *d,"
                " cplx w, int l)",
                "{",
                local,
                nests,
                "}",
                "static void show(const char *t, const void *p, size_t n) { const unsigned char *b = p;"
                ' unsigned long h = 1; for (size_t i = 0; i < n; i++) h = h * 31 + b[i]; printf("%s %lx\\n", t, h); }',
                "int main(void)",
                "{",
                f"    enum {{ N = {n}, M = {m}, LD = {m + rng.choice((0, 0, 2))} }};",
                f"    {own}",
                "    s.n = N; s.m = M; s.in.ld = LD; s.in.scale = 0.5;",
                "    size_t all = N * LD + 8;",
                "    s.u = calloc(all, 8); s.v = calloc(all, 8); s.c = calloc(all, sizeof *s.c);"
                " s.o = calloc(all, sizeof *s.o); s.z = calloc(all, sizeof *s.z); s.k = calloc(all, 4);",
                "    for (int q = 0; q < 3; q++) { s.lev[q].n = N - q; s.lev[q].u = calloc(all, 8); }",
                "    s.at = &s.lev[1];",
                "    for (int q = 0; q < 4; q++) s.w[q] = q + 0.5;",
                f"    cplx *y = calloc(all, sizeof *y); {self.cell.name} *d = calloc(all, sizeof *d);",
                "    for (size_t q = 0; q < all; q++) {",
                "        s.u[q] = q % 7 * 0.5; s.v[q] = q % 5 * 0.25; s.k[q] = q * 7 % all; s.z[q].re = q % 3;",
                "        s.z[q].im = q % 4; y[q].re = q % 11; y[q].im = 1;",
                "        s.lev[0].u[q] = q % 3; s.lev[1].u[q] = q % 6; s.lev[2].u[q] = q;",
                *(
                    f"        {self.fill(a, m_)}"
                    for a, s_ in (("s.c", self.cell), ("d", self.cell), ("s.o", self.other))
                    for m_ in s_.members
                ),
                "    }",
                f"    work({given}y, {rng.choice(('s.c', 's.c', 'd'))}, {rng.choice(('d', 'd', 's.c', 's.c + 1'))},"
                f" (cplx){{ 0.5, 0.25 }}, {rng.randint(0, 2)});",
                f"    work({given}{rng.choice(('y', 's.z'))}, d, s.c, (cplx){{ 0.25, 2 }}, {rng.randint(0, 2)});",
                '    show("u", s.u, all * 8); show("v", s.v, all * 8); show("k", s.k, all * 4);',
                '    show("z", s.z, all * 16); show("y", y, all * 16);',
                '    for (int q = 0; q < 3; q++) show("lev", s.lev[q].u, all * 8);',
                '    show("c", s.c, all * sizeof *s.c); show("o", s.o, all * sizeof *s.o);',
                '    show("d", d, all * sizeof *d);',
                "    return 0;",
                "}",
                "",
            )
        )

    def fill(self, array: str, member: tuple[str, str, int]) -> str:
        text, kind, extent = member
        value = f"q * 3 % {self.rng.randint(3, 9)}" + ("" if kind in ("int", "char", "short") else " * 0.5")
        if extent:
            return f"for (int e = 0; e < {extent}; e++) {array}[q]{text}[e] = {value} + e;"
        return f"{array}[q]{text} = {value};"

    def prologue(self) -> str:
        """Locals of `work` in front of the nests."""
        rng, s = self.rng, self.s
        lines = [
            "    cplx total = { 1, 0 }, last = w;",
            "    (void)total; (void)last; (void)c; (void)d; (void)y; (void)l;",
        ]
        self.u, self.n, self.m, self.ld = s + "u", s + "n", s + "m", s + "in.ld"
        if rng.random() < 0.3:
            lines.append(f"    double *u = {s}u;")
        if rng.random() < 0.3:
            lines.append(f"    int n = {s}n; (void)n;")
        return "\n".join(lines)

    # ------------------------------------------------------------------------------------- nests

    def nest(self) -> str:
        rng, s = self.rng, self.s
        outer, inner = (f"{s}n", f"{s}m")
        i, j = rng.sample(("i", "j", "p", "q"), 2)
        if rng.random() < 0.3:
            body = self.body(i, None)
            return f"    for (int {i} = 1; {i} < {outer} - 1; {i}++) {{\n{body}    }}"
        if rng.random() < 0.15:
            body = self.body(i, j)
            return (
                f"    for (int t = 0; t < 3; t++)\n    for (int {i} = 1; {i} < {outer} - 1; {i}++)"
                f" for (int {j} = 1; {j} < {inner} - 1; {j}++) {{\n{body}    }}"
            )
        order = [f"for (int {i} = 1; {i} < {outer} - 1; {i}++)", f"for (int {j} = 1; {j} < {inner} - 1; {j}++)"]
        rng.shuffle(order)
        return f"    {' '.join(order)} {{\n{self.body(i, j)}    }}"

    def body(self, i: str, j: str | None) -> str:
        return "".join(f"        {self.statement(i, j)}\n" for _ in range(self.rng.randint(1, 3)))

    def at(self, i: str, j: str | None) -> str:
        """A subscript."""
        rng, s = self.rng, self.s
        shift = rng.choice(("", "", "", " + 1", " - 1"))
        if j is None:
            return f"{i}{shift}"
        up = rng.choice(("", "", "+1", "-1"))
        row = f"({i} {up[0]} 1)" if up else i
        return f"{row} * {s}in.ld + {j}{shift}"

    def element(self, i: str, j: str | None) -> tuple[str, str]:
        """A place that holds a number, and its type."""
        rng, s = self.rng, self.s
        kind = rng.randrange(9)
        if kind < 2:
            return f"{s}{rng.choice('uv')}[{self.at(i, j)}]", "double"
        if kind == 2:
            which = rng.choice((f"{s}lev[{rng.randrange(3)}].u", f"{s}lev[l].u", f"{s}at->u"))
            return f"{which}[{self.at(i, j)}]", "double"
        if kind == 3:
            return f"{rng.choice((s + 'z', 'y'))}[{self.at(i, j)}].{rng.choice(('re', 'im'))}", "double"
        array, shape = rng.choice(((f"{s}c", self.cell), ("c", self.cell), ("d", self.cell), (f"{s}o", self.other)))
        text, ctype, extent = rng.choice(shape.members)
        where = self.at(i, j)
        base = rng.choice(
            (f"{array}[{where}]{text}", f"({array} + {where})->{text[1:]}", f"(*({array} + {where})){text}")
        )
        if extent:
            return f"{base}[{rng.choice((str(rng.randrange(extent)), f'{i} % {extent}'))}]", ctype
        return base, ctype

    def number(self, i: str, j: str | None) -> str:
        rng, s = self.rng, self.s
        kind = rng.randrange(8)
        if kind == 0:
            return f"{s}in.scale"
        if kind == 1:
            return f"{s}w[{rng.randrange(4)}]"
        if kind == 2:
            return rng.choice(("w.re", "last.im", "0.5", f"norm({s}z[{self.at(i, j)}])"))
        return self.element(i, j)[0]

    def complex_(self, i: str, j: str | None, depth: int = 0) -> str:
        rng, s = self.rng, self.s
        kind = rng.randrange(7 if depth < 2 else 3)
        if kind == 0:
            return rng.choice(("w", "last"))
        if kind in (1, 2):
            return f"{rng.choice((s + 'z', 'y'))}[{self.at(i, j)}]"
        if kind == 3:
            return f"(cplx){{ {self.number(i, j)}, {rng.choice(('0', '1.5'))} }}"
        name = rng.choice(("cmul", "cadd", "pick"))
        return f"{name}({self.complex_(i, j, depth + 1)}, {self.complex_(i, j, depth + 1)})"

    def statement(self, i: str, j: str | None) -> str:
        rng, s = self.rng, self.s
        kind = rng.randrange(12)
        here = self.at(i, j)
        if kind == 0:
            return f"{rng.choice((s + 'z', 'y'))}[{here}] = {self.complex_(i, j)};"
        if kind == 1:
            value = self.complex_(i, j)
            return f"{{ cplx t = {value}; t.re += 1; {rng.choice((s + 'z', 'y'))}[{here}] = t; }}"
        if kind == 2:
            return f"{rng.choice(('c', 'd'))}[{here}] = {rng.choice(('c', 'd'))}[{self.at(i, j)}];"
        if kind == 3:
            text, ctype, extent = rng.choice(self.cell.members)
            inner = f"{text[1:]}" + (f"[{rng.randrange(extent)}]" if extent else "")
            array = rng.choice((f"{s}c", "d", "c"))
            value = f"{self.number(i, j)} * 0.5"
            return f"{{ {self.cell.name} *e = &{array}[{here}]; e->{inner} = {value}; e[1].{inner} += 1; }}"
        if kind == 4 and j is not None:
            text, ctype, extent = rng.choice(self.cell.members)
            if extent:
                return (
                    f"for (int e = 0; e < {extent}; e++) d[{here}]{text}[e] ="
                    f" c[{self.at(i, j)}]{text}[{extent} - 1 - e] * 0.5 + {self.number(i, j)} * 0.25;"
                )
        if kind == 5:
            return f"{{ cplx t; t.re = {self.number(i, j)}; t.im = {self.number(i, j)}; y[{here}] = cmul(t, t); }}"
        if kind == 6:
            return f"{s}z[{here}].re += y[{s}k[{here}] % {s}n].im * 0.25;"
        if kind == 7:
            return f"{s}u[{here}] += {s}c[{s}k[{here}] % {s}n]{self.scalar()};"
        target, ctype = self.element(i, j)
        op = rng.choice(("=", "=", "+="))
        if ctype in ("int", "char", "short"):
            return (
                f"{target} {op} ({ctype})({self.number(i, j)}) % 7;" if rng.random() < 0.7 else f"{target} = {i} % 5;"
            )
        return f"{target} {op} {self.number(i, j)} * 0.5 + {self.number(i, j)} * 0.25;"

    def scalar(self) -> str:
        text, _, extent = self.rng.choice(self.cell.members)
        return text + (f"[{self.rng.randrange(extent)}]" if extent else "")
