"""The small C AST of generated code, and the integer expressions in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal as OneOf
from typing import Union

from scheduler.ir.affine import Affine
from scheduler.ir.nest import Access, Expr
from scheduler.ir.tree import PackMark
from scheduler.polyhedral.contraction import Window


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
    """`const long name = value;`, a data-dependent bound; where the `condition` does not hold it is `otherwise`."""

    name: str
    value: Expr
    values: Values
    condition: Expr | None = None
    otherwise: int = 0


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
class Windowed:
    """The body with a private array that has a block of its elements only, from `start` of the tile loop on."""

    window: Window
    start: IntExpr
    body: tuple[CNode, ...]


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


CNode = Union[  # noqa: UP007
    For, Scope, Branch, When, Instance, Let, Bind, Private, Windowed, Packed, Block, Micro, Text
]


def children(node: CNode) -> tuple[CNode, ...]:
    if isinstance(node, Branch):
        return (*node.then, *node.orelse)
    return node.body if isinstance(node, For | Scope | When | Windowed | Packed | Block) else ()


def walk(nodes: tuple[CNode, ...]) -> Iterator[CNode]:
    """Every node, outer before inner."""
    for node in nodes:
        yield node
        yield from walk(children(node))


def with_bodies(node: CNode, change: Callable[[tuple[CNode, ...]], tuple[CNode, ...]]) -> CNode:
    """The node with each of its bodies changed."""
    if isinstance(node, Branch):
        return replace(node, then=change(node.then), orelse=change(node.orelse))
    if isinstance(node, For | Scope | When | Windowed | Packed | Block):
        return replace(node, body=change(node.body))
    return node


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
