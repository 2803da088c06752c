"""Which recipes are expected to gain most at a nest: a maximum inner product search (FAISS) over all donors'."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from perfembed.retrieval.donors import Donors, Found, StoredDonor
from perfembed.retrieval.towers import STEPS, Floats, RecipeKey, Recipes, Towers, steps_of

if TYPE_CHECKING:
    from perfembed.retrieval.index import VectorIndex

SCHEDULES = 2  # of a donor: the best, and one that does it another way


class RecipeIndex:
    """The recipes of one source of donors under some towers."""

    def __init__(self, donors: Mapping[str, StoredDonor], vectors: VectorIndex, towers: Towers) -> None:
        """Donors without a vector have no recipes."""
        faiss = _faiss()
        self.towers = towers
        found = recipes_of(donors, vectors.vector)
        self.keys = found.keys
        self._rows = {key: row for row, key in enumerate(found.keys)}
        placed = towers.recipes(found) if found.keys else np.zeros((0, 1), dtype=np.float32)
        self._index: Any = faiss.IndexFlatIP(placed.shape[1])
        self._index.add(placed)
        self._donors = donors

    def search(
        self, nest: Floats, k: int, accept: Callable[[StoredDonor], bool] | None = None
    ) -> list[tuple[RecipeKey, float]]:
        """The recipes of `k` donors for a nest's vector [space], with their expected log gains, best first; of those
        that `accept` lets through."""
        faiss = _faiss()
        if not self.keys or k < 1:
            return []
        allowed = np.array([accept is None or accept(self._donors[donor]) for donor, _ in self.keys], dtype=bool)
        most = min(k * SCHEDULES, int(allowed.sum()))
        if not most:
            return []
        bits = np.packbits(allowed, bitorder="little")
        selector = faiss.IDSelectorBitmap(len(self.keys), faiss.swig_ptr(bits))
        query = self.towers.queries(nest[None])
        gains, rows = self._index.search(query, most, params=faiss.SearchParameters(sel=selector))
        found: list[tuple[RecipeKey, float]] = []
        taken: set[str] = set()
        for gain, row in zip(gains[0], rows[0], strict=True):
            key = self.keys[int(row)]
            if key[0] in taken or len(taken) < k:
                taken.add(key[0])
                found.append((key, float(gain)))
        return found

    def gains(self, nest: Floats, donor: str) -> dict[int, float]:
        """What is expected of each recipe of a donor, by its number."""
        query = self.towers.queries(nest[None])[0]
        numbers = range(len(self._donors[donor].schedules[:SCHEDULES])) if donor in self._donors else ()
        rows = {number: self._rows.get((donor, number)) for number in numbers}
        return {n: float(self._index.reconstruct(row) @ query) for n, row in rows.items() if row is not None}


def recipes_of(donors: Mapping[str, StoredDonor], vector: Callable[[str], Floats | None]) -> Recipes:
    """The first schedules of all donors that have a vector."""
    keys: list[RecipeKey] = []
    nests: list[Floats] = []
    steps: list[Floats] = []
    gains: list[float] = []
    for key, donor in donors.items():
        own = vector(key)
        if own is not None:
            for number, schedule in enumerate(donor.schedules[:SCHEDULES]):
                keys.append((key, number))
                nests.append(own)
                steps.append(steps_of(schedule))
                gains.append(float(np.log(max(donor.speedups[number], 1e-3))))
    width = len(nests[0]) if nests else 0
    stacked = np.stack(nests) if nests else np.zeros((0, width), dtype=np.float32)
    every = np.array(steps, dtype=np.float32).reshape(len(keys), STEPS)
    return Recipes(tuple(keys), stacked, every, np.array(gains, np.float32))


def promising(
    sources: Sequence[Donors], nest: Floats, k: int, accept: Callable[[StoredDonor], bool] | None = None
) -> tuple[Found, ...]:
    """`k` donors for a nest, by turns those nearest and those of whose recipes most is expected; each nest once.

    The nearest, because a nest that is there itself, or nearly, is asked whatever was learned from others. Of a source
    without towers nothing is expected.
    """
    found: list[Found] = []
    for source in sources:
        found += (_with_gains(one, source, nest) for one in source.nearest(nest, k, accept))
        donors: dict[str, dict[int, float]] = {}
        for (donor, number), gain in source.recipes.search(nest, k, accept) if source.recipes is not None else ():
            donors.setdefault(donor, {})[number] = gain
        for donor, gains in donors.items():
            vector = source.index.vector(donor)
            distance = float(np.linalg.norm(vector - nest)) if vector is not None else 0.0
            found.append(Found(source.by_id[donor], distance, gains))
    return by_turns(found, k)


def by_turns(found: Iterable[Found], k: int) -> tuple[Found, ...]:
    """`k` of what was found, by turns the nearest and that of which most is expected; each nest once."""
    near = sorted(found, key=lambda one: (one.distance, one.donor.nest_id))
    best = sorted((one for one in near if one.gains), key=lambda one: (-one.gain, one.donor.nest_id))
    chosen: dict[str, Found] = {}
    for pair in zip_longest(near, best):
        for one in pair:
            if one is not None:
                chosen.setdefault(one.donor.nest_id, one)
    return tuple(chosen.values())[:k]


def _with_gains(found: Found, source: Donors, nest: Floats) -> Found:
    return found if source.recipes is None else replace(found, gains=source.recipes.gains(nest, found.donor.nest_id))


def _faiss() -> Any:
    """Its type hints lag behind its functions."""
    import faiss

    return faiss
