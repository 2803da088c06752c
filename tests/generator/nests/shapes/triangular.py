"""Loops whose bounds depend on outer loops: symmetric updates, triangular solves, factorizations, bands, wedges."""

from __future__ import annotations

from dataclasses import replace

from scheduler.ir.affine import Affine
from scheduler.ir.nest import Expr, Loop, Node
from tests.generator.nests.builder import Builder
from tests.generator.nests.expressions import access, binary, integer, literal, product


def triangular(builder: Builder) -> tuple[Node, ...]:
    form = builder.rng.choice((_symmetric, _solve, _factorize, _band, _wedge))
    return form(builder)


def _number(builder: Builder, text: str) -> Expr:
    return literal(text, builder.ctype) if builder.floating else integer(builder.rng.choice((2, 3)))


def _symmetric(builder: Builder) -> tuple[Node, ...]:
    i, j, k = builder.iterators(3)
    size, depth = builder.parameter(), builder.parameter()
    target = access(builder.state(2, fresh=True), i, j)
    left = builder.given(i, k)
    right = builder.given(j, k)
    update = builder.store(target, product(builder.rng, left, right), "+=")
    scale = builder.store(target, _number(builder, "0.5"), "*=")
    below = builder.rng.random() < 0.6
    start, stop = (Affine(), Affine.of(i) + 1) if below else (Affine.of(i), size)
    first: Node = builder.loop(j, start, stop, scale, builder.loop(k, 0, depth, update))
    if builder.rng.random() < 0.5:
        again = builder.fresh("j")
        first = builder.loop(j, start, stop, builder.loop(k, 0, depth, update))
        place = access(target.array, i, again)
        early = builder.store(place, _number(builder, "0.5"), "*=")
        return (builder.loop(i, 0, size, builder.loop(again, start, stop, early), first),)
    return (builder.counted(i, size, first),)


def _solve(builder: Builder) -> tuple[Node, ...]:
    rng = builder.rng
    i, j = builder.iterators(2)
    size, x = builder.parameter(), builder.state(1, fresh=True)
    matrix, right = builder.input(2), builder.input(1)
    at = access(x, i)
    start = builder.store(at, builder.read(right, i))
    entry = builder.read(matrix, i, j)
    term = product(rng, entry, builder.read(x, j))
    if builder.floating:
        term = binary("*", literal("0.1", builder.ctype), term)
    update = builder.store(at, term, "-=")
    diagonal = builder.read(matrix, i, i)
    two = builder.number("2.0", 17)
    finish = builder.store(at, binary("/", builder.read(at), binary("+", diagonal, two)))
    if rng.random() < 0.5:
        return (builder.loop(i, 0, size, start, builder.loop(j, 0, Affine.of(i), update), finish),)
    inner = builder.loop(j, Affine.of(i) + 1, size, update)
    return (builder.loop(i, size - 1, -1, start, inner, finish, step=-1),)


def _factorize(builder: Builder) -> tuple[Node, ...]:
    k, i, j = builder.fresh("k"), builder.fresh("i"), builder.fresh("j")
    size, array = builder.parameter(), builder.state(2, fresh=True)

    def at(row: str, column: str) -> Expr:
        return builder.read(array, row, column)

    ratio = binary("*", at(i, k), _number(builder, "0.1"))
    if not builder.floating:
        ratio = binary("%", ratio, integer(5))
    divide = builder.store(access(array, i, k), ratio)
    square = binary("*", at(i, k), at(k, j))
    small = binary("*", literal("0.01", builder.ctype), square) if builder.floating else binary("&", square, integer(3))
    value = binary("-", at(i, j), small) if builder.floating else binary("%", binary("-", at(i, j), small), integer(7))
    update = builder.store(access(array, i, j), value)
    inner = builder.loop(j, Affine.of(k) + 1, size, update)
    return (builder.loop(k, 0, size, builder.loop(i, Affine.of(k) + 1, size, divide, inner)),)


def _band(builder: Builder) -> tuple[Node, ...]:
    """Bounds with a maximum and a minimum, forwards or backwards."""
    rng = builder.rng
    i, j = builder.iterators(2)
    rows, columns, width = builder.parameter(), builder.parameter(), rng.randint(1, 3)
    target = access(builder.state(2), i, j)
    factor = builder.given(j, i)
    value = builder.scaled([factor, builder.read(target)])
    statement = builder.store(target, value)
    low = (Affine(), Affine.of(i) - width)
    high = (columns, Affine.of(i) + width + 1)
    inner = builder.loop(j, 0, columns, statement)
    if rng.random() < 0.3:
        start, stop = tuple(a - 1 for a in high), tuple(a - 1 for a in low)
        inner = replace(inner, start=start, stop=stop, step=-1)
    else:
        inner = replace(inner, start=low, stop=high)
    return (builder.counted(i, rows, inner),)


def _wedge(builder: Builder) -> tuple[Node, ...]:
    """A skewed or coupled domain, perhaps with a third loop inside it."""
    rng = builder.rng
    names = builder.iterators(rng.randint(2, max(2, min(3, builder.size.depth))))
    i, j = names[:2]
    size = builder.parameter()
    place = [Affine.of(n) for n in names]
    place[1] = Affine.of(j) - Affine.of(i)
    target = access(builder.state(len(names)), *place)
    others = [Affine.of(i) - 1, *place[1:]]
    inner: Node = builder.store(target, builder.scaled([builder.read(target.array, *others), builder.given(j)]))
    if len(names) == 3:
        last = rng.choice((builder.parameter(), Affine.of(j) - Affine.of(i) + 1, Affine.of(j).floordiv(2) + 1))
        inner = builder.loop(names[2], 0, last, inner)
    if rng.random() < 0.5:
        middle: Loop = builder.loop(j, Affine.of(i), Affine.of(i) + builder.parameter(), inner)
    else:
        middle = builder.loop(j, Affine.of(i), Affine.of(i) * 2 + 1, inner)
    return (builder.loop(i, 0, size, middle),)
