"""Random numbers of C programs: sums, differences, casts, data and calls, in all integer types."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from tests.campaigns.bounds.unit import Place

TYPES = (
    *("signed char", "unsigned char", "short", "unsigned short", "int", "unsigned", "long", "unsigned long"),
    *("long long", "unsigned long long", "size_t", "ptrdiff_t", "char", "int8_t", "uint8_t", "int16_t", "uint16_t"),
    *("int32_t", "uint32_t", "int64_t", "uint64_t"),
)
_COMMON = ("int", "unsigned", "size_t", "long", "unsigned long", "uint64_t", "unsigned", "size_t")
_EDGES = ("2147483647", "4294967295u", "0x80000000", "127", "255", "65535", "-1u", "(size_t)-1", "-1L")
_MAIN = 0.55  # share of the types of a function that are one


def ctype(rng: random.Random) -> str:
    """Every integer type, those that people write most more often."""
    return rng.choice(_COMMON if rng.random() < 0.55 else TYPES)


def is_unsigned(name: str) -> bool:
    """Where the name says it; a char is signed here or not by a flag."""
    return name.startswith(("u", "size_t"))


@dataclass(frozen=True, slots=True)
class Loop:
    """An iterator; `near`: what is small and hardly ever negative while it runs."""

    name: str
    ctype: str
    near: str


class Numbers:
    """What the expressions of one function are made of."""

    def __init__(self, rng: random.Random, number: int) -> None:
        self.rng = rng
        self.number = number
        self.places: list[Place] = []
        self.of: dict[str, str] = {}
        self.loops: list[Loop] = []
        self.declared: list[str] = []
        self.kept: list[str] = []
        self.locals: list[str] = []  # small numbers set in the iteration, or in front of the nest
        self.helpers: list[str] = []
        self.fresh = 0
        self.main = ctype(rng)

    def ctype(self) -> str:
        return self.main if self.rng.random() < _MAIN else ctype(self.rng)

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
        return self.one(f"first[{at}]", f"row[{at}]", f"row[{at} + 1]", f"low[{at}]", f"first[{at}] - {self.of['o']}",
                        f"span[{at}].lo", f"span[{at}].hi")  # fmt: skip

    def call(self) -> str:
        """A function whose parameters and result have other types."""
        rng = self.rng
        ours, theirs = [self.ctype() for _ in range(3)], (self.one(self.atom, lambda: self.small(2)), self.atom())
        name = f"h{self.number}_{len(self.helpers)}"
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
