"""Random programs over flat arrays with variables as strides, called with sensible, overlapping and senseless ones."""

from __future__ import annotations

import random

_ROOM = 4000  # elements on either side of the middle of an array
_NAMES = (("sx", "sy", "sz"), ("s2", "s1", "s0"), ("inc", "ld", "plane"), ("c", "b", "a"))
_TYPES = ("int", "int", "long", "unsigned", "size_t")


class Writer:
    """One program: a function `work`, called with many sizes and strides by a main that prints what it leaves."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(f"strides {seed}")
        self.depth = rng.choice((2, 2, 3, 3))
        self.names = rng.choice(_NAMES)[: self.depth]
        self.where = rng.choice(("parameter", "global", "member", "extern"))
        self.ctype = rng.choice(_TYPES) if self.where == "parameter" else rng.choice(("int", "long"))
        self.unit = rng.random() < 0.4  # the innermost stride is 1
        self.restrict = rng.random() < 0.4
        self.alias = not self.restrict and rng.random() < 0.4
        self.local = rng.random() < 0.3

    def of(self, name: str) -> str:
        return f"g->{name}" if self.where == "member" else name

    def index(self, names: list[str], shifts: list[int]) -> str:
        """The linear subscript of the element (names + shifts), largest stride last in both."""
        rng = self.rng
        terms = []
        for level, (name, shift) in enumerate(zip(names, shifts, strict=True)):
            moved = f"({name} {'+' if shift > 0 else '-'} {abs(shift)})" if shift else name
            terms.append(moved if level == 0 and self.unit else f"{moved} * {self.of(self.names[level])}")
        if rng.random() < 0.7:
            terms.reverse()
        return " + ".join(terms)

    def access(self, array: str, iterators: list[str], spread: float) -> str:
        rng = self.rng
        shifts = [rng.choice((-1, 1)) if rng.random() < spread else 0 for _ in iterators]
        return f"{array}[{self.index(iterators, shifts)}]"

    def nest(self) -> str:
        rng = self.rng
        iterators = list("ijk"[: self.depth])
        order = list(range(self.depth))[::-1]
        if rng.random() < 0.3:
            rng.shuffle(order)
        sizes = [self.of(f"n{k}") for k in range(self.depth)]
        heads, indent = [], "    "
        for level in order:
            head = f"for (int {iterators[level]} = 1; {iterators[level]} < {sizes[level]} - 1; {iterators[level]}++)"
            if rng.random() < 0.15:
                head = (
                    f"for (int {iterators[level]} = {sizes[level]} - 2; {iterators[level]} >= 1; {iterators[level]}--)"
                )
            heads.append(indent + head)
            indent += "  "
        spread = rng.choice((0.0, 0.2, 0.4))
        lines = []
        for _ in range(rng.choice((1, 1, 2))):
            target = rng.choice(("u", "u", "v"))
            if self.local and rng.random() < 0.7:
                lines.append(f"{indent}{{ int p = {self.index(iterators, [0] * self.depth)};")
                step = 1 if self.unit else self.of(self.names[0])
                reads = rng.sample([f"v[p - {step}]", "v[p]", f"u[p + {self.of(self.names[-1])}]"], 2)
                lines.append(f"{indent}  {target}[p] = {' + '.join(reads)} * 0.5; }}")
                continue
            reads = [self.access(rng.choice("uvw"), iterators, spread) for _ in range(rng.randint(1, 3))]
            if rng.random() < 0.15:
                reads.append(self.access("w", iterators[::-1], spread))
            op = rng.choice(("=", "=", "+=", "-="))
            value = " + ".join(f"{rng.choice((0.5, 0.25, 1.5))} * {r}" for r in reads)
            written = self.access(target, iterators, 0.1)
            if rng.random() < 0.15:
                lines.append(f"{indent}if ({iterators[0]} > 2)")
            lines.append(f"{indent}{written} {op} {value};")
        return "\n".join((*heads, "    {", *lines, "    }"))

    def calls(self) -> list[str]:
        """Values of n0, n1, .. and the strides: dense, padded, strided, overlapping, tiny, 0, negative."""
        rng, found = self.rng, []
        for _ in range(14):
            sizes = [rng.choice((0, 1, 3, 4, 5, 7)) for _ in range(self.depth)]
            if rng.random() < 0.8:
                sizes = [rng.randint(3, 7) for _ in sizes]
            kind = rng.choice(("dense", "dense", "dense", "padded", "uneven", "few", "any", "swapped"))
            strides = [1 if self.unit else rng.choice((1, 1, 2, 3))]
            for size in sizes[:-1]:
                strides.append(strides[-1] * max(1, size + (rng.randint(1, 3) if kind == "padded" else 0)))
            if kind == "uneven":
                strides[-1] += rng.randint(1, 3)
            if kind == "few":
                strides[-1] = max(0, strides[-1] - rng.randint(1, 9))
            if kind == "any":
                low = 0 if self.ctype in ("unsigned", "size_t") else -40
                strides = [rng.choice((0, 1, 2, 5, rng.randint(low, 60))) for _ in strides]
            if kind == "swapped":
                rng.shuffle(strides)
            reach = sum(abs(s) * (n + 1) for s, n in zip(strides, sizes, strict=True))
            if reach < _ROOM:
                found.append(", ".join(map(str, (*sizes, *strides))))
        return found

    def program(self) -> str:
        rng = self.rng
        sizes = [f"n{k}" for k in range(self.depth)]
        pointer = f"double *{'restrict ' if self.restrict else ''}"
        declared = ", ".join([*(f"int {n}" for n in sizes), *(f"{self.ctype} {n}" for n in self.names)])
        arrays = f"{pointer}u, {pointer}v, const {pointer}w"
        members = "; ".join(declared.split(", ")) + ";"
        head, parameters, setting, passed = "", f"{arrays}, {declared}", "", ", ".join((*sizes, *self.names))
        if self.where in ("global", "extern"):
            storage = "static " if self.where == "global" else ""
            head = " ".join(f"{storage}{d};" for d in declared.split(", "))
            parameters, passed = arrays, ""
            setting = " ".join(f"{n} = {n}_;" for n in (*sizes, *self.names))
        elif self.where == "member":
            head = f"struct grid {{ {members} }};"
            parameters, passed = f"struct grid *g, {arrays}", ""
            setting = f"struct grid g_ = {{ {', '.join(f'{n}_' for n in (*sizes, *self.names))} }};"
        own = ", ".join([*(f"int {n}_" for n in sizes), *(f"{self.ctype} {n}_" for n in self.names)])
        given = ", ".join(f"{n}_" for n in (*sizes, *self.names)) if passed else ""
        first = "&g_, " if self.where == "member" else ""
        second = "first + ROOM + 3" if self.alias else "second + ROOM"
        calls = "\n".join(f"    call({c});" for c in self.calls())
        nests = "\n".join(self.nest() for _ in range(rng.randint(1, 2)))
        return f"""#include <stdio.h>
#include <stddef.h>
enum {{ ROOM = {_ROOM} }};
{head}
static double first[2 * ROOM], second[2 * ROOM], third[2 * ROOM];
__attribute__((noinline)) void work({parameters})
{{
{nests}
}}
static void call({own})
{{
    {setting}
    unsigned long h = 1;
    for (int q = 0; q < 2 * ROOM; q++) {{
        first[q] = q % 13 * 0.5;
        second[q] = q % 11 * 0.25;
        third[q] = q % 7;
    }}
    work({first}first + ROOM, {second}, third + ROOM{", " if given else ""}{given});
    for (int q = 0; q < 2 * ROOM; q++) {{
        union {{ double d; unsigned long n; }} x = {{ first[q] }}, y = {{ second[q] }};
        h = (h * 31 + x.n) * 31 + y.n;
    }}
    printf("%lx\\n", h);
}}
int main(void)
{{
{calls}
    return 0;
}}
"""
