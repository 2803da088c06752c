"""Expansion of private scalars and arrays: one element for every iteration, so that no order is imposed by re-use.

`for i { t = f(i); B[i] = t; }` becomes `for i { t[i] = f(i); B[i] = t[i]; }`. Code generation contracts
the added dimensions again wherever the final schedule allows (`polyhedral.contraction`).
"""

from __future__ import annotations

from dataclasses import replace

from scheduler.ir.affine import Affine
from scheduler.ir.nest import (
    Access,
    Action,
    Array,
    Assign,
    Binary,
    Bound,
    Call,
    Cast,
    Conditional,
    Expr,
    Loop,
    LoopNest,
    Node,
    Predicate,
    Read,
    Statement,
    Storage,
    Subscript,
    Unary,
)


def expand_privates(nest: LoopNest) -> LoopNest:
    """The same nest with a leading dimension added to every PRIVATE array for each loop around its scope."""
    chains = _loop_chains(nest.body)
    leading: dict[str, tuple[Affine, ...]] = {}
    arrays: list[Array] = []
    parameters = frozenset(p.name for p in nest.parameters)
    for array in nest.arrays:
        if array.storage is Storage.PRIVATE and array.scope is not None and not array.expanded:
            chain = chains[array.scope]
            extents: list[Affine | None] = []
            subscripts: list[Affine] = []
            for depth, loop in enumerate(chain):
                low, high = _range(loop, chain[:depth], parameters)
                known = low is not None and high is not None
                extents.append(high - low if known and low is not None and high is not None else None)
                subscripts.append(Affine.of(loop.name) - (low if known and low is not None else Affine()))
            leading[array.name] = tuple(subscripts)
            array = replace(array, shape=(*extents, *array.shape), expanded=len(chain))
        arrays.append(array)
    if not leading:
        return nest
    return replace(nest, arrays=tuple(arrays), body=_nodes(nest.body, leading))


def _loop_chains(nodes: tuple[Node, ...], around: tuple[Loop, ...] = ()) -> dict[str, tuple[Loop, ...]]:
    found: dict[str, tuple[Loop, ...]] = {}
    for node in nodes:
        if isinstance(node, Statement):
            continue
        inside = (*around, node) if isinstance(node, Loop) else around
        if isinstance(node, Loop):
            found[node.name] = inside
        found.update(_loop_chains(node.body, inside))
    return found


def _range(loop: Loop, outer: tuple[Loop, ...], parameters: frozenset[str]) -> tuple[Affine | None, Affine | None]:
    """Affine bounds in parameters alone of the loop's values: low <= value < high; None when not found."""
    if not (isinstance(loop.start, tuple) and isinstance(loop.stop, tuple)):
        return None, None
    first, last = (loop.start, loop.stop) if loop.step > 0 else (loop.stop, loop.start)
    low = _extreme(first[0], outer, parameters, lowest=True)
    high = _extreme(last[0], outer, parameters, lowest=False)
    if loop.step < 0:  # stop < value <= start
        low = low + 1 if low is not None else None
        high = high + 1 if high is not None else None
    return low, high


def _extreme(expr: Affine, outer: tuple[Loop, ...], parameters: frozenset[str], lowest: bool) -> Affine | None:
    """The least or greatest value of an expression over the outer loops, as an affine bound in parameters."""
    result = expr
    for depth in range(len(outer) - 1, -1, -1):
        loop = outer[depth]
        coefficient = result.coefficient(loop.name)
        if coefficient:
            low, high = _range(loop, outer[:depth], parameters)
            if low is None or high is None:
                return None
            bound = low if (coefficient > 0) == lowest else high - 1
            result = result.substitute({loop.name: bound})
    return result if result.names() <= parameters else None


# ------------------------------------------------------------------------ rewriting of accesses


def _access(access: Access, leading: dict[str, tuple[Affine, ...]]) -> Access:
    inner: tuple[Subscript, ...] = tuple(s if isinstance(s, Affine) else _expr(s, leading) for s in access.subscripts)
    return Access(access.array, (*leading.get(access.array, ()), *inner))


def _expr(expr: Expr, leading: dict[str, tuple[Affine, ...]]) -> Expr:
    if isinstance(expr, Read):
        return Read(_access(expr.access, leading), expr.ctype)
    if isinstance(expr, Unary | Cast):
        return replace(expr, operand=_expr(expr.operand, leading))
    if isinstance(expr, Binary):
        return replace(expr, left=_expr(expr.left, leading), right=_expr(expr.right, leading))
    if isinstance(expr, Call):
        return replace(expr, arguments=tuple(_expr(a, leading) for a in expr.arguments))
    if isinstance(expr, Conditional):
        return replace(
            expr,
            condition=_expr(expr.condition, leading),
            then=_expr(expr.then, leading),
            orelse=_expr(expr.orelse, leading),
        )
    return expr


def _actions(actions: tuple[Action, ...], leading: dict[str, tuple[Affine, ...]]) -> tuple[Action, ...]:
    result: list[Action] = []
    for action in actions:
        if isinstance(action, Assign):
            result.append(Assign(_access(action.target, leading), action.op, _expr(action.value, leading)))
        else:
            condition = _expr(action.condition, leading)
            then, orelse = _actions(action.then, leading), _actions(action.orelse, leading)
            result.append(replace(action, condition=condition, then=then, orelse=orelse))
    return tuple(result)


def _bound(bound: Bound, leading: dict[str, tuple[Affine, ...]]) -> Bound:
    return bound if isinstance(bound, tuple) else _expr(bound, leading)


def _nodes(nodes: tuple[Node, ...], leading: dict[str, tuple[Affine, ...]]) -> tuple[Node, ...]:
    result: list[Node] = []
    for node in nodes:
        if isinstance(node, Statement):
            result.append(replace(node, body=_actions(node.body, leading)))
        elif isinstance(node, Loop):
            result.append(
                replace(
                    node,
                    start=_bound(node.start, leading),
                    stop=_bound(node.stop, leading),
                    body=_nodes(node.body, leading),
                )
            )
        elif isinstance(node, Predicate):
            result.append(replace(node, condition=_expr(node.condition, leading), body=_nodes(node.body, leading)))
        else:
            result.append(replace(node, body=_nodes(node.body, leading)))
    return tuple(result)
