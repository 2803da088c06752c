"""Data-dependent bounds and subscripts: CSR and ragged rows, gathers, scatters, histograms, non-affine subscripts."""

from __future__ import annotations

from scheduler.ir.affine import Affine
from scheduler.ir.nest import Expr, Loop, Name, Node
from tests.generator.nests.builder import Builder
from tests.generator.nests.expressions import access, assign, binary, integer, product


def sparse(builder: Builder) -> tuple[Node, ...]:
    form = builder.rng.choice((_rows, _rows, _ragged, _gather, _scatter, _modular))
    return form(builder)


def _rows(builder: Builder) -> tuple[Node, ...]:
    """Compressed sparse rows times a vector or a matrix, or the transposed product."""
    rng = builder.rng
    rows, columns, nonzeros = builder.parameter(), builder.parameter(), builder.parameter()
    i, p = builder.fresh("i"), builder.fresh("p")
    pointer, column = builder.indices("rowptr"), builder.indices("col")
    value = builder.declare(builder.fresh("val"), 1)
    builder.resize(column, 0, nonzeros)
    builder.resize(value, 0, nonzeros)
    low: Expr = builder.read(pointer, i)
    high: Expr = builder.read(pointer, Affine.of(i) + 1)
    before: list[Node] = []
    if rng.random() < 0.25:  # the bounds are kept in scalars
        first, last = (builder.private(0, i, builder.arrays[pointer].ctype) for _ in range(2))
        before = [builder.store(access(first), low), builder.store(access(last), high)]
        low, high = builder.read(first), builder.read(last)
    builder.boxes[p] = Affine(), nonzeros - 1
    dense = builder.fresh("j") if rng.random() < 0.4 else None
    inner = [Affine.of(dense)] if dense else []
    where: Expr = builder.read(column, p)
    if rng.random() < 0.2:
        where = binary("+", where, integer(1))
    entry = builder.read(value, p)
    if rng.random() < 0.3:
        target_name = builder.declare(builder.fresh("y"), 1 + len(inner))
        builder.resize(target_name, 0, columns + 1)
        source = builder.given(i, *inner)
        target = access(target_name, where, *inner)
    else:
        source_name = builder.declare(builder.fresh("x"), 1 + len(inner))
        builder.resize(source_name, 0, columns + 1)
        source = builder.read(source_name, where, *inner)
        target = access(builder.state(1 + len(inner), fresh=True), i, *inner)
        if rng.random() < 0.5 and not dense:
            zero = builder.number("0.0", 0)
            before.append(builder.store(target, zero))
    body: Node = builder.store(target, product(rng, entry, source), "+=")
    width = builder.parameter()
    if dense and rng.random() < 0.6:
        body = builder.loop(dense, 0, width, body)
        dense = None
    middle: Node = Loop(p, builder.loop_type, low, high, 1, (body,))
    if dense:
        middle = builder.loop(dense, 0, width, middle)
    return (builder.loop(i, 0, rows, *before, middle),)


def _ragged(builder: Builder) -> tuple[Node, ...]:
    """Rows with as many elements as an array says."""
    rows, columns = builder.parameter(), builder.parameter()
    i, j = builder.iterators(2)
    lengths = builder.indices("len")
    stop = builder.read(lengths, i)
    builder.boxes[j] = Affine(), columns - 1
    array = builder.declare(builder.fresh("R"), 2)
    builder.resize(array, 1, columns)
    target = access(array, i, j)
    statement = builder.store(target, builder.scaled([builder.read(target), builder.given(i)]))
    return (builder.loop(i, 0, rows, Loop(j, builder.loop_type, (Affine(),), stop, 1, (statement,))),)


def _gather(builder: Builder) -> tuple[Node, ...]:
    i, index = builder.fresh("i"), builder.indices("idx")
    where = builder.read(index, i)
    table = builder.declare(builder.fresh("table"), 1)
    builder.resize(table, 0, builder.parameter())
    target = access(builder.state(1), i)
    statement = builder.store(target, builder.scaled([builder.read(table, where), builder.read(target)]))
    return (builder.counted(i, builder.extent(), statement),)


def _scatter(builder: Builder) -> tuple[Node, ...]:
    """A histogram, a weighted one, or an update in place."""
    rng = builder.rng
    i, key = builder.fresh("i"), builder.indices("key")
    where = builder.read(key, i)
    form = rng.choice(("count", "weight", "update"))
    bins = builder.declare(builder.fresh("bins"), 1, rng.choice(("int", "long")) if form == "count" else None)
    builder.resize(bins, 0, builder.parameter())
    target = access(bins, where)
    if form == "count":
        action = assign(target, integer(1), "+=")
    elif form == "weight":
        action = assign(target, builder.given(i), "+=")
    else:
        action = assign(target, builder.scaled([builder.read(target), builder.given(i)]))
    return (builder.counted(i, builder.extent(), builder.statement(action)),)


def _modular(builder: Builder) -> tuple[Node, ...]:
    """`A[(3 * i) % n]`: not affine, and no data."""
    rng = builder.rng
    names = builder.iterators(rng.randint(1, 2))
    size = builder.parameter()
    array = builder.declare(builder.fresh("ring"), 1)
    builder.resize(array, 0, size)
    (parameter, _), *_ = size.terms
    number = Name(names[0], builder.loop_type)
    factor: Expr = Name(names[1], builder.loop_type) if len(names) > 1 else integer(rng.randint(2, 4))
    divisor = Name(str(parameter), builder.loop_type)
    where = binary("%", binary("*", number, factor), divisor)
    ring, row = access(array, where), access(builder.input(len(names)), *names)
    if rng.random() < 0.5:
        action = assign(ring, builder.scaled([builder.read(ring), builder.read(row)]))
    else:
        target = access(builder.state(len(names)), *names)
        action = assign(target, builder.scaled([builder.read(ring), builder.read(row)]))
    return (builder.nested(names, [builder.parameter() for _ in names], builder.statement(action)),)
