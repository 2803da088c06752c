"""Stencils: von Neumann and Moore neighbourhoods in one to three dimensions, swept once or under a time loop;
grids of different resolution: restriction, prolongation, pyramids, colours, summed areas, wavelets.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from itertools import product

from scheduler.generator.programs.kernel import Kernel
from scheduler.generator.programs.values import Array, literal, maximum, mean
from scheduler.ir.affine import Affine
from scheduler.ir.types import is_floating


def resample(k: Kernel) -> None:
    if k.settings.depth < 2:
        return _pairs(k)
    return k.rng.choice((_restrict, _restrict, _prolong, _prolong, _pairs, _colours, _wavelet, _areas))(k)


def _pairs(k: Kernel) -> None:
    """Means of neighbouring elements."""
    (n,) = k.extents(1)
    fine, coarse = k.input(n * 2), k.input(n)
    with k.loop(0, n) as i:
        k.store(k.ref(coarse, i), "=", mean(k.rng, [k.read(fine, i * 2), k.read(fine, i * 2 + 1)], k.ctype))


def _restrict(k: Kernel) -> None:
    """To every second point, with the weights of the neighbours."""
    n, m = k.extents(2, k.share / 2)
    fine, coarse = k.input(n * 2 + 1, m * 2 + 1), k.input(n, m)
    around = k.rng.choice((((0, 0), (0, 1), (1, 0), (1, 1)), ((0, 1), (1, 0), (1, 1), (1, 2), (2, 1))))
    with k.loops(n, m, order=k.order(2, 0.7)) as (i, j):
        points = [k.read(fine, i * 2 + a, j * 2 + b) for a, b in around]
        k.store(k.ref(coarse, i, j), "=", mean(k.rng, points, k.ctype))


def _prolong(k: Kernel) -> None:
    """Each point becomes four: in one loop, or in one for each of them."""
    rng = k.rng
    n, m = k.extents(2, k.share / 4)
    coarse, fine = k.input(n + 1, m + 1), k.input(n * 2, m * 2)
    together, order = rng.random() < 0.6, k.order(2, 0.7)
    corners = [(a, b) for a in (0, 1) for b in (0, 1)]
    for part in [corners] if together else [[c] for c in corners]:
        with k.loops(n, m, order=order) as (i, j):
            for a, b in part:
                points = [k.read(coarse, i + y, j + x) for y in range(a + 1) for x in range(b + 1)]
                value = mean(rng, points, k.ctype) if len(points) > 1 else points[0]
                k.store(k.ref(fine, i * 2 + a, j * 2 + b), "=", value)


def _colours(k: Kernel) -> None:
    """Three interleaved channels to one or to three others: the innermost extent is small."""
    rng = k.rng
    n, m = k.extents(2, k.share / 2)
    image = k.input(n, m, 3)
    single = rng.random() < 0.5
    looped = rng.random() < 0.4 and not single and k.settings.depth >= 3
    target = k.input(n, m) if single else k.input(n, m, 3)
    weights = k.input(3, 3)
    with k.loops(n, m, order=k.order(2, 0.85)) as (i, j):
        channels = [k.read(image, i, j, c) for c in range(3)]
        if single:
            k.store(k.ref(target, i, j), "=", mean(rng, channels, k.ctype))
        elif looped:
            with k.loop(0, 3) as c:
                value = " + ".join(f"{k.read(weights, c, d)} * {channels[d]}" for d in range(3))
                k.store(k.ref(target, i, j, c), "=", value, 700)
        else:
            for channel in range(3):
                value = " + ".join(f"{k.read(weights, channel, d)} * {channels[d]}" for d in range(3))
                k.store(k.ref(target, i, j, channel), "=", value, 700)


def _wavelet(k: Kernel) -> None:
    """Sums and differences of pairs along the rows or the columns."""
    n, m = k.extents(2, k.share / 2)
    along_rows = k.rng.random() < 0.5
    source = k.input(n, m * 2) if along_rows else k.input(n * 2, m)
    low, high = k.input(n, m), k.input(n, m)
    half = literal(0.5, k.ctype)
    with k.loops(n, m, order=k.order(2, 0.7)) as (i, j):
        first, second = (
            (k.read(source, i, j * 2), k.read(source, i, j * 2 + 1))
            if along_rows
            else (k.read(source, i * 2, j), k.read(source, i * 2 + 1, j))
        )
        for target, sign in ((low, "+"), (high, "-")):
            value = f"{first} {sign} {second}"
            k.store(k.ref(target, i, j), "=", f"{half} * ({value})" if is_floating(k.ctype) else f"({value}) / 2")


def _areas(k: Kernel) -> None:
    """A summed-area table, and means of boxes out of it."""
    n, m = k.extents(2, k.share / 3, least=8)
    image, table = k.operand(n, m), k.input(n + 1, m + 1)
    bound = 16.0 * k.at(n) * k.at(m)
    with k.loops(n, m) as (i, j):
        corner = f"{k.ref(table, i, j + 1)} + {k.ref(table, i + 1, j)} - {k.ref(table, i, j)}"
        k.store(k.ref(table, i + 1, j + 1), "=", f"{k.read(image, i, j)} + {corner}", bound)
    if k.rng.random() < 0.6:
        size = k.rng.choice((2, 3, 5))
        target = k.input(n, m)
        with k.loops(n - size, m - size) as (i, j):
            corners = [(k.ref(table, i + a, j + b)) for a, b in ((size, size), (0, size), (size, 0), (0, 0))]
            value = f"({corners[0]} - {corners[1]} - {corners[2]} + {corners[3]}) / {literal(size * size, k.ctype)}"
            k.store(k.ref(target, i, j), "=", value, 16)


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
