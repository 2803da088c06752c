"""Data-dependent conditions: masks, thresholds, clipping, branches with an else, updates of what fulfils a test."""

from __future__ import annotations

from scheduler.generator.programs.kernel import Kernel
from scheduler.generator.programs.patterns.expression import value
from scheduler.generator.programs.values import Array, constant, literal, mean
from scheduler.ir.affine import Affine
from scheduler.ir.types import is_floating


def masked(k: Kernel) -> None:
    k.rng.choice((_mask, _mask, _threshold, _branches, _branches, _counted, _conditional, _border))(k)


def _rank(k: Kernel) -> int:
    return k.rank(1, 2, 2, 3)


def _cut(k: Kernel) -> str:
    """A number that some values exceed and others do not."""
    return (
        literal(k.rng.choice(("0.0", "0.1", "0.25", "-0.2")), k.ctype)
        if is_floating(k.ctype)
        else str(k.rng.randint(2, 12))
    )


def _mask(k: Kernel) -> None:
    """An array of flags decides, perhaps for a whole row."""
    rng = k.rng
    source = k.source(_rank(k))
    rank = len(source.shape)
    kept = 1 if rank > 1 and rng.random() < 0.35 else rank
    mask = k.input(*source.shape[:kept], ctype=rng.choice(("int", "unsigned char")))
    target = k.input(*source.shape)
    condition = rng.choice(("{} > 7", "{} & 1", "{} != 0", "{} % 3 == 0"))
    with (
        k.loops(*source.shape[:kept]) as outer,
        k.when(condition.format(k.ref(mask, *outer))),
        k.loops(*source.shape[kept:]) as inner,
    ):
        k.store(
            k.ref(target, *outer, *inner),
            rng.choice(("=", "+=")),
            value(k, [k.read(source, *outer, *inner)], k.ctype),
            600,
        )


def _threshold(k: Kernel) -> None:
    """What exceeds a limit is cut off, in place or into another array."""
    source = k.source(_rank(k))
    target = source if k.rng.random() < 0.5 else k.input(*source.shape)
    cut = _cut(k)
    with k.loops(*source.shape, order=k.order(len(source.shape), 0.8)) as at, k.when(f"{k.ref(source, *at)} > {cut}"):
        k.store(k.ref(target, *at), "=", cut if k.rng.random() < 0.5 else f"{cut} + {constant(k.rng, k.ctype)}", 16)


def _branches(k: Kernel) -> None:
    """if and else, each with its own expression."""
    source = k.source(_rank(k))
    other, target = k.operand(*source.shape, besides=source), k.input(*source.shape)
    with k.loops(*source.shape, order=k.order(len(source.shape), 0.8)) as at:
        _chosen(k, k.read(source, *at), k.read(other, *at), target, at)


def _chosen(k: Kernel, first: str, second: str, target: Array, at: tuple[Affine, ...]) -> None:
    with k.when(f"{first} > {second}"):
        k.store(k.ref(target, *at), "=", value(k, [first], k.ctype), 600)
    with k.block("else"):
        k.store(k.ref(target, *at), "=", value(k, [second, first], k.ctype), 600)


def _counted(k: Kernel) -> None:
    """A sum or a count of the elements that pass a test, in all or by row."""
    rng = k.rng
    source = k.source(k.rank(1, 2))
    size = 256.0 * k.elements(source)
    count = rng.random() < 0.4
    result = k.scalar("int" if count else None, "count" if count else "total")
    with k.loops(*source.shape) as at:
        element = k.read(source, *at)
        with k.when(f"{element} > {_cut(k)}"):
            k.store(result, "+=", "1" if count else element, size)


def _conditional(k: Kernel) -> None:
    """Conditional expressions: limits on both sides, signs, absolute differences."""
    rng = k.rng
    source = k.source(_rank(k))
    other, target = k.operand(*source.shape, besides=source), k.input(*source.shape)
    low, high = (literal(-0.2, k.ctype), literal(0.3, k.ctype)) if is_floating(k.ctype) else ("2", "11")
    with k.loops(*source.shape, order=k.order(len(source.shape), 0.8)) as at:
        x, y = k.read(source, *at), k.read(other, *at)
        text = rng.choice(
            (
                f"{x} < {low} ? {low} : {x} > {high} ? {high} : {x}",
                f"{x} > {y} ? {x} - {y} : {y} - {x}",
                f"{x} > {low} ? {mean(rng, [x, y], k.ctype)} : {y}",
            )
        )
        k.store(k.ref(target, *at), "=", text, 64)


def _border(k: Kernel) -> None:
    """Conditions on the indices: the border of a grid, a triangle, all but a corner."""
    rng = k.rng
    rank = min(k.settings.depth, 2)
    source = k.source(rank, least=4)
    target = k.input(*source.shape)
    condition = rng.choice(("inside", "diagonal", "corner")) if rank == 2 else "corner"
    with k.loops(*source.shape) as at:
        i, *rest = (str(a) for a in at)
        n, *more = (k.text(e - 1) for e in source.shape)
        if condition == "inside":
            test = f"{i} > 0 && {i} < {n} && {rest[0]} > 0 && {rest[0]} < {more[0]}"
        else:
            test = f"{i} <= {rest[0]}" if condition == "diagonal" else f"{' + '.join((i, *rest))} > 5"
        with k.when(test):
            k.store(k.ref(target, *at), "=", k.read(source, *at), 16)
        if rng.random() < 0.5:
            with k.block("else"):
                k.store(k.ref(target, *at), "=", literal(0, k.ctype), 0)
