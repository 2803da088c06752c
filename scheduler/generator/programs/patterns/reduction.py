"""Reductions: of everything or along one axis; sums, norms, extremes, dot products, counts, means and variances;
several passes over the same rows: softmax, standardization, norms, centring of columns.
"""

from __future__ import annotations

from scheduler.generator.programs.kernel import Kernel
from scheduler.generator.programs.patterns.expression import value
from scheduler.generator.programs.values import Array, call, literal, maximum
from scheduler.ir.affine import Affine
from scheduler.ir.types import is_floating


def normalization(k: Kernel) -> None:
    """Rows (now and then columns) of a matrix, or channels of an image."""
    ctype = k.floating
    rank = k.rank(2, 2, 2, 3)
    if rank < 2:
        return _vector(k)
    shape = k.extents(rank, k.share / 6)
    data = k.operand(*shape) if ctype == k.ctype else k.input(*shape, ctype=ctype)
    columns = k.rng.random() < 0.25
    rows, lengths = (shape[-1:], shape[:-1]) if columns else (shape[:1], shape[1:])
    form = k.rng.choice((_softmax, _standardize, _unit))
    target = data if k.rng.random() < 0.5 else k.input(*shape, ctype=ctype)
    with k.loops(*rows) as row:
        form(k, data, target, row, lengths, columns)
    return None


def _vector(k: Kernel) -> None:
    ctype = k.floating
    (n,) = k.extents(1, k.share / 2)
    data, total = k.input(n, ctype=ctype), k.local("total", literal(1, ctype), ctype)
    with k.loop(0, n) as i:
        k.line(f"{total} += {k.ref(data, i)} * {k.ref(data, i)};")
    with k.loop(0, n) as i:
        k.store(k.ref(data, i), "/=", total, 1)


def _place(row: tuple[Affine, ...], at: tuple[Affine, ...], columns: bool) -> tuple[Affine, ...]:
    return (*at, *row) if columns else (*row, *at)


def _softmax(
    k: Kernel, data: Array, target: Array, row: tuple[Affine, ...], lengths: tuple[Affine, ...], columns: bool
) -> None:  # fmt: skip
    ctype = data.ctype
    zeros = tuple(Affine() for _ in lengths)
    top = k.local("top", k.ref(data, *_place(row, zeros, columns)), ctype)
    with k.loops(*lengths) as at:
        element = k.ref(data, *_place(row, at, columns))
        if k.rng.random() < 0.5:
            k.line(f"{top} = {call('fmax', ctype, top, element)};")
        else:
            k.line(f"{top} = {element} > {top} ? {element} : {top};")
    total = k.local("total", literal(0, ctype), ctype)
    with k.loops(*lengths) as at:
        element, result = (k.ref(a, *_place(row, at, columns)) for a in (data, target))
        k.store(result, "=", call("exp", ctype, f"{element} - {top}"), 1)
        k.line(f"{total} += {result};")
    with k.loops(*lengths) as at:
        k.store(k.ref(target, *_place(row, at, columns)), "/=", total, 1)


def _standardize(
    k: Kernel, data: Array, target: Array, row: tuple[Affine, ...], lengths: tuple[Affine, ...], columns: bool
) -> None:  # fmt: skip
    ctype = data.ctype
    count = f"({ctype})({' * '.join(_factor(k, e) for e in lengths)})"
    mean = k.local("mean", literal(0, ctype), ctype)
    with k.loops(*lengths) as at:
        k.line(f"{mean} += {k.ref(data, *_place(row, at, columns))};")
    k.line(f"{mean} /= {count};")
    spread = k.local("spread", literal(0, ctype), ctype)
    with k.loops(*lengths) as at:
        difference = f"({k.ref(data, *_place(row, at, columns))} - {mean})"
        k.line(f"{spread} += {difference} * {difference};")
    deviation = k.local("scale", call("sqrt", ctype, f"{spread} / {count} + {literal(0.01, ctype)}"), ctype)
    with k.loops(*lengths) as at:
        value = f"({k.ref(data, *_place(row, at, columns))} - {mean}) / {deviation}"
        k.store(k.ref(target, *_place(row, at, columns)), "=", value, 1e4)


def _factor(k: Kernel, extent: Affine) -> str:
    text = k.text(extent)
    return text if text.isidentifier() else f"({text})"


def _unit(
    k: Kernel, data: Array, target: Array, row: tuple[Affine, ...], lengths: tuple[Affine, ...], columns: bool
) -> None:  # fmt: skip
    ctype = data.ctype
    total = k.local("norm", literal(0.001, ctype), ctype)
    with k.loops(*lengths) as at:
        element = k.ref(data, *_place(row, at, columns))
        k.line(f"{total} += {element} * {element};")
    factor = k.local("factor", f"{literal(1, ctype)} / {call('sqrt', ctype, total)}", ctype)
    with k.loops(*lengths) as at:
        value = f"{k.ref(data, *_place(row, at, columns))} * {factor}"
        k.store(k.ref(target, *_place(row, at, columns)), "=", value, 64)


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
