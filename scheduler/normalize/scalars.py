"""Expansion of private scalars and arrays: one element for every iteration, so that no order is imposed by re-use.

`for i { t = f(i); B[i] = t; }` becomes `for i { t[i] = f(i); B[i] = t[i]; }`. Code generation contracts
the added dimensions again wherever the final schedule allows (`polyhedral.contraction`).
"""

from __future__ import annotations

from dataclasses import replace

from scheduler.ir.affine import Affine
from scheduler.ir.mapping import map_nodes
from scheduler.ir.nest import Access, Array, Loop, LoopNest, Node, Statement, Storage


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
                low, high = value_range(loop, chain[:depth], parameters)
                known = low is not None and high is not None
                extents.append(high - low if known and low is not None and high is not None else None)
                subscripts.append(Affine.of(loop.name) - (low if known and low is not None else Affine()))
            leading[array.name] = tuple(subscripts)
            array = replace(array, shape=(*extents, *array.shape), expanded=len(chain))
        arrays.append(array)
    if not leading:
        return nest

    def indexed(access: Access) -> Access:
        return Access(access.array, (*leading.get(access.array, ()), *access.subscripts))

    return replace(nest, arrays=tuple(arrays), body=map_nodes(nest.body, indexed))


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


def value_range(loop: Loop, outer: tuple[Loop, ...], parameters: frozenset[str]) -> tuple[Affine | None, Affine | None]:
    """Affine bounds in parameters alone of the loop's values: low <= value < high; None when not found."""
    if not (isinstance(loop.start, tuple) and isinstance(loop.stop, tuple)):
        return None, None
    first, last = (loop.start, loop.stop) if loop.step > 0 else (loop.stop, loop.start)
    low = extreme(first[0], outer, parameters, lowest=True)
    high = extreme(last[0], outer, parameters, lowest=False)
    if loop.step < 0:  # stop < value <= start
        low = low + 1 if low is not None else None
        high = high + 1 if high is not None else None
    return low, high


def extreme(expr: Affine, outer: tuple[Loop, ...], parameters: frozenset[str], lowest: bool) -> Affine | None:
    """The least or greatest value of an expression over the outer loops, as an affine bound in parameters."""
    result = expr
    for depth in range(len(outer) - 1, -1, -1):
        loop = outer[depth]
        coefficient = result.coefficient(loop.name)
        if coefficient:
            low, high = value_range(loop, outer[:depth], parameters)
            if low is None or high is None:
                return None
            bound = low if (coefficient > 0) == lowest else high - 1
            result = result.substitute({loop.name: bound})
    return result if result.names() <= parameters else None
