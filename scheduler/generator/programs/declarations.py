"""The extents and arrays of a program: new ones, or those an earlier pattern left; the iterators around a place."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log2, prod

from scheduler.generator.programs.settings import GeneratorSettings
from scheduler.generator.programs.values import Array, Fill, Ref
from scheduler.ir.affine import Affine
from scheduler.ir.names import free_name
from scheduler.ir.types import is_floating, known_type


@dataclass(frozen=True, slots=True)
class Iterator:
    """It runs over [max(starts), min(stops)), in whichever direction; `trips` where only data tells how often."""

    name: str
    starts: tuple[Affine, ...]
    stops: tuple[Affine, ...]
    step: int = 1
    trips: float | None = None


def most(affine: Affine, around: Sequence[Iterator], sizes: Mapping[str, int]) -> int:
    """An upper bound on an expression of iterators (outermost first) and extents.

    Every iterator is replaced by the bound of its loop, from the innermost to the outermost, so that bounds that
    depend on outer iterators are exact; of several bounds the best one counts.
    """
    for level in range(len(around) - 1, -1, -1):
        iterator = around[level]
        coefficient = affine.coefficient(iterator.name)
        if not coefficient:
            continue
        rest = affine - Affine.of(iterator.name, coefficient)
        ends = [s - 1 for s in iterator.stops] if coefficient > 0 else list(iterator.starts)
        return min(most(rest + end * coefficient, around[:level], sizes) for end in ends)
    return affine.evaluate(sizes)


def least(affine: Affine, around: Sequence[Iterator], sizes: Mapping[str, int]) -> int:
    return -most(-affine, around, sizes)


def trips(around: Sequence[Iterator], sizes: Mapping[str, int]) -> list[float]:
    """About how often each loop runs each time it is reached: outer iterators count as the middle of their range."""
    middle: dict[str, float] = {name: float(value) for name, value in sizes.items()}
    result = []
    for iterator in around:
        start = max(_value(s, middle) for s in iterator.starts)
        stop = min(_value(s, middle) for s in iterator.stops)
        count = iterator.trips if iterator.trips is not None else (stop - start) / iterator.step
        result.append(max(count, 0.0))
        middle[iterator.name] = (start + stop) / 2
    return result


def _value(affine: Affine, values: Mapping[str, float]) -> float:
    return affine.const + sum(c * values[a] for a, c in affine.terms if isinstance(a, str))


Extent = Affine | int
_ARRAYS = "ABCDEFGUVWXYZ"
_DIMENSIONS = "IJKLMNPQRSTUVW"
_LONGEST = 1 << 22  # elements of a vector


@dataclass(slots=True)
class Declarations:
    """`ctype`: what most arrays hold; `share`: the work one pattern should cause.

    `sizes`: the value of every extent at the small and at the normal size.
    """

    rng: random.Random
    settings: GeneratorSettings
    ctype: str
    share: float
    sizes: tuple[dict[str, int], dict[str, int]] = field(default_factory=lambda: ({}, {}), kw_only=True)
    arrays: list[Array] = field(default_factory=list, kw_only=True)
    scalars: list[Array] = field(default_factory=list, kw_only=True)
    used: set[str] = field(default_factory=set, kw_only=True)

    # ------------------------------------------------------------------------------------- extents

    def rank(self, *choices: int, inside: int = 0) -> int:
        """One of the choices, preferably that of an earlier result, which fits `inside` so many more loops."""
        usable = [c for c in choices if c <= self.settings.depth - inside] or [1]
        known = [len(a.shape) for a in self.arrays if a.written and a.ctype == self.ctype and len(a.shape) in usable]
        return self.rng.choice(known if known and self.rng.random() < 0.8 else usable)

    def extents(
        self, count: int, work: float | None = None, least: int | None = None, most: int | None = None
    ) -> tuple[Affine, ...]:
        """Extents whose product is about `work`: those of an earlier result, or new ones, shared out at random."""
        low = max(least or 0, self.settings.least_extent)
        high = max(low, most or (self.settings.most_extent if count > 1 else _LONGEST))
        known = [a.shape for a in self.arrays if self._fits(a, count, work or self.share, low, high)]
        if known and self.rng.random() < 0.8:
            return self.rng.choice(known)
        logarithm = max(0.0, _log2((work or self.share) / float(low) ** count))
        shares = [self.rng.gammavariate(2.0, 1.0) for _ in range(count)]
        found, left = [Affine()] * count, sum(shares)
        for place in sorted(range(count), key=lambda p: shares[p], reverse=True):
            wanted = low * 2 ** (logarithm * shares[place] / left)
            left -= shares[place]
            if wanted > high:
                wanted = high * self.rng.uniform(0.5, 1)
            value = min(high, max(low, self._rounded(wanted)))
            logarithm = max(0.0, logarithm - _log2(value / low))
            found[place] = self.extent(value, low)
        return tuple(found)

    def _fits(self, array: Array, rank: int, work: float, low: int, high: int) -> bool:
        """Whether a pattern of about that much work could go on with a result."""
        if not array.written or len(array.shape) != rank or array.ctype != self.ctype:
            return False
        inside = all(low <= self.at(e, large) and self.at(e) <= high for e in array.shape for large in (False, True))
        return inside and work / 100 < self.elements(array) < work * 8

    def extent(self, large: int, least: int = 2) -> Affine:
        """A new extent of a given value."""
        name = next(f"N{c}{n or ''}" for n in range(99) for c in _DIMENSIONS if f"N{c}{n or ''}" not in self.used)
        self.used.add(name)
        deep = len(self.sizes[0]) > 3
        small = min(large, max(least, self.rng.randint(2, 4) if deep else self.rng.randint(4, 8)))
        self.sizes[0][name], self.sizes[1][name] = small, large
        return Affine.of(name)

    def _rounded(self, value: float) -> int:
        """Powers of two, round numbers, and numbers that fit nothing."""
        roll = self.rng.random()
        if roll < 0.2:
            return int(2 ** round(_log2(value)))
        if roll < 0.5 and value > 24:
            unit = self.rng.choice([u for u in (8, 10, 16, 50, 100, 500) if u * 2 < value])
            return round(value / unit) * unit
        return round(value) | (1 if roll < 0.75 else 0)

    def at(self, affine: Extent, large: bool = True) -> int:
        """The value of an expression of extents."""
        return affine if isinstance(affine, int) else affine.evaluate(self.sizes[large])

    # -------------------------------------------------------------------------------------- arrays

    def input(self, *shape: Extent, ctype: str | None = None, fill: Fill = Fill.VALUES) -> Array:
        """A new array."""
        name = next(f"{c}{n or ''}" for n in range(99) for c in _ARRAYS if f"{c}{n or ''}" not in self.used)
        return self._declared(name, shape, ctype or self.ctype, fill)

    def _declared(self, name: str, shape: Sequence[Extent], ctype: str, fill: Fill) -> Array:
        self.used.add(name)
        extents = tuple(Affine.constant(e) if isinstance(e, int) else e for e in shape)
        integers = {Fill.VALUES: 15.0, Fill.POSITIVE: 15.0}
        floats = {Fill.VALUES: 0.5, Fill.POSITIVE: 1.5, Fill.DOMINANT: 1.5}
        array = Array(name, ctype, extents, fill, (floats if is_floating(ctype) else integers).get(fill, 0.0))
        (self.arrays if shape else self.scalars).append(array)
        return array

    def operand(self, *shape: Extent, besides: Array | None = None) -> Array:
        """An array of this very shape that is there already, preferably a result, or a new one."""
        wanted = tuple(Affine.constant(e) if isinstance(e, int) else e for e in shape)
        known = [a for a in self.arrays if a.shape == wanted and a.fill is Fill.VALUES and a.ctype == self.ctype]
        known = [a for a in known if a is not besides]
        results = [a for a in known if a.written]
        if known and self.rng.random() < (0.75 if results else 0.5):
            return self.rng.choice(results or known)
        return self.input(*shape)

    def source(self, rank: int, work: float | None = None, least: int | None = None, largest: float = 1e30) -> Array:
        """Data to start from: preferably what an earlier pattern computed, else a new array of new extents.

        `largest`: the greatest magnitude a pattern can bear that does not read with `read`.
        """
        low = max(least or 0, self.settings.least_extent)
        known = [
            a
            for a in self.arrays
            if len(a.shape) == rank and a.fill is Fill.VALUES and a.ctype == self.ctype and a.bound <= largest
            if all(self.at(e, large) >= low for e in a.shape for large in (False, True))
        ]
        known = [a for a in known if a.written] or known
        if known and self.rng.random() < 0.9:
            return self.rng.choice(known)
        return self.input(*self.extents(rank, work, least))

    def index(self, name: str, shape: Extent | Sequence[Extent], below: Extent) -> Array:
        """An array of integers in [0, below)."""
        extents = (shape,) if isinstance(shape, int | Affine) else shape
        array = self._declared(self.free(name), extents, "int", Fill.INDICES)
        array.below = Affine.constant(below) if isinstance(below, int) else below
        return array

    def rows(self, name: str, count: Affine, each: int) -> tuple[Array, Affine]:
        """Where the rows of a sparse matrix begin, `each` entries a row on average; and the number of entries."""
        array = self._declared(self.free(name), (count + 1,), "int", Fill.ROWS)
        array.each, array.below = each, count * each
        return array, array.below

    def scalar(self, ctype: str | None = None, wish: str = "total") -> Ref:
        """A global scalar."""
        array = self._declared(self.free(wish), (), ctype or self.ctype, Fill.VALUES)
        array.used = True
        return Ref.of(array.name, array)

    def free(self, wish: str) -> str:
        """The name, or the name with a number."""
        name = free_name(wish, self.used, "")
        self.used.add(name)
        return name

    @property
    def floating(self) -> str:
        """The type of the program, or double where that is an integer."""
        return self.ctype if is_floating(self.ctype) else "double"

    def elements(self, array: Array) -> int:
        """At the normal size."""
        return prod(self.at(extent) for extent in array.shape)

    def bytes(self, array: Array) -> int:
        """At the normal size."""
        return self.elements(array) * known_type(array.ctype).bits // 8


def _log2(value: float) -> float:
    return log2(max(value, 1e-9))
