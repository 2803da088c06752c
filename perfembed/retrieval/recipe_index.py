"""Which recipes are expected to gain most at a nest: a maximum inner product search (FAISS) over all donors'."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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
    """The `k` donors of all sources of whose recipes most is expected at a nest, best first, each nest once.

    Of a source without towers, the nearest.
    """
    found: dict[str, Found] = {}
    for source in sources:
        if source.recipes is None:
            for near in source.nearest(nest, k, accept):
                found.setdefault(near.donor.nest_id, near)
            continue
        for (donor, number), gain in source.recipes.search(nest, k, accept):
            known = found.get(donor)
            vector = source.index.vector(donor)
            distance = float(np.linalg.norm(vector - nest)) if vector is not None else 0.0
            gains = {**(known.gains if known is not None else {}), number: gain}
            found[donor] = Found(source.by_id[donor], distance, gains)
    return best_of(found.values(), k)


def best_of(found: Iterable[Found], k: int) -> tuple[Found, ...]:
    """The `k` of whose recipes most is expected, each nest once; those of which nothing is known come last."""
    every: dict[str, Found] = {}
    for one in sorted(found, key=lambda f: (not f.gains, -f.gain, f.distance, f.donor.nest_id)):
        every.setdefault(one.donor.nest_id, one)
    return tuple(every.values())[:k]


def _faiss() -> Any:
    """Its type hints lag behind its functions."""
    import faiss

    return faiss
