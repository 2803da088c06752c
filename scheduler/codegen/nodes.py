"""The small C AST of generated code, and the integer expressions in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal as OneOf
from typing import Union

from scheduler.ir.affine import Affine, FloorDiv
from scheduler.ir.nest import Access, Expr
from scheduler.ir.tree import PackMark


@dataclass(frozen=True, slots=True)
class IntOp:
    """`op` is min, max, / and % (of a non-negative operand), a comparison, && or ||, +, *, ?: or neg."""

    op: str
    args: tuple[IntExpr, ...]


IntExpr = Union[Affine, IntOp]  # noqa: UP007

Values = tuple[tuple[str, IntExpr], ...]  # iterators of a statement and their values


@dataclass(frozen=True, slots=True)
class For:
    """`for (long var = start; var < stop; var += step)` for the tree loop `loop`."""

    loop: str
    var: str
    start: IntExpr
    stop: IntExpr
    step: int  # negative: `var > stop`
    time: IntExpr  # the value of the tree loop's row
    body: tuple[CNode, ...]
    pragmas: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scope:
    """The only iteration of a tree loop, at the time given if it is known."""

    loop: str
    time: IntExpr | None
    body: tuple[CNode, ...]


@dataclass(frozen=True, slots=True)
class Branch:
    """`if` over integers."""

    condition: IntExpr
    then: tuple[CNode, ...]
    orelse: tuple[CNode, ...] = ()


@dataclass(frozen=True, slots=True)
class When:
    """A data-dependent predicate of the user's around the body, evaluated only if `guards` hold."""

    condition: Expr
    values: Values
    body: tuple[CNode, ...]
    guards: tuple[IntExpr, ...] = ()


@dataclass(frozen=True, slots=True)
class Instance:
    """One statement, its iterators in terms of the loop variables."""

    statement: str
    values: Values


@dataclass(frozen=True, slots=True)
class Let:
    """`const long name = value;`, a data-dependent bound."""

    name: str
    value: Expr
    values: Values


@dataclass(frozen=True, slots=True)
class Bind:
    """`const long name = value;`"""

    name: str
    value: IntExpr


@dataclass(frozen=True, slots=True)
class Private:
    """The declaration of a private array or scalar."""

    array: str


@dataclass(frozen=True, slots=True)
class Packed:
    """The body with an array's block copied to a buffer first.

    `low` and `high` are the first and last element of each of the array's dimensions, `extents` what the
    buffer holds of each (with whole panels); `accesses` read from it. `value` is what is stored of an
    element: the read itself, or an expression of it and of values that do not change in the nest.
    `parallel`: where threads run. `needed`: the condition under which there are elements to copy; None: always.
    `whole`: every panel is full.
    """

    mark: PackMark
    accesses: frozenset[Access]
    low: tuple[IntExpr, ...]
    high: tuple[IntExpr, ...]
    extents: tuple[int, ...]
    value: Expr
    parallel: OneOf["inside", "around", "none"]
    body: tuple[CNode, ...]
    needed: IntExpr | None = None
    whole: bool = False


@dataclass(frozen=True, slots=True)
class BlockPoint:
    """A point loop of a register block: its extent in full blocks, and where the block starts."""

    loop: str
    extent: int
    origin: IntExpr


@dataclass(frozen=True, slots=True)
class Block:
    """The loops in a register block; in a `full` one the point loops have their constant extents.

    `accumulated` are the accesses (by statement) whose elements nothing else in the body touches and which
    stay the same over the loops around the block. `independent`: the points may run in any order. `vector_bytes`:
    of a register, 0 the usual.
    """

    points: tuple[BlockPoint, ...]
    accumulated: tuple[tuple[str, Access], ...]
    full: bool
    independent: bool
    body: tuple[CNode, ...]
    vector_bytes: int


@dataclass(frozen=True, slots=True)
class Micro:
    """One iteration of the loops around a register block, unrolled on vectors.

    `loops` are (variable, first value, extent), the last one vectorized; `held` maps the C text of an
    element kept in a register to (vector variable, lane); `tile` are arrays that live in another place.
    """

    loops: tuple[tuple[str, Affine, int], ...]
    instances: tuple[Instance, ...]
    element: str
    lanes: int
    accumulated: tuple[tuple[str, Access], ...]
    held: tuple[tuple[str, tuple[str, int]], ...] = ()
    tile: tuple[tuple[str, Tile], ...] = ()


@dataclass(frozen=True, slots=True)
class Tile:
    """A small array in place of a block of an array: `dims` are the subscripts it keeps, relative to `origin`."""

    name: str
    ctype: str
    dims: tuple[int, ...]
    origin: tuple[IntExpr, ...]
    accesses: None = None  # all of them

    def index(self, subscripts: tuple[IntExpr, ...]) -> tuple[IntExpr, ...]:
        return tuple(add(subscripts[d], scale(self.origin[d], -1)) for d in self.dims)


@dataclass(frozen=True, slots=True)
class Text:
    """Finished C lines."""

    lines: tuple[str, ...]


CNode = Union[For, Scope, Branch, When, Instance, Let, Bind, Private, Packed, Block, Micro, Text]  # noqa: UP007


def children(node: CNode) -> tuple[CNode, ...]:
    if isinstance(node, Branch):
        return (*node.then, *node.orelse)
    return node.body if isinstance(node, For | Scope | When | Packed | Block) else ()


def walk(nodes: tuple[CNode, ...]) -> Iterator[CNode]:
    """Every node, outer before inner."""
    for node in nodes:
        yield node
        yield from walk(children(node))


def with_bodies(node: CNode, change: Callable[[tuple[CNode, ...]], tuple[CNode, ...]]) -> CNode:
    """The node with each of its bodies changed."""
    if isinstance(node, Branch):
        return replace(node, then=change(node.then), orelse=change(node.orelse))
    if isinstance(node, For | Scope | When | Packed | Block):
        return replace(node, body=change(node.body))
    return node


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
    if isinstance(node, Packed):
        bounds = (*node.low, *node.high, *(() if node.needed is None else (node.needed,)))
        return frozenset(n for bound in bounds for n in names_of(bound))
    if isinstance(node, Instance | When | Let):
        return frozenset(n for _, v in node.values for n in names_of(v))
    return frozenset()


def add(left: IntExpr, right: IntExpr) -> IntExpr:
    """The sum, flat, its affine part last; affine terms move into min and max."""
    if isinstance(left, Affine) and isinstance(right, Affine):
        return left + right
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Affine) and isinstance(other, IntOp) and other.op in ("min", "max"):
            return IntOp(other.op, tuple(add(a, one) for a in other.args))
    affine = Affine()
    parts: list[IntExpr] = []
    for side in (left, right):
        for part in side.args if isinstance(side, IntOp) and side.op == "+" else (side,):
            if isinstance(part, Affine):
                affine += part
            else:
                parts.append(part)
    if affine != Affine():
        parts.append(affine)
    return parts[0] if len(parts) == 1 else IntOp("+", tuple(parts))


def scale(expr: IntExpr, factor: int) -> IntExpr:
    if isinstance(expr, Affine):
        return expr * factor
    if expr.op == "+":
        return IntOp("+", tuple(scale(a, factor) for a in expr.args))
    if expr.op == "*" and isinstance(expr.args[0], Affine):
        return scale(expr.args[1], expr.args[0].const * factor)
    if expr.op in ("min", "max"):
        op = expr.op if factor >= 0 else ("max" if expr.op == "min" else "min")
        return IntOp(op, tuple(scale(a, factor) for a in expr.args))
    if factor == 1:
        return expr
    return IntOp("*", (Affine.constant(factor), expr))


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
