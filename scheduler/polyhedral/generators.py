"""The generators of a polyhedron (vertices, rays, lines) from its constraints, exactly, by the double description.

Source: Motzkin et al. 1953; Chernikova's algorithm with lines apart as Le Verge describes it (INRIA 830, 1992).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import gcd

from scheduler.errors import SchedulerError

Vector = tuple[int, ...]

MOST_RAYS = 600
MOST_WORK = 2_000_000  # pairs of rays looked at, and rays compared with them: about half a second

_Side = tuple[Vector, int, int]  # a ray, what it lies on, how far it is from the plane that cuts


class TooManyGenerators(SchedulerError):
    """A polyhedron has more generators than are looked at."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """`coefficients · x + constant >= 0`, or `= 0`."""

    coefficients: Vector
    constant: int
    equality: bool = False


@dataclass(frozen=True, slots=True)
class Generators:
    """All points are a convex combination of `vertices`, plus `rays` times what is not negative, plus any `lines`.

    A vertex is (numerators, denominator). Without vertices there are no points.
    """

    vertices: tuple[tuple[Vector, int], ...]
    rays: tuple[Vector, ...]
    lines: tuple[Vector, ...]

    @property
    def is_empty(self) -> bool:
        return not self.vertices


def generators(constraints: Iterable[Constraint], dimensions: int, most: int = MOST_RAYS) -> Generators:
    """The generators of a polyhedron, none of which is redundant. Raises TooManyGenerators above `most` rays, or where
    finding them takes too long."""
    rows = [((*c.coefficients, c.constant), c.equality) for c in dict.fromkeys(constraints)]
    # Equalities first (they only make things smaller), then what cuts few dimensions, the sign of the last one before.
    rows.sort(key=lambda row: (not row[1], sum(map(bool, row[0])), row[0]))
    cone = _Cone(dimensions + 1, most)
    cone.cut((0,) * dimensions + (1,), False)
    for row, equality in rows:
        cone.cut(row, equality)
    vertices = [(ray[:-1], ray[-1]) for ray, _ in cone.rays if ray[-1]]
    rays = [ray[:-1] for ray, _ in cone.rays if not ray[-1]]
    return Generators(tuple(sorted(vertices)), tuple(sorted(rays)), tuple(line[:-1] for line in cone.lines))


def reduced_lines(found: Generators) -> Generators:
    """The same polyhedron with its lines in echelon form, and with vertices and rays that are 0 where lines begin."""
    lines: list[Vector] = []
    pivots: list[int] = []

    def without(vector: Vector) -> tuple[Vector, int]:
        """And by what the vector was multiplied."""
        scale = 1
        for pivot, line in zip(pivots, lines, strict=True):
            if vector[pivot]:
                factor = line[pivot] // gcd(line[pivot], vector[pivot])
                other = vector[pivot] // gcd(line[pivot], vector[pivot])
                vector = tuple(factor * x - other * y for x, y in zip(vector, line, strict=True))
                scale *= factor
        return vector, scale

    for line in sorted(found.lines, key=lambda one: [k for k, x in enumerate(one) if x]):
        new, _ = without(line)
        new = _reduced(new)
        pivot = next(k for k, x in enumerate(new) if x)
        if new[pivot] < 0:
            new = tuple(-x for x in new)
        others, lines, pivots = list(lines), [new], [pivot]
        cleared = [_reduced(without(other)[0]) for other in others]
        lines, pivots = [*cleared, new], [next(k for k, x in enumerate(one) if x) for one in (*cleared, new)]
    vertices: list[tuple[Vector, int]] = []
    for vector, denominator in found.vertices:
        new, scale = without(vector)
        divisor = gcd(*new, denominator * scale)
        vertices.append((tuple(x // divisor for x in new), denominator * scale // divisor))
    return Generators(tuple(vertices), tuple(_reduced(without(ray)[0]) for ray in found.rays), tuple(lines))


class _Cone:
    """The cone of all constraints so far: lines, and rays each with the set of the constraints it lies on (bits)."""

    def __init__(self, dimensions: int, most: int) -> None:
        self.lines: list[Vector] = [tuple(int(k == one) for k in range(dimensions)) for one in range(dimensions)]
        self.rays: list[tuple[Vector, int]] = []
        self._most = most
        self._count = 0
        self._work = 0

    def cut(self, row: Vector, equality: bool) -> None:
        """Only what has a product with `row` that is not negative (`equality`: that is zero) stays."""
        bit, self._count = 1 << self._count, self._count + 1
        pivot = next((line for line in self.lines if _product(row, line)), None)
        if pivot is not None:
            self._cut_lines(row, pivot, bit, equality)
            return
        sides: tuple[list[_Side], list[_Side]] = ([], [])
        on: list[tuple[Vector, int]] = []
        for ray, zeros in self.rays:
            value = _product(row, ray)
            if value:
                sides[value > 0].append((ray, zeros, abs(value)))
            else:
                on.append((ray, zeros | bit))
        below, above = sides
        if below and above:
            on += self._between(above, below, bit)
        self.rays = on if equality else [*on, *((ray, zeros) for ray, zeros, _ in above)]
        self._few(len(self.rays))

    def _cut_lines(self, row: Vector, pivot: Vector, bit: int, equality: bool) -> None:
        """One line leaves the plane `row`: all others move along it into the plane, a half of it becomes a ray."""
        others = [line for line in self.lines if line is not pivot]
        value = _product(row, pivot)
        if value < 0:
            pivot, value = tuple(-x for x in pivot), -value

        def moved(vector: Vector) -> Vector:
            other = _product(row, vector)
            return vector if not other else _reduced(value * x - other * p for x, p in zip(vector, pivot, strict=True))

        self.lines = [moved(line) for line in others]
        self.rays = [(moved(ray), zeros | bit) for ray, zeros in self.rays]
        if not equality:
            self.rays.append((pivot, bit - 1))  # it lies on all constraints before

    def _between(self, above: list[_Side], below: list[_Side], bit: int) -> list[tuple[Vector, int]]:
        """Where edges between neighbouring rays of the two sides pass through the plane."""
        everything = [zeros for _, zeros in self.rays]
        least = len(above[0][0]) - len(self.lines) - 2  # so many constraints at least meet in an edge
        found: list[tuple[Vector, int]] = []
        for up, up_zeros, up_value in above:
            for down, down_zeros, down_value in below:
                common = up_zeros & down_zeros
                if common.bit_count() < least or self._several(everything, common):
                    continue
                edge = _reduced(down_value * x + up_value * y for x, y in zip(up, down, strict=True))
                found.append((edge, common | bit))
            self._work += len(below)
            self._few(len(found))
        return found

    def _several(self, everything: list[int], common: int) -> bool:
        """Whether more than two rays lie on a face, so that none of their pairs is an edge."""
        count = 0
        for place, zeros in enumerate(everything):
            if zeros & common == common:
                count += 1
                if count > 2:
                    self._work += place
                    return True
        self._work += len(everything)
        return False

    def _few(self, count: int) -> None:
        if count > self._most or self._work > MOST_WORK:
            raise TooManyGenerators(f"a polyhedron of schedule coefficients has more than {self._most} generators")


def _product(first: Sequence[int], second: Sequence[int]) -> int:
    return sum(a * b for a, b in zip(first, second, strict=True) if a and b)


def _reduced(values: Iterable[int]) -> Vector:
    found = tuple(values)
    divisor = gcd(*found)
    return found if divisor <= 1 else tuple(x // divisor for x in found)
