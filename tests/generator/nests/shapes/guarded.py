"""Conditions: affine guards with disjunctions and divisibility, data-dependent predicates, ifs inside statements."""

from __future__ import annotations

from scheduler.ir.affine import Affine
from scheduler.ir.nest import Access, Action, Constraint, Expr, Guard, If, Node, Predicate, Statement
from tests.generator.nests.builder import Builder
from tests.generator.nests.expressions import access, assign, binary, condition, integer, product


def guarded(builder: Builder) -> tuple[Node, ...]:
    rng = builder.rng
    depth = rng.randint(1, min(3, builder.size.depth))
    names = builder.iterators(depth)
    extents = [builder.parameter() for _ in names]
    target = access(builder.state(depth), *names)

    def simple() -> Statement:
        return builder.statement(_assignment(builder, names, target))

    kind = rng.choice(("guard", "guard", "predicate", "if", "if", "both"))
    if kind == "if":
        nodes: list[Node] = [builder.statement(_branch(builder, names, target))]
    else:
        nodes = [simple() for _ in range(rng.randint(1, 2))]
    if kind in ("predicate", "both"):
        mask = builder.declare(builder.fresh("mask"), 1, rng.choice(("int", "double", "unsigned char")))
        outer = rng.randint(0, depth - 1) if depth > 1 and kind == "predicate" else depth - 1
        test = condition(rng, builder.read(mask, names[outer]))
        if mask_is_unsigned(builder, mask):
            test = binary(">", builder.read(mask, names[outer]), integer(3))
        if kind == "both":
            nodes = [Guard(_dnf(builder, names, extents), tuple(nodes))]
        for level in reversed(range(outer + 1, depth)):
            nodes = [builder.counted(names[level], extents[level], *nodes)]
        nodes = [Predicate(test, tuple(nodes)), *([simple()] if outer == depth - 1 and rng.random() < 0.3 else [])]
        names, extents = names[: outer + 1], extents[: outer + 1]
    elif kind == "guard":
        nodes = [Guard(_dnf(builder, names, extents), tuple(nodes))]
        if rng.random() < 0.5:
            nodes.insert(rng.randint(0, 1), simple())
    return (builder.nested(names, extents, *nodes),)


def mask_is_unsigned(builder: Builder, mask: str) -> bool:
    return builder.arrays[mask].ctype.startswith("unsigned")


def _assignment(builder: Builder, names: list[str], target: Access) -> Action:
    rng = builder.rng
    offsets = [rng.choice((-1, 0, 0, 1)) for _ in names]
    near = access(target.array, *(Affine.of(n) + o for n, o in zip(names, offsets, strict=True)))
    factor = builder.given(*names)
    terms: list[Expr] = [builder.read(near), factor]
    if rng.random() < 0.3:
        terms = [product(rng, factor, builder.read(near))]
    return assign(target, builder.scaled(terms))


def _branch(builder: Builder, names: list[str], target: Access, level: int = 0) -> Action:
    rng = builder.rng
    test = condition(rng, builder.read(builder.input(1), Affine.of(rng.choice(names))))
    then: list[Action] = [_assignment(builder, names, target)]
    if rng.random() < 0.3:
        other = access(builder.state(1), Affine.of(names[-1]))
        then.append(assign(other, builder.scaled([builder.read(other), builder.read(target)])))
    orelse: tuple[Action, ...] = ()
    if rng.random() < 0.5:
        nested = level == 0 and rng.random() < 0.4
        orelse = (_branch(builder, names, target, 1) if nested else _assignment(builder, names, target),)
    return If(test, tuple(then), orelse)


def _dnf(builder: Builder, names: list[str], extents: list[Affine]) -> tuple[tuple[Constraint, ...], ...]:
    rng = builder.rng

    def one() -> Constraint:
        name = Affine.of(rng.choice(names))
        roll = rng.random()
        if roll < 0.2:
            return Constraint(name + rng.randint(0, 1), "mod", rng.choice((2, 3)))
        if roll < 0.35:
            return Constraint(name - rng.choice((Affine(), Affine.constant(1), rng.choice(extents) - 1)), "==")
        if len(names) > 1 and roll < 0.7:
            first, second = rng.sample(names, 2)
            return Constraint(Affine.of(first) - Affine.of(second) + rng.randint(-2, 2))
        return Constraint((name - rng.randint(1, 3)) * rng.choice((1, -1)))

    return tuple(tuple(one() for _ in range(rng.randint(1, 2))) for _ in range(rng.choice((1, 1, 2))))
