"""Integer polynomials over iterators and parameters: subscripts before delinearization."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Union

from scheduler.ir.affine import Affine, FloorDiv


@dataclass(frozen=True, slots=True)
class Group:
    """A sum of parameters that multiplied something, kept together: the `n + 2` of `i * (n + 2)`."""

    affine: Affine

    def __str__(self) -> str:
        return f"({self.affine})"


Atom = Union[str, FloorDiv, Group]  # noqa: UP007
Monomial = tuple[Atom, ...]


def _key(atom: Atom) -> tuple[int, str]:
    return (0 if isinstance(atom, str) else 1, str(atom))


def monomial(atoms: Iterable[Atom]) -> Monomial:
    return tuple(sorted(atoms, key=_key))


@dataclass(frozen=True, slots=True)
class Poly:
    """Sum of coefficient * product of atoms; the empty product is the constant."""

    terms: tuple[tuple[Monomial, int], ...] = ()

    @staticmethod
    def build(terms: Iterable[tuple[Monomial, int]]) -> Poly:
        total: dict[Monomial, int] = {}
        for mono, coefficient in terms:
            total[mono] = total.get(mono, 0) + coefficient
        return Poly(tuple((m, c) for m, c in total.items() if c))

    @staticmethod
    def of(affine: Affine) -> Poly:
        terms: list[tuple[Monomial, int]] = [((atom,), c) for atom, c in affine.terms]
        return Poly.build([*terms, ((), affine.const)])

    def __add__(self, other: Poly) -> Poly:
        return Poly.build((*self.terms, *other.terms))

    def scale(self, factor: int) -> Poly:
        return Poly.build((m, c * factor) for m, c in self.terms)

    def __sub__(self, other: Poly) -> Poly:
        return self + other.scale(-1)

    @property
    def affine(self) -> Affine | None:
        """The same as an affine expression, if it is one."""
        result = Affine()
        for mono, coefficient in self.terms:
            if not mono:
                result = result + coefficient
            elif len(mono) == 1:
                atom = mono[0]
                result = result + (atom.affine if isinstance(atom, Group) else Affine.of(atom)) * coefficient
            else:
                return None
        return result

    @property
    def constant(self) -> int | None:
        if not self.terms:
            return 0
        return self.terms[0][1] if len(self.terms) == 1 and not self.terms[0][0] else None

    def names(self) -> frozenset[str]:
        found: set[str] = set()
        for mono, _ in self.terms:
            for atom in mono:
                found |= atom_names(atom)
        return frozenset(found)

    def multiply(self, other: Poly, is_parameter: Callable[[str], bool]) -> Poly | None:
        """The product; None where it has the square of an iterator or grows too large."""
        for a, b in ((self, other), (other, self)):
            constant = b.constant
            if constant is not None:
                return a.scale(constant)
        left, right = self._grouped(is_parameter), other._grouped(is_parameter)
        if len(left.terms) * len(right.terms) > 64:
            return None
        product = Poly.build((monomial((*m, *k)), c * d) for m, c in left.terms for k, d in right.terms)
        for mono, _ in product.terms:
            variables = [a for a in mono if not all(is_parameter(n) for n in atom_names(a))]
            if len(variables) > 1 or len(mono) > 6:
                return None
        return product

    def _grouped(self, is_parameter: Callable[[str], bool]) -> Poly:
        """A sum of parameters only, as one atom."""
        if len(self.terms) < 2 or not all(is_parameter(n) for n in self.names()):
            return self
        affine = self.affine
        return self if affine is None else Poly((((Group(affine),), 1),))


def atom_names(atom: Atom) -> frozenset[str]:
    if isinstance(atom, str):
        return frozenset((atom,))
    return atom.affine.names() if isinstance(atom, Group) else atom.numerator.names()
