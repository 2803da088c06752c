"""Quasi-affine integer expressions over named loop iterators and parameters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NoReturn, Union

from scheduler.errors import TextError


@dataclass(frozen=True, slots=True)
class FloorDiv:
    """floor(numerator / denominator), denominator >= 1; rounds towards minus infinity."""

    numerator: Affine
    denominator: int

    def __str__(self) -> str:
        return f"floor(({self.numerator})/{self.denominator})"


Atom = Union[str, FloorDiv]  # noqa: UP007  (a forward reference: `|` would be evaluated)


def _atom_key(atom: Atom) -> tuple[int, str]:
    return (0, atom) if isinstance(atom, str) else (1, str(atom))


@dataclass(frozen=True, slots=True)
class Affine:
    """sum of coefficient * atom, plus a constant.

    Terms are sorted, without zeros, so that `==` and `hash` agree with syntactic equality of the
    normal form. Build with `constant`, `of` and the operators, not with the constructor.
    """

    terms: tuple[tuple[Atom, int], ...] = ()
    const: int = 0

    @staticmethod
    def constant(value: int) -> Affine:
        return Affine((), value)

    @staticmethod
    def of(atom: Atom, coefficient: int = 1) -> Affine:
        return Affine(((atom, coefficient),), 0) if coefficient else Affine()

    @staticmethod
    def build(terms: Iterable[tuple[Atom, int]], const: int) -> Affine:
        total: dict[Atom, int] = {}
        for atom, coefficient in terms:
            total[atom] = total.get(atom, 0) + coefficient
        return _normal(total, const)

    def __add__(self, other: Affine | int) -> Affine:
        if isinstance(other, int):
            return Affine(self.terms, self.const + other)
        if not (self.terms and other.terms):
            return Affine(self.terms or other.terms, self.const + other.const)
        return Affine.build((*self.terms, *other.terms), self.const + other.const)

    def __neg__(self) -> Affine:
        return self * -1

    def __sub__(self, other: Affine | int) -> Affine:
        return self + (-other)

    def __mul__(self, factor: int) -> Affine:
        if factor == 0:
            return Affine()
        return Affine(tuple((a, c * factor) for a, c in self.terms), self.const * factor)

    def floordiv(self, denominator: int) -> Affine:
        """floor(self / denominator), folded where it is exact."""
        if denominator < 1:
            raise ValueError("denominator must be at least 1")
        if denominator == 1:
            return self
        if all(c % denominator == 0 for _, c in self.terms):
            return Affine(tuple((a, c // denominator) for a, c in self.terms), self.const // denominator)
        return Affine.of(FloorDiv(self, denominator))

    @property
    def is_constant(self) -> bool:
        return not self.terms

    @property
    def is_linear(self) -> bool:
        """No floor division anywhere."""
        return all(isinstance(a, str) for a, _ in self.terms)

    def coefficient(self, name: str) -> int:
        """Coefficient of a plain name (0 when it appears only inside a floor)."""
        return next((c for a, c in self.terms if a == name), 0)

    def names(self) -> frozenset[str]:
        """Every iterator and parameter in the expression, also inside floors."""
        found: set[str] = set()
        for atom, _ in self.terms:
            if isinstance(atom, str):
                found.add(atom)
            else:
                found |= atom.numerator.names()
        return frozenset(found)

    def substitute(self, values: Mapping[str, Affine]) -> Affine:
        total: dict[Atom, int] = {}
        const = self.const
        for atom, coefficient in self.terms:
            value = None
            if not isinstance(atom, str):
                value = atom.numerator.substitute(values).floordiv(atom.denominator)
            elif atom in values:
                value = values[atom]
            if value is None:
                total[atom] = total.get(atom, 0) + coefficient
                continue
            const += value.const * coefficient
            for inner, factor in value.terms:
                total[inner] = total.get(inner, 0) + factor * coefficient
        return _normal(total, const)

    def evaluate(self, values: Mapping[str, int]) -> int:
        """Raises KeyError for a name without a value."""
        total = self.const
        for atom, coefficient in self.terms:
            if isinstance(atom, str):
                total += coefficient * values[atom]
            else:
                total += coefficient * (atom.numerator.evaluate(values) // atom.denominator)
        return total

    def __str__(self) -> str:
        text = ""
        for atom, coefficient in self.terms:
            sign = "-" if coefficient < 0 else "+"
            body = str(atom) if abs(coefficient) == 1 else f"{abs(coefficient)}*{atom}"
            text += (f" {sign} " if text else ("-" if coefficient < 0 else "")) + body
        if not text:
            return str(self.const)
        if self.const:
            text += f" {'-' if self.const < 0 else '+'} {abs(self.const)}"
        return text


def _normal(total: Mapping[Atom, int], const: int) -> Affine:
    kept = [term for term in total.items() if term[1]]
    if len(kept) > 1:
        kept.sort(key=lambda term: _atom_key(term[0]))
    return Affine(tuple(kept), const)


IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_0-9.]*", re.ASCII)
_TOKEN = re.compile(r"[ \t\r\n]*(?:([0-9]+)|(floor(?=[ \t\r\n]*\())|([A-Za-z_][A-Za-z_0-9.]*)|(.))", re.DOTALL)
_DIGITS = "0123456789"
_MAX_NESTING = 40
_MAX_DIGITS = 19


def parse_affine(text: str) -> Affine:
    """The inverse of `str`. Raises TextError."""
    text = text.strip(" \t\r\n")
    tokens = [m.group(m.lastindex or 0) for m in _TOKEN.finditer(text)]
    position = 0
    nesting = 0

    def fail(message: str) -> NoReturn:
        raise TextError(f"affine expression {text if len(text) < 100 else text[:100] + '…'!r}: {message}")

    def peek() -> str:
        return tokens[position] if position < len(tokens) else ""

    def take(expected: str = "") -> str:
        nonlocal position
        token = peek()
        if not token or (expected and token != expected):
            fail(f"expected {expected or 'more'}, found {token[:40] or 'the end'}")
        position += 1
        return token

    def number() -> int:
        token = take()
        if token[0] not in _DIGITS or len(token) > _MAX_DIGITS:
            fail(f"expected an integer of at most {_MAX_DIGITS} digits, found {token[:40]}")
        return int(token)

    def total() -> Affine:
        nonlocal nesting
        nesting += 1
        if nesting > _MAX_NESTING:
            fail(f"more than {_MAX_NESTING} levels")
        sign = 1
        if peek() == "-":
            take()
            sign = -1
        parts = [product() * sign]
        while peek() in ("+", "-"):
            sign = 1 if take() == "+" else -1
            parts.append(product() * sign)
        nesting -= 1
        if len(parts) == 1:
            return parts[0]
        return Affine.build((term for part in parts for term in part.terms), sum(part.const for part in parts))

    def product() -> Affine:
        result = factor()
        while peek() == "*":
            take()
            other = factor()
            if other.is_constant:
                result = result * other.const
            elif result.is_constant:
                result = other * result.const
            else:
                fail("product of two variables")
            if abs(result.const) >= 10**_MAX_DIGITS or any(abs(c) >= 10**_MAX_DIGITS for _, c in result.terms):
                fail("a coefficient is out of range")
        return result

    def factor() -> Affine:
        token = peek()
        if token and token[0] in _DIGITS:
            return Affine.constant(number())
        take()
        if token == "(":
            result = total()
            take(")")
            return result
        if token == "floor" and peek() == "(":
            take("(")
            numerator = total()
            take("/")
            denominator = number()
            if denominator < 1:
                fail(f"bad denominator {denominator}")
            take(")")
            return numerator.floordiv(denominator)
        if IDENTIFIER.fullmatch(token):
            return Affine.of(token)
        fail(f"unexpected {token[:40]!r}")

    result = total()
    if position != len(tokens):
        fail(f"trailing {peek()[:40]!r}")
    return result
