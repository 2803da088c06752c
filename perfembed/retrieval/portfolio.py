"""Recipes that are tried at every nest beside those of its neighbours, whatever it is: a portfolio that complements
itself on the cross-transfer matrix.

Greedy, as for portfolios of algorithms (Streeter and Golovin 2008): the next recipe is the one that adds most to the
best gain of all nests so far.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perfembed.retrieval.donors import SEED, StoredDonor
from perfembed.retrieval.families import related

if TYPE_CHECKING:
    from perfembed.retrieval.cross_transfers import Asked, RecipeKey, Transfers

NAME = "portfolio.json"
SIZE = 10


def read_portfolio(folder: Path = SEED) -> tuple[RecipeKey, ...]:
    """None where there is no such file."""
    path = folder / NAME
    return tuple((donor, number) for donor, number in json.loads(path.read_text())) if path.exists() else ()


def write_portfolio(recipes: Sequence[RecipeKey], folder: Path = SEED) -> Path:
    """Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / NAME
    path.write_text("[\n" + ",\n".join(json.dumps(one) for one in recipes) + "\n]\n")
    return path


def allowed(row: Transfers, donors: Mapping[str, StoredDonor]) -> list[Asked]:
    """What of a row's recipes fits, has a time and is of no relative."""
    return [
        one
        for one in row.asked
        if one.tree is not None
        and one.donor in donors
        and not _related(donors[one.donor].algorithm, row.algorithm)
        and math.isfinite(row.gain(one))
    ]


@functools.cache
def _related(one: str, other: str) -> bool:
    return related(one, other)


def constant_portfolio(rows: Sequence[Transfers], donors: Mapping[str, StoredDonor]) -> tuple[RecipeKey, ...]:
    """The anchors in the order in which they add most to the best gain of the nests so far, whatever the nest is."""
    gains: dict[RecipeKey, dict[int, float]] = {}
    for n, row in enumerate(rows):
        for one in allowed(row, donors):
            if one.how == "anchor":
                gains.setdefault(one.key, {})[n] = row.gain(one)
    best = [0.0] * len(rows)
    order: list[RecipeKey] = []
    while len(order) < len(gains):
        added = {
            key: sum(max(0.0, gain - best[n]) for n, gain in found.items())
            for key, found in sorted(gains.items())
            if key not in order
        }
        chosen = max(added, key=lambda key: added[key])
        order.append(chosen)
        for n, gain in gains[chosen].items():
            best[n] = max(best[n], gain)
    return tuple(order)
