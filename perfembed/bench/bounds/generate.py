"""Random functions whose loops count in all integer types, between values of all types, in every way to begin and end."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from perfembed.bench.bounds.unit import Block, Node, Place, Unit

TYPES = (
    *("signed char", "unsigned char", "short", "unsigned short", "int", "unsigned", "long", "unsigned long"),
    *("long long", "unsigned long long", "size_t", "ptrdiff_t", "char", "int8_t", "uint8_t", "int16_t", "uint16_t"),
    *("int32_t", "uint32_t", "int64_t", "uint64_t"),
)
_COMMON = ("int", "unsigned", "size_t", "long", "unsigned long", "uint64_t", "unsigned", "size_t")
_NAMES = ("n", "m", "o", "b", "s", "d")  # of the values: sizes, an offset, a base, a step, a shift
_KINDS = ("parameter", "parameter", "parameter", "global", "member", "pointer")


_EDGES = ("2147483647", "4294967295u", "0x80000000", "127", "255", "65535", "-1u", "(size_t)-1", "-1L")
_MAIN = 0.55  # share of the types of a function that are one


def ctype(rng: random.Random) -> str:
    """Every integer type, those that people write most more often."""
    return rng.choice(_COMMON if rng.random() < 0.55 else TYPES)


@dataclass(frozen=True, slots=True)
class _Loop:
    """An iterator; `near`: what is small and hardly ever negative while it runs."""

    name: str
    ctype: str
    near: str


def unit(seed: str, number: int) -> Unit:
    """The random function `f{number}` of a seed."""
    return _Writer(random.Random(seed), number).unit()


class _Writer:
    def __init__(self, rng: random.Random, number: int) -> None:
        self.rng = rng
        self.number = number
        self.places: list[Place] = []
        self.of: dict[str, str] = {}
        self.loops: list[_Loop] = []
        self.declared: list[str] = []
        self.kept: list[str] = []
        self.locals: list[str] = []  # small numbers set in the iteration, or in front of the nest
        self.helpers: list[str] = []
        self.fresh = 0
        self.main = ctype(rng)

    def ctype(self) -> str:
        return self.main if self.rng.random() < _MAIN else ctype(self.rng)

    def unit(self) -> Unit:
        rng, k = self.rng, self.number
        places = self.places
        for value, name in enumerate(_NAMES):
            kind = rng.choice(_KINDS)
            text = {"parameter": name, "global": f"{name}{k}", "member": f"G{k}.{name}", "pointer": f"g->{name}"}[kind]
            self.of[name] = text
            places.append(Place(text, self.ctype(), value, kind))
        body: list[Node] = []
        for _ in range(rng.choice((0, 0, 1, 1, 2))):
            body.append(self.local())
        for _ in range(rng.choice((1, 1, 1, 2))):
            body += self.nest(rng.choice((1, 2, 2, 2, 3)))
        sums = ["unsigned sum = 0;", "unsigned long total = 0;"]
        ends = [f"keep({name});" for name in (*self.kept, "sum", "total")]
        return Unit(k, tuple(places), tuple(self.helpers), (*sums, *self.declared, *body, *ends))

    # ------------------------------------------------------------------------------------ numbers

    def one(self, *choices: str | Callable[[], str]) -> str:
        chosen = self.rng.choice(choices)
        return chosen if isinstance(chosen, str) else chosen()

    def atom(self) -> str:
        """A number that is small unless the arguments are extreme."""
        names = [self.of[name] for name in "nmmnood"] + [x.name for x in self.loops] * 2 + self.locals * 2
        return self.rng.choice(names)

    def small(self, depth: int = 0) -> str:
        """A sum, difference, product … of such numbers."""
        rng, atom = self.rng, self.atom
        n, m, o = (self.of[name] for name in "nmo")
        forms: list[str | Callable[[], str]] = [
            *(atom, atom, atom, n, m, o),
            lambda: f"{atom()} - {atom()}",
            lambda: f"{atom()} + {rng.choice(('1', '2', '3', '1u', '-1', '(size_t)1'))}",
            lambda: f"{atom()} - {rng.choice(('1', '1', '2', '3', '1u', '4l'))}",
            lambda: f"{atom()} + {atom()}",
            lambda: f"({self.ctype()})({self.small(2)})",
            lambda: f"({self.ctype()}){atom()}",
            lambda: f"{atom()} / 2",
            lambda: f"{atom()} % {rng.choice(('3', '5', '7u'))}",
            lambda: f"{atom()} >> 1",
            lambda: f"{atom()} * 2 - {atom()}",
            lambda: f"{atom()} * {atom()} - 4",
            lambda: f"{n} - {atom()} * 2",
            lambda: f"-{atom()}",
            lambda: f"{rng.choice(_EDGES)} - {atom()}",
        ]
        if depth < 2:
            forms += [
                lambda: self.conditional(depth),
                lambda: self.call(),
                lambda: f"({self.small(2)}) - {atom()}",
            ]
        if self.loops:
            forms += [self.data, self.data, lambda: f"{self.loops[-1].name} - {o}"]
        return self.one(*forms)

    def conditional(self, depth: int) -> str:
        a, b = self.small(depth + 1), self.small(depth + 1)
        return f"({a} {self.rng.choice('<>')} {b} ? {self.rng.choice((a, b))} : {self.rng.choice((a, b))})"

    def data(self) -> str:
        """A number out of an array, at the place of an iterator."""
        at = self.rng.choice(self.loops).near
        return self.one(f"first[{at}]", f"row[{at}]", f"row[{at} + 1]", f"low[{at}]", f"first[{at}] - {self.of['o']}")

    def call(self) -> str:
        """A function whose parameters and result have other types."""
        rng = self.rng
        name = f"h{self.number}_{len(self.helpers)}"
        ours, theirs = [self.ctype() for _ in range(3)], (self.atom(), self.atom())
        result = rng.choice(("x - y", "x + y", "x", "x < y ? x : y", "x > y ? x : y", "x * 2 - y", "y - x", "x / 2"))
        middle = rng.choice(("", "", f"{self.ctype()} z = {result}; ", "if (x < y) return 0; "))
        result = "z" if " z = " in middle else result
        self.helpers.append(f"{ours[0]} {name}({ours[1]} x, {ours[2]} y) {{ {middle}return {result}; }}")
        return f"{name}({theirs[0]}, {theirs[1]})"

    def local(self) -> str:
        self.fresh += 1
        text = f"{self.ctype()} t{self.fresh} = {self.small()};"
        self.locals.append(f"t{self.fresh}")
        return text

    # -------------------------------------------------------------------------------------- loops

    def nest(self, depth: int) -> list[Node]:
        rng = self.rng
        before = len(self.locals)
        wrapped = self.rows() if depth > 1 and rng.random() < 0.1 else self.loop(depth)
        del self.locals[before:]
        return wrapped if rng.random() < 0.9 else [Block(f"if ({self.condition()})", tuple(wrapped))]

    def bounds(self) -> tuple[str, str, str]:
        """Where a loop begins and ends (exclusive), and what makes its iterator small (a format)."""
        rng, n, b = self.rng, self.of["n"], self.of["b"]
        kind = rng.random()
        if kind < 0.35:
            return "0", rng.choice((n, self.of["m"])), "{}"
        if kind < 0.55:
            start = rng.choice((b, b, f"{b} + 1", f"{b} - {self.of['o']}"))
            return start, rng.choice((f"{b} + {n}", f"{b} + {n}", f"{b} + {self.small()}")), f"({{}} - {b})"
        start = self.small() if kind < 0.9 else "0"
        end = rng.choice((n, n, self.of["m"], self.small(), f"{n} * {self.of['m']}"))
        return start, end, "{}"

    def loop(self, depth: int) -> list[Node]:
        rng = self.rng
        name = "ijkl"[len(self.loops)] + (str(len(self.kept)) if self.kept else "")
        kind = self.ctype()
        start, end, near = self.bounds()
        outside = rng.random() < 0.4
        if rng.random() < 0.08 and not self.loops:
            outside, name = True, f"w{self.number}_{len(self.places)}"
            self.places.append(Place(name, kind, rng.choice((0, 2, 3)), rng.choice(("global", "parameter"))))
            self.kept.append(name)
        head, first, tail, before = self.header(name, kind, start, end, outside)
        if (outside or before) and name not in self.kept:
            self.declared.append(f"{kind} {name} = 0;")
            self.kept.append(name)
        self.loops.append(_Loop(name, kind, near.format(name)))
        held = len(self.locals)
        body: list[Node] = [self.local()] if rng.random() < 0.3 else []
        if rng.random() < 0.12:
            before, first = (*before, self.counter()), (self.advance(), *first)
        if depth > 1:
            if rng.random() < 0.2:
                body.append(self.statement())
            body += self.loop(depth - 1)
            if rng.random() < 0.2:
                body.append(self.statement())
        else:
            body += [self.statement() for _ in range(rng.choice((1, 1, 2)))]
        if rng.random() < 0.2:
            keep = 1 if self.locals[held:] and isinstance(body[0], str) and body[0].split()[-3].startswith("t") else 0
            body = [*body[:keep], Block(f"if ({self.condition()})", tuple(body[keep:]))]
        del self.locals[held:]
        self.loops.pop()
        return [*before, Block(head, (*body, *first), tail)]

    def counter(self) -> str:
        """A second variable that counts with the loop, read behind it."""
        self.fresh += 1
        name = f"c{self.fresh}"
        self.declared.append(f"{self.ctype()} {name} = 0;")
        self.kept.append(name)
        self.locals.append(name)
        return f"{name} = {self.one('0', self.atom, self.of['n'], self.of['b'])};"

    def advance(self) -> str:
        name = self.locals[-1]
        return self.one(f"{name}++;", f"{name} += 2;", f"{name}--;", f"{name} -= 3;", f"{name} += {self.of['s']};")

    def rows(self) -> list[Node]:
        """A loop that calls a function with a loop, whose parameters have other types."""
        rng, kind = self.rng, self.ctype()
        name, types = f"r{self.number}_{len(self.helpers)}", [self.ctype() for _ in range(2)]
        element = rng.choice(("U[e - x]", "M[(unsigned char)x & 31][e - x]", "U[(unsigned char)e]", "L[e & 63]"))
        test = rng.choice(("e < y", "e < y", "e <= y", "e != y"))
        self.helpers.append(
            f"void {name}({types[0]} x, {types[1]} y) {{ for ({kind} e = x; {test}; e++) {element} += 1; }}"
        )
        start, end, near = self.bounds()
        counter = self.ctype()
        head, first, tail, before = self.header("i", counter, start, end, False)
        if before:
            return self.loop(2)
        self.loops.append(_Loop("i", counter, near.format("i")))
        call = f"{name}({self.small()}, {self.one(self.small, self.of['n'], self.of['m'])});"
        self.loops.pop()
        return [Block(head, (call, *first), tail)]

    def header(
        self, i: str, kind: str, start: str, end: str, outside: bool
    ) -> tuple[str, tuple[str, ...], str, tuple[str, ...]]:
        """The loop's head, what ends its body, what stands behind it, and what sets the iterator in front."""
        rng = self.rng
        d = "" if outside else f"{kind} "
        s = self.of["s"]
        step = rng.choice(("i++", "i++", "i++", "++i", "i += 2", "i += 3", f"i += {s}")).replace("i", i, 1)
        if s in step:
            step = f"{i} += {s}"
        down = rng.choice(("i--", "i--", "--i", "i -= 2", "i -= 1")).replace("i", i, 1)
        last = rng.choice((f"{end} - 1", f"({end}) - 1", end))
        match rng.choice((0, 0, 0, 0, 0, 0, 4, 4, 5, 6, 6, 7, 7, 7, 8, 8, 9, 9, 10, 10, 10, 11, 11, 12, 13, 14)):
            case 0:
                return f"for ({d}{i} = {start}; {i} < {end}; {step})", (), "", ()
            case 4:
                return f"for ({d}{i} = {start}; {i} <= {end}; {step})", (), "", ()
            case 5:
                return f"for ({d}{i} = {start}; {i} != {end}; {i}++)", (), "", ()
            case 6:
                return f"for ({d}{i} = {start}; {end} > {i}; {step})", (), "", ()
            case 7:
                return f"for ({d}{i} = {last}; {i} >= {start}; {down})", (), "", ()
            case 8:
                return f"for ({d}{i} = {last}; {i} > {start}; {down})", (), "", ()
            case 9:
                stop = rng.choice((f"({kind})-1", "-1", "(size_t)-1", start))
                return f"for ({d}{i} = {last}; {i} != {stop}; {i}--)", (), "", ()
            case 10:
                return f"for ({d}{i} = {last}; {i} < {rng.choice((end, self.of['n']))}; {down})", (), "", ()
            case 11:
                return f"for ({d}{i} = {end}; {i}-- > {rng.choice((start, '0'))};)", (), "", ()
            case 12:
                test = rng.choice((f"{i}--", f"{i}-- > 0", f"--{i} > 0", f"--{i} >= 0", f"{i}-- != {start}"))
                return f"while ({test})", (), "", (f"{i} = {end};",)
            case 13:
                test = rng.choice((f"{i} < {end}", f"{i} != {end}", f"{i} <= {end}"))
                return f"while ({test})", (f"{i}++;",), "", (f"{i} = {start};",)
            case _:
                return "do", (f"{i}++;",), f" while ({i} < {end});", (f"{i} = {start};",)

    # --------------------------------------------------------------------------------- statements

    def condition(self) -> str:
        rng, n, o = self.rng, self.of["n"], self.of["o"]
        relation = rng.choice(("<", "<=", ">", ">=", "!=", "=="))
        forms: list[str | Callable[[], str]] = [lambda: f"{self.small()} {relation} {self.small()}"] * 3
        if self.loops:
            i = rng.choice(self.loops)
            forms += [
                f"{i.name} - {o} < {n}",
                f"{i.name} >= ({self.ctype()})first[{i.near}]",
                f"({self.ctype()})({i.name} - {o}) < {n}",
                f"{i.name} % 2",
                f"{i.name} - {o}",
            ]
        return self.one(*forms)

    def at(self) -> str:
        """A subscript, of which some are always inside."""
        rng, i = self.rng, self.rng.choice(self.loops)
        o, other = self.of["o"], self.rng.choice(self.loops)
        return self.one(
            *(i.near, i.near, i.near, f"{i.near} + 1", f"{i.name} - {o}", f"(unsigned)({i.name} + {other.near})"),
            *(f"{i.near} + {other.near}", f"(unsigned char)({i.name} - {o})", f"({i.name} + {o}) & 31"),
            lambda: f"(unsigned char)({self.small()})",
            lambda: f"({self.ctype()})({i.name} - {o})",
            lambda: f"({self.small()}) & 63",
            lambda: self.rng.choice((*self.locals, i.near)),
            f"first[{i.near}]",
            f"(size_t)({i.near}) * 7 + {other.near}",
            f"({i.name} - {o}) % 16",
        )

    def element(self) -> str:
        array = self.rng.choice(("U", "U", "L", "S", "D", "C", "p", "q", "M", "M"))
        if array == "M":
            inner = self.loops[-1].near
            return f"M[{self.at()}][{self.rng.choice((inner, inner, self.at()))}]"
        return f"{array}[{self.at()}]"

    def statement(self) -> str:
        rng, element = self.rng, self.element()
        i = rng.choice(self.loops)
        value = self.one(
            *(i.near, f"{i.near} + 1", "1", "3", f"(unsigned)({i.name}) * 3u", f"(unsigned)({i.name} - {self.of['o']})"),
            lambda: f"(unsigned)({self.small()})",
            lambda: f"{self.one('U', 'S', 'C')}[{self.at()}]",
            lambda: f"M[{self.at()}][{self.at()}]",
        )
        match element[0]:
            case "D":
                return f"{element} += (double)(({value}) & 15);"
            case "L" | "q":
                return f"{element} {rng.choice(('+=', '=', '^='))} ({value}) & 255;"
        if rng.random() < 0.12:
            return self.one(f"sum += {element};", f"total += (unsigned long)({value});", f"sum ^= ({value});")
        return f"{element} {rng.choice(('+=', '+=', '+=', '=', '^='))} {value};"
