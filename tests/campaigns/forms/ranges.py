"""Random programs with products, remainders, gathered numbers and rows as subscripts; bases may overlap."""

from __future__ import annotations

import random

_ROOM = 6000  # elements on either side of the middle of an array
_INDEX = ("int", "int", "int", "long", "short", "unsigned char", "signed char", "size_t")


class Writer:
    """One program: a function `work`, called with many sizes, strides, index arrays and places of the arrays.

    Accesses are macros, which with TRACE defined also note where the arrays are touched.
    """

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(f"ranges {seed}")
        self.ctype = rng.choice(("int", "int", "long", "short"))
        self.index = rng.choice(_INDEX)
        self.member = rng.random() < 0.3
        self.counter = rng.choice(("int", "int", "long"))
        self.element = rng.choice(("double", "double", "int"))
        if self.element == "int" and rng.random() < 0.7:
            self.index = "int"

    def of(self, name: str) -> str:
        return f"g->{name}" if self.member else name

    def loop(self, name: str, size: str) -> str:
        rng = self.rng
        begin = rng.choice(("0", "0", "0", "1"))
        if rng.random() < 0.15:
            step = rng.choice(("--", "--", f" -= {self.of('tile')}"))
            return f"for ({self.counter} {name} = {size} - 1; {name} >= {begin}; {name}{step})"
        step = rng.choice(("++", "++", "++", " += 2", f" += {self.of('tile')}"))
        return f"for ({self.counter} {name} = {begin}; {name} < {size}; {name}{step})"

    def small(self, names: list[str]) -> str:
        """A sum of iterators, perhaps with a stride."""
        rng, name = self.rng, self.rng.choice
        first = name(names)
        text = rng.choice(
            (first, f"{first} * {self.of('s')}", f"{first} * {self.of('t')}", f"(long){first} * {self.of('s')}")
        )
        if rng.random() < 0.6:
            text += f" {rng.choice('+-')} {name([*names, self.of('pad'), '2'])}"
        return text

    def subscript(self, names: list[str]) -> str:
        """The number of an element."""
        rng, of = self.rng, self.of
        x = self.small(names)
        kind = rng.randrange(12)
        if kind < 3:
            first = f"{rng.choice(('', '', '(long)', '(size_t)'))}({rng.choice(names)})"
            return f"({first} * {of('h')} + {rng.choice(names)}) * {of('w')} + ({x})"
        if kind < 5:
            return f"{x} + {self.small(names)}"
        if kind == 5:
            return f"{x} < 0 ? 0 : {x} > {of('h')} - 1 ? {of('h')} - 1 : {x}"
        if kind == 6:
            return rng.choice(
                (f"({x}) % {of('h')}", f"({x}) / 2", f"({x}) >> 1", f"({x}) & 7", f"({x}) % 5", f"({x}) / {of('w')}")
            )
        if kind == 7:
            return f"(unsigned char)({x})"
        if kind in (8, 9):
            return f"c[{rng.choice(names)}]" + rng.choice(("", "", " + 1", f" * {of('s')}"))
        if kind == 10:
            return f"e[{rng.choice(names)} & 3] + {x}"
        return x

    def access(self, names: list[str], arrays: str) -> str:
        return f"{self.rng.choice(arrays)}({self.subscript(names)})"

    def statement(self, names: list[str], indent: str) -> list[str]:
        rng, of = self.rng, self.of
        target = self.access(names, "UUUV")
        value = " + ".join(
            f"{rng.choice((0.5, 0.25, 1.5))} * {self.access(names, 'UVWW')}" for _ in range(rng.randint(1, 2))
        )
        op = rng.choice(("=", "+=", "="))
        plain = f"{indent}{target} {op} {value};"
        kind = rng.randrange(8)
        x = self.small(names)
        if kind == 0:  # a row and a column that are tested
            return [
                f"{indent}{self.counter} row = {x}, col = {self.small(names)};",
                f"{indent}if (row >= 0 && row < {of('h')} && !(col < 0 || col >= {of('w')}))",
                f"{indent}  {rng.choice('UV')}(row * {of('w')} + col) {op} W({rng.choice(names)} * {of('w')} + col);",
            ]
        if kind == 1:  # a number that is wrapped
            return [
                f"{indent}{self.counter} x = {x} - e[{rng.choice(names)} & 3];",
                f"{indent}if (x < 0) x += {of('h')}; else if (x >= {of('h')}) x -= {of('h')};",
                f"{indent}{rng.choice('UV')}({rng.choice(names)}) {op} {rng.choice('UW')}(x) + W(x * {of('w')});",
            ]
        if kind == 2:  # a search
            return [
                f"{indent}double best = 0; {self.counter} q = {rng.choice(('0', '1', 'e[1]', x))};",
                f"{indent}while (q < {of('h')}) {{",
                f"{indent}  if ({x} + q >= {of('w')}) break;",
                f"{indent}  best += {rng.choice('UVW')}({rng.choice(names)} * {of('w')} + q);",
                f"{indent}  q += {rng.choice((1, 2))};",
                f"{indent}}}",
                f"{indent}{target} {op} best;",
            ]
        if kind == 3:
            return [f"{indent}if ({x} {rng.choice(('>', '<', '>=', '!=', '=='))} {of('pad')})", "  " + plain]
        if kind == 4:
            return [
                f"{indent}{self.counter} p = {self.subscript(names)};",
                f"{indent}if ({names[0]} > 0) {rng.choice('UV')}(p) {op} W(p - {of('s')});",
            ]
        return [plain]

    def nest(self) -> str:
        rng, of = self.rng, self.of
        kind = rng.random()
        if kind < 0.2:
            return self.rows()
        if kind < 0.4:
            return self.planes()
        if kind < 0.55:
            return self.blocks()
        depth = rng.choice((1, 2, 2, 3))
        names = list("ijk"[:depth])
        lines = [f"{'  ' * (d + 2)}{self.loop(n, of(f'n{d}'))} {{" for d, n in enumerate(names)]
        indent = "  " * (depth + 3)
        body = []
        if rng.random() < 0.3:
            body.append(f"{indent}if ({self.small(names)} < {of('pad')}) continue;")
        for number in range(rng.choice((1, 1, 2))):
            body += [
                f"{indent}{{",
                *(s.replace("pos", f"pos{number}") for s in self.statement(names, indent)),
                f"{indent}}}",
            ]
        return "\n".join((*lines, *body, "    " + "}" * depth))

    def planes(self) -> str:
        """Elements counted through planes of h by w, or rows of which the last one is another's."""
        rng, of = self.rng, self.of
        h, w = of("h"), of("w")
        plane = rng.choice((f"{h} * {w}", f"{w} * {h}", w, f"{h} * 2"))

        def access(names: str) -> str:
            i = rng.choice(("i", "i", "i + 1", "i - 1"))
            j = rng.choice(("j", "j", "j + 1", f"{of('n1')} - 1 - j"))
            forms = [f"({i}) * {plane} + {j}"] * 3
            forms += [f"({of('n0')} - 1) * {plane} + {j}", f"({i} + 2) * {plane} - {j}", f"{i} + ({j}) * {plane}"]
            return f"{rng.choice(names)}({rng.choice(forms)})"

        values = " + ".join(access("UVW") for _ in range(rng.randint(1, 3)))
        begin = rng.choice(("0", "1", "1 + (i + 1) % 2", "(i & 1)"))
        step = rng.choice(("++", "++", " += 2"))
        return f"""    {self.loop("i", of("n0"))}
        for ({self.counter} j = {begin}; j < {of("n1")}; j{step}) {{
            {access("UUV")} {rng.choice(("=", "=", "+="))} {values};
        }}"""

    def blocks(self) -> str:
        """Loops in blocks of a size that is a variable."""
        rng, of = self.rng, self.of
        n, tile, w = of("n0"), of("tile"), of("w")
        inner = rng.choice((f"{n} < ii + {tile} ? {n} : ii + {tile}", f"ii + {tile} > {n} ? {n} : ii + {tile}"))
        first = rng.choice(("0", "0", "1", of("pad")))
        places = (f"j * {w} + i", f"i * {w} + j", f"i * {of('s')} + j")
        values = " + ".join(f"{rng.choice('UVW')}({rng.choice(places)})" for _ in range(rng.randint(1, 3)))
        return f"""    for ({self.counter} ii = {first}; ii < {n}; ii += {tile})
        for ({self.counter} jj = 0; jj {rng.choice(("<", "<="))} {of("n1")}; jj += {rng.choice((tile, tile, "2"))}) {{
            for ({self.counter} i = ii; i < ({inner}); i++)
                for ({self.counter} j = jj; j < jj + {rng.choice((tile, "2"))} && j < {of("n1")}; j++)
                    {rng.choice("UUV")}(i * {w} + j) {rng.choice(("=", "+="))} {values};
        }}"""

    def rows(self) -> str:
        """A loop over the rows of a sparse matrix."""
        rng, of = self.rng, self.of
        element = rng.choice(
            ("V(k) * W(c[k])", "W(c[k])", "V(k) * U(c[k])", "W(k)", "W(c[k] + i)", "V(k) * W(c[k + 1])")
        )
        condition = rng.choice(("", "", "if (W(i) > 1)", "if (k & 1)"))
        begin, end = rng.choice(
            (("r[i]", "r[i + 1]"), ("r[i]", "r[i + 1]"), ("r[i]", "r[i] + 2"), ("r[i + 1]", "r[i + 2]"))
        )
        return f"""    {self.loop("i", of("n0"))} {{
        double sum = 0;
        for ({rng.choice(("int", "long", self.index, "size_t"))} k = {begin}; k < {end}; k++)
            {condition} sum += {element};
        U({rng.choice(("i", "i", f"i * {of('s')}", "c[i]"))}) {rng.choice(("=", "+="))} sum;
    }}"""

    def calls(self) -> list[str]:
        """n0, n1, n2, s, t, h, w, pad, tile; the way of the index arrays; where v and w begin."""
        rng, found = self.rng, []
        for _ in range(16):
            sizes = [rng.choice((0, 1, 2, 5, 6, 7)) for _ in range(3)]
            strides = [rng.choice((1, 1, 2, 3, 5, 0, -1, -3)) for _ in range(2)]
            limits = [rng.choice((1, 4, 5, 8, 11)) for _ in range(2)]
            pad = rng.choice((0, 0, 1, 2, -1, 3))
            tile = rng.choice((1, 2, 2, 3, 4))
            way = rng.randrange(6)
            places = [rng.choice((0, 0, 0, rng.randint(-150, 150))) for _ in range(2)]
            found.append(", ".join(map(str, (*sizes, *strides, *limits, pad, tile, way, *places))))
        return found

    def program(self) -> str:
        rng = self.rng
        names = ["n0", "n1", "n2", "s", "t", "h", "w", "pad", "tile"]
        declared = ", ".join(f"{self.ctype} {n}" for n in names)
        members = "; ".join(declared.split(", ")) + ";"
        head, parameters, passed, setting = "", f"{declared}, ", ", ".join(f"{n}_" for n in names) + ", ", ""
        if self.member:
            head, parameters, passed = f"struct grid {{ {members} }};", "const struct grid *g, ", "&g_, "
            setting = f"struct grid g_ = {{ {', '.join(f'{n}_' for n in names)} }};"
        own = ", ".join(f"int {n}_" for n in names)
        constant = rng.choice(("const ", ""))
        index = "way < 2 ? memory[0] + ROOM + 20 : c_" if self.index == self.element else "c_"
        calls = "\n".join(f"    call({c});" for c in self.calls())
        return f"""#include <stdio.h>
#include <stddef.h>
enum {{ ROOM = {_ROOM} }};
{head}
#ifdef TRACE
static const char *low[3], *high[3];
static int passed, wrong, all;
static {self.element} *note(int a, const {self.element} *p)
{{
    const char *q = (const char *)p;
    if (!low[a] || q < low[a]) low[a] = q;
    if (!high[a] || q + sizeof *p > high[a]) high[a] = q + sizeof *p;
    return ({self.element} *)p;
}}
#define U(x) (*note(0, &u[x]))
#define V(x) (*note(1, &v[x]))
#define W(x) (*note(2, &w_[x]))
#else
#define U(x) u[x]
#define V(x) v[x]
#define W(x) w_[x]
#endif
static {self.element} memory[4][2 * ROOM];
static {self.index} c_[64], r_[64];
static {constant}int e[4] = {{ 0, 1, -1, 2 }};
__attribute__((noinline)) void
work({parameters}{self.element} *u, {self.element} *v, const {self.element} *w_,
     {constant}{self.index} *c, const {self.index} *r)
{{
{self.nest()}
}}
static void call({own}, int way, int at, int other)
{{
    {setting}
    unsigned long hash = 1;
    for (int q = 0; q < 2 * ROOM; q++)
        for (int m = 0; m < 4; m++)
            memory[m][q] = (q * (m + 3)) % (11 + m) * 0.5;
    for (int q = 0; q < 64; q++) {{
        c_[q] = ({self.index})(way == 1 ? (q * 7) % 23 : way == 2 ? 40 - q : way == 3 ? q % 3 : q);
        r_[q] = ({self.index})(way == 4 ? (q * 5) % 9 : way == 5 ? 20 - q / 2 : way == 3 ? 3 : q * 2);
    }}
    {self.element} *second = at ? memory[0] + ROOM + at : memory[1] + ROOM;
    {self.element} *third = other ? memory[0] + ROOM + other : memory[2] + ROOM;
    work({passed}memory[0] + ROOM, second, third, {index}, r_);
    for (int q = 0; q < 2 * ROOM; q++)
        for (int m = 0; m < 4; m++) {{
            union {{ double d; unsigned long n; }} x = {{ memory[m][q] }};
            hash = hash * 31 + x.n;
        }}
    printf("%lx\\n", hash);
}}
int main(void)
{{
{calls}
    return 0;
}}
"""
