"""Scalars and small arrays declared inside the nest: temporaries, row buffers, a vector between two nests."""

from __future__ import annotations

from scheduler.generator.nests.builder import Builder
from scheduler.generator.nests.expressions import access, assign, integer, literal, product, scaled, shaped
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Access, Expr, Node


def local_storage(builder: Builder) -> tuple[Node, ...]:
    form = builder.rng.choice((_temporary, _accumulator, _row, _between))
    return form(builder)


def _zero(builder: Builder) -> Expr:
    return literal("0.0", builder.ctype) if builder.floating else integer(0)


def _input(builder: Builder, *names: str) -> Access:
    return access(builder.input(len(names)), *map(Affine.of, names))


def _temporary(builder: Builder) -> tuple[Node, ...]:
    """`t = …` in an outer loop, read in an inner one; or all in the innermost loop."""
    rng = builder.rng
    i, j = builder.iterators(2)
    inner = rng.random() < 0.5
    scalar = builder.private(0, j if inner else i)
    known = (i, j) if inner else (i,)
    value = shaped(rng, scaled(rng, [builder.read(_input(builder, *known))], builder.ctype), builder.ctype)
    first = builder.statement(assign(access(scalar), value))
    target = access(builder.state(2), Affine.of(i), Affine.of(j))
    terms: list[Expr] = [builder.read(target), builder.read(scalar)]
    use = builder.statement(assign(target, scaled(rng, terms, builder.ctype)))
    rows, columns = builder.extent(), builder.parameter()
    if inner:
        return (builder.counted(i, rows, builder.counted(j, columns, first, use)),)
    return (builder.counted(i, rows, first, builder.counted(j, columns, use)),)


def _accumulator(builder: Builder) -> tuple[Node, ...]:
    """`t = 0; for (j…) t += …; A[i] = t`, in one loop or two around it."""
    rng = builder.rng
    around = builder.iterators(rng.randint(1, max(1, min(2, builder.size.depth - 1))))
    k = builder.iterator("k")
    scalar = builder.private(0, around[-1])
    source = product(rng, builder.read(_input(builder, *around, k)), builder.read(_input(builder, k)))
    update = builder.statement(assign(access(scalar), source, "+="))
    target = access(builder.state(len(around), fresh=True), *map(Affine.of, around))
    store = builder.statement(assign(target, builder.read(scalar), rng.choice(("=", "+="))))
    first = builder.statement(assign(access(scalar), _zero(builder)))
    inner = builder.counted(k, builder.parameter(), update)
    return (builder.nested(around, [builder.extent() for _ in around], first, inner, store),)


def _row(builder: Builder) -> tuple[Node, ...]:
    """A buffer of one row, filled and then read with an offset."""
    rng = builder.rng
    i = builder.iterator("i")
    j, again = builder.iterator("j"), builder.iterator("j")
    size, reach = builder.parameter(), rng.randint(0, 2)
    buffer = builder.private(1, i)
    array = builder.state(2)
    source = access(array, Affine.of(i), Affine.of(j))
    terms: list[Expr] = [builder.read(source), builder.read(_input(builder, j))]
    fill = builder.statement(assign(access(buffer, Affine.of(j)), scaled(rng, terms, builder.ctype)))
    reads: list[Expr] = [builder.read(access(buffer, Affine.of(again) + offset)) for offset in {0, reach}]
    target = access(array if rng.random() < 0.5 else builder.state(2), Affine.of(i), Affine.of(again))
    use = builder.statement(assign(target, scaled(rng, reads, builder.ctype)))
    nodes = (builder.loop(j, 0, size + reach, fill), builder.loop(again, 0, size, use))
    return (builder.counted(i, builder.extent(), *nodes),)


def _between(builder: Builder) -> tuple[Node, ...]:
    """A vector that only these two adjacent nests use."""
    rng = builder.rng
    i, j, k = builder.iterator("i"), builder.iterator("j"), builder.iterator("i")
    size, inner = builder.parameter(), builder.parameter()
    vector = builder.private(1, None)
    start = builder.statement(assign(access(vector, Affine.of(i)), _zero(builder)))
    source = product(rng, builder.read(_input(builder, i, j)), builder.read(_input(builder, j)))
    update = builder.statement(assign(access(vector, Affine.of(i)), source, "+="))
    target = access(builder.state(1), Affine.of(k))
    place = Affine.of(k) if rng.random() < 0.5 else size - Affine.of(k) - 1
    terms: list[Expr] = [builder.read(access(vector, place)), builder.read(target)]
    use = builder.statement(assign(target, scaled(rng, terms, builder.ctype)))
    return (builder.loop(i, 0, size, start, builder.counted(j, inner, update)), builder.loop(k, 0, size, use))
