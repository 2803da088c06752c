"""Subscripts out of arrays: gathers through tables, histograms, scattered updates, permutations."""

from __future__ import annotations

from scheduler.generator.programs.kernel import Kernel
from scheduler.generator.programs.patterns.expression import value
from scheduler.generator.programs.values import literal


def indirect(k: Kernel) -> None:
    forms = [_gather, _gather, _histogram, _histogram, _scatter] + [_lookup, _mesh] * (k.settings.depth >= 2)
    k.rng.choice(forms)(k)


def _gather(k: Kernel) -> None:
    """target[i] = f(table[index[i]], other[i])."""
    (n,) = k.extents(1, k.share / 3)
    size = k.extents(1, k.rng.choice((64.0, 1e3, 3e4, 1e6)))[0]
    where, table, other, target = k.index("idx", n, size), k.operand(size), k.operand(n), k.input(n)
    with k.loop(0, n) as i:
        terms = [k.read(table, k.entry(where, i)), *([k.read(other, i)] if k.rng.random() < 0.6 else [])]
        k.store(k.ref(target, i), "=", value(k, terms, k.ctype), 600)


def _histogram(k: Kernel) -> None:
    """Counts or weights by bin, of a vector or an image."""
    rng = k.rng
    shape = k.extents(k.rank(1, 1, 2), k.share / 2)
    bins = k.extents(1, rng.choice((8.0, 256.0, 4096.0)))[0]
    size = 256.0
    for extent in shape:
        size *= k.at(extent)
    keys = k.index("key", shape, bins)
    counts = k.input(bins, ctype="int" if rng.random() < 0.6 else None)
    weights = k.operand(*shape) if counts.is_floating else None
    with k.loops(*shape) as at:
        weight = k.read(weights, *at) if weights is not None else "1"
        k.store(k.ref(counts, k.entry(keys, *at)), "+=", weight, size)


def _scatter(k: Kernel) -> None:
    """Elements are moved, or replaced by a mean of old and new."""
    (n,) = k.extents(1, k.share / 3)
    size = k.extents(1, max(8.0, k.share / 6))[0]
    where, source, target = k.index("perm", n, size), k.operand(n), k.input(size)
    with k.loop(0, n) as i:
        place = k.entry(where, i)
        text = k.read(source, i)
        if k.rng.random() < 0.4:
            text = f"({text} + {k.ref(target, place)}) / {literal(2, k.ctype)}"
        k.store(k.ref(target, place), "=", text, 16)


def _lookup(k: Kernel) -> None:
    """Whole rows of a table: embeddings, and their sums."""
    rng = k.rng
    n, width = k.extents(2, k.share, most=1 << 15)
    size = k.extents(1, rng.choice((100.0, 3e3, 3e4)))[0]
    where, table = k.index("idx", n, size), k.operand(size, width)
    summed = rng.random() < 0.4
    target = k.input(width) if summed else k.input(n, width)
    with k.loops(n, width) as (i, j):
        row = k.read(table, k.entry(where, i), j)
        place = k.ref(target, j) if summed else k.ref(target, i, j)
        k.store(place, "+=" if summed else "=", row, 16.0 * k.at(n) if summed else 16)


def _mesh(k: Kernel) -> None:
    """Unstructured grids: every cell takes from its neighbours, or every edge gives to its two ends."""
    cells = k.extents(1, k.share / 12)[0]
    ends, flow, level = k.index("node", (cells, 3), cells), k.operand(cells), k.input(cells)
    if k.rng.random() < 0.6:
        with k.loops(cells, 3) as (c, e):
            k.store(k.ref(level, c), "+=", k.read(flow, k.entry(ends, c, e)), 48)
    else:
        with k.loop(0, cells) as c:
            first, second = k.entry(ends, c, 0), k.entry(ends, c, 1)
            k.store(k.ref(level, first), "+=", k.read(flow, c), 16.0 * k.at(cells))
            k.store(k.ref(level, second), "-=", k.read(flow, c), 16.0 * k.at(cells))
