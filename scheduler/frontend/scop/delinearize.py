"""One linear subscript (`A[i*n + j]`) to one subscript a dimension (`A[i][j]`), where that is provably the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import gcd

from scheduler.frontend.analysis.poly import Atom, Monomial, Poly, atom_names, monomial
from scheduler.frontend.analysis.prove import Domain, Facts
from scheduler.ir.affine import Affine

_MAX_TRIALS = 12
_MAX_SLACK = 16
_MAX_FACTOR = 4


@dataclass(frozen=True, slots=True)
class Stride:
    """coefficient * product of parameters."""

    coefficient: int
    atoms: Monomial

    def divides(self, other: Stride) -> bool:
        return other.coefficient % self.coefficient == 0 and not Counter(self.atoms) - Counter(other.atoms)

    def extent(self, outer: Stride) -> Affine | None:
        """outer / self as an affine expression."""
        rest = tuple((Counter(outer.atoms) - Counter(self.atoms)).elements())
        if len(rest) > 1:
            return None
        return affine_of(rest[0] if rest else None, outer.coefficient // self.coefficient)


UNIT = Stride(1, ())


@dataclass(frozen=True, slots=True)
class Shaped:
    """Extents of the inner dimensions, and one tuple of subscripts an access."""

    inner: tuple[Affine, ...]
    subscripts: tuple[tuple[Affine, ...], ...]


def affine_of(atom: Atom | None, coefficient: int) -> Affine:
    found = Poly((((() if atom is None else (atom,)), coefficient),)).affine
    assert found is not None
    return found


def delinearize(
    facts: Facts, accesses: list[tuple[Poly, Domain]], is_parameter: Callable[[str], bool]
) -> Shaped | None:
    """A shape all accesses agree on; assumptions it needs are added to `facts`. None: there is none."""
    polys = [p for p, _ in accesses]
    if _is_symbolic(polys, is_parameter):
        for moving in (True, False):  # first without strides that multiply no iterator, as in `A[(n - 1) * m + j]`
            for assume in (False, True):
                for fine in (True, False):
                    strides = _symbolic_strides(polys, is_parameter, fine, moving)
                    found = strides and _shaped(facts, accesses, strides, is_parameter, assume)
                    if found:
                        return found
        return None
    for trial, levels in enumerate(_constant_strides(accesses)):
        if trial == _MAX_TRIALS:
            break
        found = _shaped(facts, accesses, levels, is_parameter, assume=False)
        if found is not None:
            return found
    return None


def split(mono: Monomial, is_parameter: Callable[[str], bool]) -> tuple[Monomial, Monomial]:
    """Iterator part and parameter part."""
    parameters = tuple(a for a in mono if all(is_parameter(n) for n in atom_names(a)))
    return tuple(a for a in mono if a not in parameters), parameters


def _is_symbolic(polys: list[Poly], is_parameter: Callable[[str], bool]) -> bool:
    """Some iterator is multiplied by a parameter."""
    return any(all(split(mono, is_parameter)) for poly in polys for mono, _ in poly.terms)


def _symbolic_strides(
    polys: list[Poly], is_parameter: Callable[[str], bool], fine: bool, moving: bool
) -> tuple[Stride, ...] | None:
    """Strides, largest first, each divisible by the next. `fine`: 9n, 3n, n are three, not one. `moving`: only those
    of iterators.
    """
    coefficients: dict[Monomial, set[int]] = {}
    several: dict[Monomial, set[int]] = {}  # of iterators that meet in one subscript
    for poly in polys:
        own: dict[Monomial, set[int]] = {}
        for mono, coefficient in poly.terms:
            iterators, parameters = split(mono, is_parameter)
            if iterators or len(parameters) > 1:
                coefficients.setdefault(parameters, set()).add(abs(coefficient))
            if iterators:
                own.setdefault(parameters, set()).add(abs(coefficient))
        for parameters, found in own.items():
            if len(found) > 1:
                several.setdefault(parameters, set()).update(found)
    constants = coefficients.pop((), set())
    if moving:
        parts = [split(mono, is_parameter) for poly in polys for mono, _ in poly.terms]
        iterated = {parameters for iterators, parameters in parts if iterators}
        coefficients = {parameters: found for parameters, found in coefficients.items() if parameters in iterated}
    levels: list[Stride] = []
    for parameters in sorted(coefficients, key=lambda m: (-len(m), str(m))):
        least = gcd(*coefficients[parameters])
        chosen = sorted(several.get(parameters, set()) | {least}, reverse=True) if fine else [least]
        levels += [Stride(c, parameters) for c in chosen]
    for constant in sorted(constants, reverse=True):
        if constant > 1 and all(constant % s.coefficient == 0 or s.coefficient % constant == 0 for s in levels):
            stride = Stride(constant, ())
            if all(stride.divides(s) for s in levels):
                levels.append(stride)
    levels.append(UNIT)
    for outer, below in pairwise(levels):
        if not below.divides(outer) or below.extent(outer) is None:
            return None
    return tuple(levels)


def _constant_strides(accesses: list[tuple[Poly, Domain]]) -> Iterator[tuple[Stride, ...]]:
    """Chains of constant strides worth trying, the longest first."""
    found: set[int] = set()
    worthwhile = False
    for poly, _ in accesses:
        own = {abs(c) for m, c in poly.terms if m}
        worthwhile = worthwhile or len(own) > 1
        found |= own
    candidates = sorted((c for c in found if c > 1), reverse=True)[:5]
    if not worthwhile or not candidates:
        return
    for size in range(len(candidates), 0, -1):
        for chosen in combinations(candidates, size):
            if all(a % b == 0 for a, b in pairwise(chosen)):
                yield (*(Stride(c, ()) for c in chosen), UNIT)


def _shaped(
    facts: Facts,
    accesses: list[tuple[Poly, Domain]],
    levels: tuple[Stride, ...],
    is_parameter: Callable[[str], bool],
    assume: bool,
) -> Shaped | None:
    extents: list[Affine] = []
    for outer, below in pairwise(levels):
        extent = below.extent(outer)
        if extent is None:
            return None
        extents.append(extent)
    saved = list(facts.assumptions)
    result = []
    for poly, domain in accesses:
        subscripts = _decompose(poly, levels, is_parameter)
        found = None if subscripts is None else _bounded(facts, subscripts, extents, domain, assume)
        if found is None:
            facts.assumptions[:] = saved
            return None
        result.append(found)
    return Shaped(tuple(extents), tuple(result))


def _decompose(poly: Poly, levels: tuple[Stride, ...], is_parameter: Callable[[str], bool]) -> list[Affine] | None:
    """Subscripts with sum(subscript * stride) == poly."""
    parts: list[list[tuple[Monomial, int]]] = [[] for _ in levels]
    for mono, coefficient in poly.terms:
        if not mono:
            rest = coefficient
            for position, level in enumerate(levels):
                if not level.atoms:
                    parts[position].append(((), rest // level.coefficient))
                    rest %= level.coefficient
            continue
        term = Stride(abs(coefficient), mono)
        for position, level in enumerate(levels):
            if level.divides(term):
                rest_atoms = monomial((Counter(mono) - Counter(level.atoms)).elements())
                parts[position].append((rest_atoms, coefficient // level.coefficient))
                break
        else:
            return None
    result = []
    for part in parts:
        affine = Poly.build(part).affine
        if affine is None:
            return None
        result.append(affine)
    _move_multiples(result, levels, is_parameter)
    return result


def _move_multiples(subscripts: list[Affine], levels: tuple[Stride, ...], is_parameter: Callable[[str], bool]) -> None:
    """A multiple of the extent among the parameters of a subscript belongs to the dimension outside."""
    for position in range(len(levels) - 1, 0, -1):
        extent = levels[position].extent(levels[position - 1])
        if extent is None or extent.is_constant or len(extent.terms) + bool(extent.const) < 2:
            continue
        own = Affine.build([(a, c) for a, c in subscripts[position].terms if isinstance(a, str) and is_parameter(a)], 0)
        atom, coefficient = extent.terms[0]
        times = own.coefficient(atom) // coefficient if isinstance(atom, str) else 0
        if times and own - Affine(extent.terms) * times == Affine():
            subscripts[position] = subscripts[position] - extent * times
            subscripts[position - 1] = subscripts[position - 1] + times


def _bounded(
    facts: Facts, subscripts: list[Affine], extents: list[Affine], domain: Domain, assume: bool
) -> tuple[Affine, ...] | None:
    """The subscripts with carries moved so that each inner one is within its extent."""
    result = list(subscripts)
    for position in range(len(result) - 1, 0, -1):
        extent = extents[position - 1]
        for carry in (0, 1, -1):
            inner = result[position] - extent * carry
            if _within(facts, inner, extent, domain, assume):
                result[position] = inner
                result[position - 1] = result[position - 1] + carry
                break
        else:
            return None
    return tuple(result)


def _within(facts: Facts, subscript: Affine, extent: Affine, domain: Domain, assume: bool) -> bool:
    check = facts.require if assume else facts.proves
    saved = list(facts.assumptions)
    if check(subscript, domain) and check(extent - subscript - 1, domain):
        # `ld >= m` is how such code is written; `m >= 33 n + 78` means that the shape is a wrong guess.
        added = [c.affine for c in facts.assumptions[len(saved) :]]
        if all(a.const >= -_MAX_SLACK and all(abs(k) <= _MAX_FACTOR for _, k in a.terms) for a in added):
            return True
    facts.assumptions[:] = saved
    return False
