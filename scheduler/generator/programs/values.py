"""C expressions of a scalar type whose values stay bounded: literals, means, functions."""

from __future__ import annotations

import random
from collections.abc import Sequence

from scheduler.ir.types import is_floating

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
