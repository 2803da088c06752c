"""Sums, bounds and names of the C AST: terms added and scaled, names collected, replaced and renamed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from scheduler.codegen.tree.nodes import (
    Bind,
    Block,
    Branch,
    CNode,
    For,
    Instance,
    IntExpr,
    IntOp,
    Let,
    Micro,
    Packed,
    Scope,
    Values,
    When,
    Windowed,
    add,
    scale,
    with_bodies,
)
from scheduler.ir.affine import Affine, FloorDiv


def names_of(expr: IntExpr) -> frozenset[str]:
    if isinstance(expr, Affine):
        return expr.names()
    return frozenset(n for a in expr.args for n in names_of(a))


def names_in(node: CNode) -> frozenset[str]:
    """Variables that integer expressions of the node itself (not its children) mention."""
    if isinstance(node, For):
        return names_of(node.start) | names_of(node.stop)
    if isinstance(node, Branch):
        return names_of(node.condition)
    if isinstance(node, Bind):
        return names_of(node.value)
    if isinstance(node, Block):
        return frozenset(n for p in node.points for n in names_of(p.origin))
    if isinstance(node, Windowed):
        return names_of(node.start)
    if isinstance(node, Packed):
        bounds = (*node.low, *node.high, *(() if node.needed is None else (node.needed,)))
        return frozenset(n for bound in bounds for n in names_of(bound))
    if isinstance(node, Instance | When | Let):
        return frozenset(n for _, v in node.values for n in names_of(v))
    return frozenset()


def extreme(op: str, args: tuple[IntExpr, ...]) -> IntExpr:
    """min or max of several expressions; the same expression once, nested ones flattened."""
    flat: list[IntExpr] = []
    for arg in args:
        for part in arg.args if isinstance(arg, IntOp) and arg.op == op else (arg,):
            if part not in flat:
                flat.append(part)
    numbers = [a.const for a in flat if isinstance(a, Affine) and a.is_constant]
    if len(numbers) > 1:
        best = Affine.constant(min(numbers) if op == "min" else max(numbers))
        flat = [a for a in flat if not (isinstance(a, Affine) and a.is_constant)] + [best]
    return flat[0] if len(flat) == 1 else IntOp(op, tuple(flat))


def substitute(expr: IntExpr, values: Mapping[str, IntExpr]) -> IntExpr:
    """The expression with names replaced."""
    if isinstance(expr, IntOp):
        return IntOp(expr.op, tuple(substitute(a, values) for a in expr.args))
    used = {n: values[n] for n in expr.names() if n in values}
    if not used:
        return expr
    plain = {n: v for n, v in used.items() if isinstance(v, Affine)}
    if len(plain) == len(used):
        return expr.substitute(plain)
    total: IntExpr = Affine.constant(expr.const)
    for atom, coefficient in expr.terms:
        part: IntExpr
        if isinstance(atom, FloorDiv):
            numerator = substitute(atom.numerator, values)
            if isinstance(numerator, Affine):
                part = numerator.floordiv(atom.denominator)
            else:
                part = IntOp("floord", (numerator, Affine.constant(atom.denominator)))
        else:
            part = values.get(atom, Affine.of(atom))
        total = add(total, scale(part, coefficient))
    return total


def rename(node: CNode, values: Mapping[str, IntExpr]) -> CNode:
    """The node and everything in it with names of integer expressions replaced."""
    if not values:
        return node

    def pairs(old: Values) -> Values:
        return tuple((name, substitute(value, values)) for name, value in old)

    node = with_bodies(node, lambda body: tuple(rename(child, values) for child in body))
    if isinstance(node, For):
        return replace(
            node,
            start=substitute(node.start, values),
            stop=substitute(node.stop, values),
            time=substitute(node.time, values),
        )
    if isinstance(node, Scope):
        return replace(node, time=substitute(node.time, values) if node.time is not None else None)
    if isinstance(node, Branch):
        return replace(node, condition=substitute(node.condition, values))
    if isinstance(node, Windowed):
        return replace(node, start=substitute(node.start, values))
    if isinstance(node, Packed):
        return replace(
            node,
            low=tuple(substitute(b, values) for b in node.low),
            high=tuple(substitute(b, values) for b in node.high),
            needed=None if node.needed is None else substitute(node.needed, values),
        )
    if isinstance(node, Bind):
        return replace(node, value=substitute(node.value, values))
    if isinstance(node, When):
        return replace(node, values=pairs(node.values), guards=tuple(substitute(g, values) for g in node.guards))
    if isinstance(node, Instance | Let):
        return replace(node, values=pairs(node.values))
    if isinstance(node, Block):
        points = tuple(replace(p, origin=substitute(p.origin, values)) for p in node.points)
        return replace(node, points=points)
    if isinstance(node, Micro):
        firsts = [substitute(first, values) for _, first, _ in node.loops]
        loops = tuple(
            (name, first, extent)
            for (name, _, extent), first in zip(node.loops, firsts, strict=True)
            if isinstance(first, Affine)
        )
        instances = tuple(replace(i, values=pairs(i.values)) for i in node.instances)
        assert len(loops) == len(node.loops)
        return replace(node, loops=loops, instances=instances)
    return node
