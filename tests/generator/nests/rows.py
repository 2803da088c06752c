"""Nests over arrays of structures: arrays of which every element becomes a few numbers side by side."""

from __future__ import annotations

import random
from dataclasses import replace

from scheduler.ir.affine import Affine
from scheduler.ir.mapping import map_nodes
from scheduler.ir.nest import Access, LoopNest, Storage

_WIDEST = 4


def with_rows(nest: LoopNest, rng: random.Random) -> LoopNest:
    """The nest with some of its arrays a dimension longer; each access gets a place in it at random."""
    widths = {
        array.name: rng.randint(2, _WIDEST)
        for array in nest.arrays
        if array.shape and array.storage is not Storage.PRIVATE and not array.flat and rng.random() < 0.6
    }

    def placed(access: Access) -> Access:
        width = widths.get(access.array)
        if width is None:
            return access
        return replace(access, subscripts=(*access.subscripts, Affine.constant(rng.randrange(width))))

    arrays = tuple(
        replace(a, shape=(*a.shape, Affine.constant(widths[a.name]))) if a.name in widths else a for a in nest.arrays
    )
    return replace(nest, arrays=arrays, body=map_nodes(nest.body, placed))
