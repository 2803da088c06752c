"""Sums, products, extremes and counts, into scalars and rows, with what is done to the result."""

from __future__ import annotations

from scheduler.ir.affine import Affine
from scheduler.ir.nest import Access, Assign, Call, Expr, If, Node, Statement
from tests.generator.nests.builder import Builder
from tests.generator.nests.expressions import (
    access,
    assign,
    binary,
    call,
    condition,
    conditional,
    integer,
    literal,
    product,
)


def reduction(builder: Builder) -> tuple[Node, ...]:
    rng = builder.rng
    kept = rng.randint(0, min(2, builder.size.depth - 1))
    summed = rng.randint(1, max(1, min(2, builder.size.depth - kept)))
    names = builder.iterators(kept + summed)
    target = access(builder.state(kept, fresh=True) if kept else builder.scalar(), *names[:kept])
    used = [Affine.of(name) for name in names]
    rng.shuffle(used)
    source: Expr = builder.given(*used)
    if rng.random() < 0.5:
        source = product(rng, builder.given(*used), source)
    inner: Node = builder.statement(_update(builder, target, source))
    for name in reversed(names[kept:]):
        inner = builder.counted(name, builder.extent(), inner)
    body: list[Node] = [inner]
    if kept and rng.random() < 0.7:
        zero = builder.number("0.0", 0)
        body.insert(0, builder.store(target, zero))
    if kept and rng.random() < 0.4:
        body.append(_finish(builder, target))
    for name in reversed(names[:kept]):
        body = [builder.counted(name, builder.extent(), *body)]
    return tuple(body)


def _update(builder: Builder, target: Access, source: Expr) -> Assign | If:
    rng, old = builder.rng, builder.read(target)
    form = rng.choice(("sum", "sum", "difference", "product", "maximum", "minimum", "count", "select"))
    if form == "sum":
        return assign(target, source, "+=") if rng.random() < 0.7 else assign(target, binary("+", old, source))
    if form == "difference":
        return assign(target, source, "-=")
    if form == "product" and builder.floating:
        return assign(target, call("fabs", source), "*=")
    if form == "maximum" and builder.floating:
        return assign(target, call("fmax", old, source))
    if form == "count":
        return If(condition(rng, source), (assign(target, integer(1), "+="),))
    if form == "select":
        return If(condition(rng, source), (assign(target, source, "+="),), (assign(target, source, "-="),))
    return assign(target, conditional(binary("<", source, old), source, old))


def _finish(builder: Builder, target: Access) -> Statement:
    if not builder.floating:
        return builder.store(target, integer(3), builder.rng.choice(("/=", "%=", "&=")))
    value: Expr = binary("*", builder.read(target), literal("0.1", builder.ctype))
    root: Call = call("sqrt", call("fabs", value))
    return builder.store(target, builder.rng.choice((value, root)))
