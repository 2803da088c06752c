"""Reductions: of everything or along one axis; sums, norms, extremes, dot products, counts, means and variances."""

from __future__ import annotations

from scheduler.generator.programs.kernel import Kernel
from scheduler.generator.programs.patterns.expression import value
from scheduler.generator.programs.values import call, literal, maximum
from scheduler.ir.types import is_floating


def reduction(k: Kernel) -> None:
    k.rng.choice((_total, _total, _axis, _axis, _axis, _dot, _variance, _extremes))(k)


def _total(k: Kernel) -> None:
    """Everything into one scalar, or into a local that is stored at the end."""
    source = k.source(k.rank(1, 1, 2, 3))
    size = float(k.elements(source))
    result = k.scalar()
    k.store(result, "=", literal(0, k.ctype))
    with k.loops(*source.shape, order=k.order(len(source.shape), 0.8)) as at:
        term = k.read(source, *at)
        term = k.rng.choice((term, f"{term} * {term}", value(k, [term], k.ctype)))
        k.store(result, "+=", term, 256 * size)


def _axis(k: Kernel) -> None:
    """Along one dimension of two or three, accumulated in memory or in a local."""
    rank = k.rank(2, 2, 3)
    source = k.source(rank)
    axis = k.rng.randrange(rank)
    kept = [p for p in range(rank) if p != axis]
    shape = [source.shape[p] for p in kept]
    if not shape:
        return _dot(k)
    target, length = k.input(*shape), float(k.at(source.shape[axis]))
    if k.rng.random() < 0.4:
        with k.loops(*shape) as outer:
            total = k.local("acc", literal(0, k.ctype))
            with k.loop(0, source.shape[axis]) as r:
                at = list(outer)
                at.insert(axis, r)
                k.line(f"{total} += {_term(k, k.read(source, *at))};")
            k.store(k.ref(target, *outer), "=", total, 256 * length)
        return None
    if k.rng.random() < 0.7:
        with k.loops(*shape) as outer:
            k.store(k.ref(target, *outer), "=", literal(0, k.ctype), 0)
    with k.loops(*source.shape, order=k.order(rank, 0.5)) as place:
        k.store(k.ref(target, *(place[p] for p in kept)), "+=", _term(k, k.read(source, *place)), 256 * length)
    return None


def _term(k: Kernel, text: str) -> str:
    return k.rng.choice((text, text, f"{text} * {text}"))


def _dot(k: Kernel) -> None:
    """Two vectors, or the rows of two matrices."""
    a = k.source(1)
    b = k.operand(*a.shape)
    result = k.scalar(wish="dot")
    with k.loops(*a.shape) as (i,):
        k.store(result, "+=", f"{k.read(a, i)} * {k.read(b, i)}", 256.0 * k.at(a.shape[0]))


def _variance(k: Kernel) -> None:
    """Means and variances of the columns or of the rows of a matrix, in two passes."""
    ctype = k.floating
    n, m = k.extents(2, k.share / 2)
    data, means, deviations = k.input(n, m, ctype=ctype), k.input(m, ctype=ctype), k.input(m, ctype=ctype)
    zero, count = literal(0, ctype), f"({ctype})({k.text(n)})"
    with k.loop(0, m) as j:
        k.store(k.ref(means, j), "=", zero, 0)
        with k.loop(0, n) as i:
            k.store(k.ref(means, j), "+=", k.ref(data, i, j), 1.0 * k.at(n))
        k.line(f"{k.ref(means, j)} /= {count};")
        if k.rng.random() < 0.5:
            k.store(k.ref(deviations, j), "=", zero, 0)
            with k.loop(0, n) as i:
                difference = f"({k.ref(data, i, j)} - {k.ref(means, j)})"
                k.store(k.ref(deviations, j), "+=", f"{difference} * {difference}", 4.0 * k.at(n))
            k.line(f"{k.ref(deviations, j)} = {call('sqrt', ctype, f'{k.ref(deviations, j)} / {count}')};")
    if not deviations.written:
        with k.loops(n, m) as (i, j):
            k.store(k.ref(deviations, j), "+=", call("fabs", ctype, f"{k.ref(data, i, j)} - {k.ref(means, j)}"),
                    2.0 * k.at(n))  # fmt: skip


def _extremes(k: Kernel) -> None:
    """The greatest or least element of every row, by a test, a conditional or a function."""
    n, m = k.extents(2)
    source, target = k.operand(n, m), k.input(n)
    form = k.rng.choice(("test", "conditional"))
    smaller = k.rng.random() < 0.4
    with k.loop(0, n) as i:
        best = k.local("best", k.ref(source, i, 0))
        with k.loop(1, m) as j:
            element = k.ref(source, i, j)
            if form == "test":
                with k.when(f"{element} {'<' if smaller else '>'} {best}"):
                    k.line(f"{best} = {element};")
            else:
                k.line(f"{best} = {maximum(k.rng, best, element, k.ctype, smaller)};")
        k.store(k.ref(target, i), "=", best if is_floating(k.ctype) else f"{best} + 1", source.bound + 1)
