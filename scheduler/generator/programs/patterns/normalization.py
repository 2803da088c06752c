"""Several passes over the same rows: softmax, standardization, norms, centring of columns."""

from __future__ import annotations

from scheduler.generator.programs.arrays import Array
from scheduler.generator.programs.kernel import Kernel
from scheduler.generator.programs.values import call, literal
from scheduler.ir.affine import Affine


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
