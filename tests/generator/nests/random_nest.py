"""Random loop nests for tests and for training: valid, in bounds for all parameters >= 1, with finite results."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from scheduler.ir.affine import Affine
from scheduler.ir.nest import Array, Constraint, LoopNest, Node, Storage
from tests.generator.nests.builder import Builder, Size
from tests.generator.nests.fit import fit
from tests.generator.nests.shapes import SHAPES, Shape

_TYPES = (("double", 50), ("float", 25), ("int", 15), ("long", 5), ("short", 3), ("unsigned int", 2))


def random_nest(
    rng: random.Random, size: Size | None = None, shapes: Sequence[Shape] = SHAPES, name: str = "random"
) -> LoopNest:
    """One to `size.nests` shapes side by side that share arrays. Same generator state, same nest."""
    size = size or Size()
    usable = [s for s in shapes if s.least_depth <= size.depth]
    if not usable:
        raise ValueError(f"no shape fits {size.depth} loops inside each other")
    ctype = rng.choices([t for t, _ in _TYPES], [w for _, w in _TYPES])[0]
    builder = Builder(rng, size, ctype, loop_type=rng.choice(("int", "int", "int", "long")))
    nodes: list[Node] = []
    for _ in range(rng.randint(1, size.nests)):
        shape = rng.choices(usable, [s.weight for s in usable])[0]
        nodes.extend(shape.build(builder))
    low = {p.name: 1 for p in builder.parameters}
    body, arrays = fit(tuple(nodes), builder.arrays, builder.boxes, low)
    assumptions = tuple(Constraint(Affine.of(p.name) - 1) for p in builder.parameters)
    finished = tuple(_finished(rng, array) for array in arrays.values())
    return LoopNest(name, tuple(builder.parameters), finished, body, assumptions)


def _finished(rng: random.Random, array: Array) -> Array:
    """Arrays of constant size may be globals; of some pointers nobody knows the outermost extent."""
    sizes = [extent for extent in array.shape if extent is not None]
    if array.shape and array.storage is Storage.LOCAL and all(e.is_constant for e in sizes):
        return replace(array, storage=Storage.GLOBAL)
    if array.shape and array.storage is Storage.POINTER and not array.flat and rng.random() < 0.3:
        return replace(array, shape=(None, *array.shape[1:]))
    return array
