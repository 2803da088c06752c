"""Scalars and small arrays declared inside the nest: temporaries, row buffers, a vector between two nests."""

from __future__ import annotations

from scheduler.ir.affine import Affine
from scheduler.ir.nest import Expr, Node
from tests.generator.nests.builder import Builder
from tests.generator.nests.expressions import access, product


def local_storage(builder: Builder) -> tuple[Node, ...]:
    form = builder.rng.choice((_temporary, _accumulator, _row, _between))
    return form(builder)


def _temporary(builder: Builder) -> tuple[Node, ...]:
    """`t = …` in an outer loop, read in an inner one; or all in the innermost loop."""
    rng = builder.rng
    i, j = builder.iterators(2)
    inner = rng.random() < 0.5
    scalar = builder.private(0, j if inner else i)
    known = (i, j) if inner else (i,)
    value = builder.shaped(builder.scaled([builder.given(*known)]))
    first = builder.store(access(scalar), value)
    target = access(builder.state(2), i, j)
    use = builder.store(target, builder.scaled([builder.read(target), builder.read(scalar)]))
    rows, columns = builder.extent(), builder.parameter()
    if inner:
        return (builder.counted(i, rows, builder.counted(j, columns, first, use)),)
    return (builder.counted(i, rows, first, builder.counted(j, columns, use)),)


def _accumulator(builder: Builder) -> tuple[Node, ...]:
    """`t = 0; for (j…) t += …; A[i] = t`, in one loop or two around it."""
    rng = builder.rng
    around = builder.iterators(rng.randint(1, max(1, min(2, builder.size.depth - 1))))
    k = builder.fresh("k")
    scalar = builder.private(0, around[-1])
    source = product(rng, builder.given(*around, k), builder.given(k))
    update = builder.store(access(scalar), source, "+=")
    target = access(builder.state(len(around), fresh=True), *around)
    store = builder.store(target, builder.read(scalar), rng.choice(("=", "+=")))
    first = builder.store(access(scalar), builder.number("0.0", 0))
    inner = builder.counted(k, builder.parameter(), update)
    return (builder.nested(around, [builder.extent() for _ in around], first, inner, store),)


def _row(builder: Builder) -> tuple[Node, ...]:
    """A buffer of one row, filled and then read with an offset."""
    rng = builder.rng
    i = builder.fresh("i")
    j, again = builder.fresh("j"), builder.fresh("j")
    size, reach = builder.parameter(), rng.randint(0, 2)
    buffer = builder.private(1, i)
    array = builder.state(2)
    source = access(array, i, j)
    fill = builder.store(access(buffer, j), builder.scaled([builder.read(source), builder.given(j)]))
    reads: list[Expr] = [builder.read(buffer, Affine.of(again) + offset) for offset in {0, reach}]
    target = access(array if rng.random() < 0.5 else builder.state(2), i, again)
    use = builder.store(target, builder.scaled(reads))
    nodes = (builder.loop(j, 0, size + reach, fill), builder.loop(again, 0, size, use))
    return (builder.counted(i, builder.extent(), *nodes),)


def _between(builder: Builder) -> tuple[Node, ...]:
    """A vector that only these two adjacent nests use."""
    rng = builder.rng
    i, j, k = builder.fresh("i"), builder.fresh("j"), builder.fresh("i")
    size, inner = builder.parameter(), builder.parameter()
    vector = builder.private(1, None)
    start = builder.store(access(vector, i), builder.number("0.0", 0))
    source = product(rng, builder.given(i, j), builder.given(j))
    update = builder.store(access(vector, i), source, "+=")
    target = access(builder.state(1), k)
    place = Affine.of(k) if rng.random() < 0.5 else size - Affine.of(k) - 1
    use = builder.store(target, builder.scaled([builder.read(vector, place), builder.read(target)]))
    return (builder.loop(i, 0, size, start, builder.counted(j, inner, update)), builder.loop(k, 0, size, use))
