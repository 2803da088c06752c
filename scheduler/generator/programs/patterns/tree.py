"""Fused and imperfect trees of loops up to the greatest depth, with statements at every level."""

from __future__ import annotations

from scheduler.generator.programs.kernel import Kernel
from scheduler.generator.programs.patterns.expression import value
from scheduler.generator.programs.values import Array
from scheduler.ir.affine import Affine


def tree(k: Kernel) -> None:
    """Loops over up to `depth` axes; each level has a statement before or after the loops in it, or none.

    A statement reads and writes arrays over some of the axes around it; what one computes, later ones read.
    """
    rng = k.rng
    depth = min(k.settings.depth, rng.choices((2, 3, 4, 5, 6, 7), (3, 5, 4, 3, 2, 2))[0])
    _level(k, list(k.extents(depth, k.share / 3)), [], [], [])


def _level(
    k: Kernel, axes: list[Affine], extents: list[Affine], at: list[Affine], made: list[tuple[Array, list[int]]]
) -> None:
    """Everything inside the loops over `extents`, whose iterators are `at`; `made`: arrays with their axes."""
    rng = k.rng
    if not axes:
        for _ in range(rng.choice((1, 1, 2))):
            _statement(k, extents, at, made)
        return
    if extents and rng.random() < 0.45:
        _statement(k, extents, at, made)
    for _ in range(rng.choice((1, 1, 1, 2)) if len(axes) < 4 else 1):
        with k.loop(0, axes[0]) as i:
            _level(k, axes[1:], [*extents, axes[0]], [*at, i], made)
    if extents and rng.random() < 0.3:
        _statement(k, extents, at, made)


def _statement(k: Kernel, extents: list[Affine], at: list[Affine], made: list[tuple[Array, list[int]]]) -> None:
    rng = k.rng
    inside = [m for m in made if max(m[1]) < len(at)]
    terms = [_element(k, extents, at) for _ in range(rng.randint(1, 2))]
    if inside and rng.random() < 0.7:
        array, axes = rng.choice(inside)
        terms.insert(0, k.read(array, *(at[a] for a in axes)))
    summed = rng.random() < 0.5
    count = rng.randint(1, min(3, len(at)))
    axes = sorted(rng.sample(range(len(at)), count)) if summed else list(range(len(at)))
    if len(axes) > 4:
        axes = sorted(rng.sample(axes, 4))
    if rng.random() < 0.15:
        rng.shuffle(axes)
    target = k.input(*(extents[a] for a in axes))
    trips = 1.0
    for place, extent in enumerate(extents):
        trips *= 1 if place in axes else k.at(extent)
    text = value(k, terms, k.ctype)
    if summed and trips > 1:
        k.store(k.ref(target, *(at[a] for a in axes)), "+=", text, 600 * trips)
    else:
        k.store(k.ref(target, *(at[a] for a in axes)), "=", text, 600)
    made.append((target, axes))


def _element(k: Kernel, extents: list[Affine], at: list[Affine]) -> str:
    """Of an input over some of the axes, shifted at times."""
    rng = k.rng
    axes = rng.sample(range(len(at)), rng.randint(1, min(3, len(at))))
    if rng.random() < 0.7:
        axes.sort()
    if rng.random() < 0.2:
        shifts = [rng.randint(0, 2) for _ in axes]
        array = k.operand(*(extents[a] + s for a, s in zip(axes, shifts, strict=True)))
        return k.read(array, *(at[a] + s for a, s in zip(axes, shifts, strict=True)))
    return k.read(k.operand(*(extents[a] for a in axes)), *(at[a] for a in axes))
