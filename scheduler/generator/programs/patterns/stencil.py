"""Stencils: von Neumann and Moore neighbourhoods in one to three dimensions, swept once or under a time loop."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from itertools import product

from scheduler.generator.programs.arrays import Array
from scheduler.generator.programs.kernel import Kernel
from scheduler.generator.programs.values import literal, maximum, mean
from scheduler.ir.affine import Affine
from scheduler.ir.types import is_floating

Offsets = list[tuple[int, ...]]


def stencil(k: Kernel) -> None:
    form = k.rng.choice(
        ("once", "once", "once", "two arrays", "two arrays", "copy back", "in place", "staggered", "wave")
    )
    if form == "staggered" and k.settings.depth >= 3:
        _staggered(k)
    elif form == "once" or k.settings.depth < 2:
        _swept(k, "once")
    else:
        _swept(k, form)


def neighbours(k: Kernel, rank: int, radius: int) -> Offsets:
    """A von Neumann (cross), a Moore (box) or an irregular neighbourhood."""
    box = list(product(range(-radius, radius + 1), repeat=rank))
    cross = [o for o in box if sum(map(bool, o)) <= 1]
    shape = k.rng.choice(("cross", "cross", "cross", "box", "some"))
    if shape == "box" and len(box) <= 27:
        return box
    if shape == "some":
        return sorted(k.rng.sample(box, min(len(box), k.rng.randint(2, 6))))
    return cross


def _swept(k: Kernel, form: str) -> None:
    timed = form != "once"
    rank = k.rank(1, 2, 2, 2, 3, inside=timed)
    radius = k.rng.choice((1, 1, 1, 2))
    steps = k.rng.choice((2, 5, 10, 20, 40)) if timed else 1
    offsets = neighbours(k, rank, radius)
    work = max(50.0, k.share / steps / (2 if form in ("two arrays", "copy back") else 1) / (1 + len(offsets) / 8))
    source = k.source(rank, work, 2 * radius + 2, largest=1e20 if is_floating(k.ctype) else 1e6)
    other = source if form == "in place" else k.input(*source.shape)
    weights = k.operand(*source.shape) if k.rng.random() < 0.25 and is_floating(k.ctype) else None
    order = k.order(rank, 0.75)
    time = k.loop(0, k.extent(steps), wish="t") if timed else nullcontext()
    # what the sweeps of a time loop read must not exceed what they are bounded by: values are means of values
    bound = max(source.bound, other.bound, 1.0)
    with time:
        _sweep(k, source, other, offsets, radius, order, weights, bound)
        if form == "two arrays":
            _sweep(k, other, source, offsets, radius, order, weights, bound)
        elif form == "copy back":
            with k.loops(*_interior(source, radius), order=order) as at:
                k.store(k.ref(source, *at), "=", k.ref(other, *at), bound)
        elif form == "wave":
            _damped(k, source, other, radius, order, bound)


def _interior(array: Array, radius: int) -> list[tuple[Affine | int, Affine | int]]:
    return [(radius, extent - radius) for extent in array.shape]


def _at(at: Sequence[Affine], offsets: Sequence[int]) -> list[Affine]:
    return [a + o for a, o in zip(at, offsets, strict=True)]


def _sweep(
    k: Kernel, source: Array, target: Array, offsets: Offsets, radius: int, order: list[int], weights: Array | None,
    bound: float,
) -> None:  # fmt: skip
    with k.loops(*_interior(source, radius), order=order) as at:
        points: list[str] = [k.ref(source, *_at(at, o)) for o in offsets]
        if weights is not None:
            points[0] = f"{k.read(weights, *at, largest=1.0)} * {points[0]}"
        value = mean(k.rng, points, k.ctype)
        if weights is None and k.rng.random() < 0.1 and len(points) < 4:
            value = points[0]
            for point in points[1:]:
                value = maximum(k.rng, value, point, k.ctype) if len(value) < 60 else value
        # in place every value waits for its neighbour's
        k.store(k.ref(target, *at), "=", value, bound, cost=6.0 if source is target else 1.0)


def _damped(k: Kernel, source: Array, other: Array, radius: int, order: list[int], bound: float) -> None:
    """The second half of a leapfrog step."""
    with k.loops(*_interior(source, radius), order=order) as at:
        k.store(k.ref(source, *at), "=", mean(k.rng, [k.ref(source, *at), k.ref(other, *at)], k.ctype), bound)


def _staggered(k: Kernel) -> None:
    """Fields that update each other in turn, as in FDTD: differences along one dimension each."""
    ctype = k.floating
    steps = k.rng.choice((2, 5, 10, 20))
    n, m = k.extents(2, max(50.0, k.share / steps / 3), 4)
    ex, ey, hz = (k.input(n, m, ctype=ctype) for _ in range(3))
    factors = [literal(f, ctype) for f in ("0.25", "0.25", "0.2")]
    with k.loop(0, k.extent(steps), wish="t"):
        with k.loops((1, n), m) as (i, j):
            value = f"{factors[0]} * ({k.ref(hz, i, j)} - {k.ref(hz, i - 1, j)})"
            k.store(k.ref(ey, i, j), "=", f"{literal(0.5, ctype)} * {k.ref(ey, i, j)} - {value}", 2)
        with k.loops(n, (1, m)) as (i, j):
            value = f"{factors[1]} * ({k.ref(hz, i, j)} - {k.ref(hz, i, j - 1)})"
            k.store(k.ref(ex, i, j), "=", f"{literal(0.5, ctype)} * {k.ref(ex, i, j)} - {value}", 2)
        with k.loops(n - 1, m - 1) as (i, j):
            curl = f"{k.ref(ex, i, j + 1)} - {k.ref(ex, i, j)} + {k.ref(ey, i + 1, j)} - {k.ref(ey, i, j)}"
            value = f"{literal(0.2, ctype)} * {k.ref(hz, i, j)} - {factors[2]} * ({curl})"
            k.store(k.ref(hz, i, j), "=", value, 2)
