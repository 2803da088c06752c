"""C expressions of a scalar type whose values stay bounded: literals, means, functions, elements of arrays."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from scheduler.ir.affine import Affine
from scheduler.ir.types import is_floating


class Fill(Enum):
    """What an array holds before the kernel runs."""

    VALUES = "values"  # in [-0.5, 0.5), of integers 0 … 15
    POSITIVE = "positive"  # in [0.5, 1.5), of integers 1 … 15
    DOMINANT = "dominant"  # a matrix whose diagonal outweighs the rest of its row and column
    ROWS = "rows"  # begins of rows: rising from 0 to the number of entries, `each` a row on average
    INDICES = "indices"  # integers in [0, below)


@dataclass(frozen=True, slots=True)
class DataKind:
    """What decides how a loop over sparse data behaves, and is not seen in its text."""

    rows: Literal["random", "even", "skewed"] = "random"
    """Lengths of rows: up to twice the mean, all the same, or four times the mean at first and none at last."""
    indices: Literal["anywhere", "near"] = "anywhere"
    """Where indices point: or to what lies as far into the array they point to as they lie in theirs."""

    @classmethod
    def drawn(cls, rng: random.Random) -> DataKind:
        return cls(rng.choice(("random", "even", "skewed")), rng.choice(("anywhere", "near")))


@dataclass(eq=False, slots=True)
class Array:
    """`bound`: no element ever exceeds it in magnitude. `used`: the kernel names it; `written`: it stores to it.

    Of INDICES and ROWS, elements are at most `below`; of ROWS, each has `each` entries on average.
    """

    name: str
    ctype: str
    shape: tuple[Affine, ...]
    fill: Fill = Fill.VALUES
    bound: float = 1.0
    used: bool = False
    written: bool = False
    below: Affine = field(default_factory=Affine)
    each: int = 0

    @property
    def is_floating(self) -> bool:
        return is_floating(self.ctype)


class Ref(str):
    """The C text of one element, or of a scalar; knows its array."""

    __slots__ = ("array",)
    array: Array

    @classmethod
    def of(cls, text: str, array: Array) -> Ref:
        ref = cls(text)
        ref.array = array
        return ref


@dataclass(frozen=True, slots=True)
class Opaque:
    """A subscript read from data, at least 0 and less than `below`."""

    text: str
    below: Affine


def format_affine(affine: Affine | int, lower: bool = False) -> str:
    """Positive terms first. `lower`: extents are parameters of the function (`ni`), not macros (`NI`)."""
    if isinstance(affine, int):
        return str(affine)
    text = ""
    for atom, coefficient in sorted(affine.terms, key=lambda term: (term[1] < 0, str(term[0]).isupper())):
        name = str(atom).lower() if lower and str(atom)[:1].isupper() else str(atom)
        body = name if abs(coefficient) == 1 else f"{abs(coefficient)} * {name}"
        text += (f" {'-' if coefficient < 0 else '+'} " if text else "-" * (coefficient < 0)) + body
    if affine.const or not text:
        sign = "-" if affine.const < 0 else "+"
        text = f"{text} {sign} {abs(affine.const)}" if text else str(affine.const)
    return text


LARGEST = 16.0  # magnitude of what `Kernel.read` gives: every pattern computes the bound of its results from it
_CONSTANTS = ("0.5", "0.25", "1.5", "0.125", "2.0", "0.75", "3.0", "1.2", "0.1")


def literal(value: float | str, ctype: str) -> str:
    """In the spelling of its type."""
    if not is_floating(ctype):
        return str(int(float(value)))
    text = value if isinstance(value, str) else f"{value:.6g}"
    if "e" not in text and "." not in text:
        text += ".0"
    return text + "f" * (ctype == "float")


def constant(rng: random.Random, ctype: str) -> str:
    """Between 0.1 and 3."""
    return literal(rng.choice(_CONSTANTS), ctype) if is_floating(ctype) else str(rng.randint(1, 3))


def call(function: str, ctype: str, *arguments: str) -> str:
    """A function of <math.h> in the form for the type."""
    return f"{function}{'f' * (ctype == 'float')}({', '.join(arguments)})"


def mean(rng: random.Random, terms: Sequence[str], ctype: str) -> str:
    """A sum of terms weighted so that it does not exceed the largest of them."""
    if not is_floating(ctype):
        total = terms[0] + "".join(f" {rng.choice('+++-')} {t}" for t in terms[1:])
        return f"({total}) / {len(terms)}" if len(terms) > 1 else terms[0]
    if rng.random() < 0.6:
        weight = literal(int(1e4 / len(terms)) / 1e4, ctype)
        return f"{weight} * ({' + '.join(terms)})" if len(terms) > 1 else f"{literal(0.5, ctype)} * {terms[0]}"
    shares = [rng.uniform(0.2, 1) for _ in terms]
    parts = [f"{literal(int(1e4 * s / sum(shares)) / 1e4, ctype)} * {t}" for s, t in zip(shares, terms, strict=True)]
    return parts[0] + "".join(f" {rng.choice('++++-')} {p}" for p in parts[1:])


def unary(rng: random.Random, text: str, ctype: str) -> str:
    """A function whose result does not exceed max(1, its argument)."""
    if not is_floating(ctype):
        return rng.choice((f"abs({text})", f"(({text}) & 7)", f"({text}) % 5", f"({text}) / 2"))
    one = literal(1, ctype)
    return rng.choice(
        (
            call("fabs", ctype, text),
            call("fabs", ctype, text),
            call("sqrt", ctype, call("fabs", ctype, text)),
            call("exp", ctype, "-" + call("fabs", ctype, text)),
            call("tanh", ctype, text),
            f"{one} / ({one} + {call('fabs', ctype, text)})",
            call("fmax", ctype, text, literal(0, ctype)),
        )
    )


def maximum(rng: random.Random, left: str, right: str, ctype: str, smaller: bool = False) -> str:
    """The larger (or the smaller) of two values."""
    if left == right:  # compilers warn of comparing a value with itself
        return left
    if is_floating(ctype) and rng.random() < 0.4:
        return call("fmin" if smaller else "fmax", ctype, left, right)
    return f"({left} {'<' if smaller else '>'} {right} ? {left} : {right})"
