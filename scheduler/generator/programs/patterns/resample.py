"""Grids of different resolution: restriction, prolongation, pyramids, colours, summed areas, wavelets."""

from __future__ import annotations

from scheduler.generator.programs.kernel import Kernel
from scheduler.generator.programs.values import literal, mean
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
