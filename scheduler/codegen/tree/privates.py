"""Where private arrays and scalars are declared: in a loop (whole, or a block of them), at the top, or on the heap."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from scheduler.codegen.tree.nodes import (
    Branch,
    CNode,
    For,
    Instance,
    IntExpr,
    Private,
    Scope,
    Tile,
    Windowed,
    add,
    children,
    walk,
    with_bodies,
)
from scheduler.codegen.tree.polytree import PolyTree
from scheduler.errors import CodegenUnsupported
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Array, Storage
from scheduler.ir.tree import TreeLoop, statements_below
from scheduler.polyhedral.contraction import Window
from scheduler.replay import ScheduledNest


@dataclass(frozen=True, slots=True)
class PrivatePlan:
    """`inside`: tree loop -> arrays declared in its body; `top`: at the top of the nest; `heap`: allocated there."""

    inside: tuple[tuple[str, tuple[str, ...]], ...]
    top: tuple[Array, ...]
    heap: tuple[Array, ...]
    dropped: tuple[tuple[str, int], ...]
    windows: tuple[Window, ...] = ()


def plan_privates(scheduled: ScheduledNest, poly: PolyTree, nodes: tuple[CNode, ...]) -> PrivatePlan:
    """Arrays whose owning loop came out in pieces, a reader apart from its writers, stay expanded."""
    plan = _plan(scheduled, poly)
    torn = {name for loop, names in plan.inside for name in names if _is_torn(name, loop, poly, nodes)}
    torn |= {w.array for w in plan.windows if _is_torn(w.array, w.loop, poly, nodes)}
    if not torn:
        return plan
    whole = tuple(window for window in scheduled.windows if window.array not in torn)
    kept = tuple((name, loop) for name, loop in scheduled.contracted if name not in torn)
    for array in scheduled.nest.arrays:
        if array.name in torn and (not array.expanded or None in array.shape):
            raise CodegenUnsupported(f"the loop that owns private {array.name} falls into pieces")
    return _plan(replace(scheduled, contracted=kept, windows=whole), poly)


def _is_torn(name: str, loop: str, poly: PolyTree, nodes: tuple[CNode, ...]) -> bool:
    """One iteration of the loop may have come out in two pieces, of which one reads what the other one writes.

    Two loops of the code never stand for the same iteration, as isl puts what coincides at a depth into one; pieces
    without a loop may.
    """
    uses = {s: [u for u in poly.model.uses(s) if u.access.array == name] for s in poly.model.placed}
    writers = {s for s, found in uses.items() if any(u.is_write for u in found)}
    readers = {s for s, found in uses.items() if any(not u.is_write for u in found)}
    pieces = [
        (piece, sides, {n.statement for n in walk((piece,)) if isinstance(n, Instance)})
        for piece, sides in _pieces(nodes, loop, {})
    ]
    for reading, read_sides, read in pieces:
        for writing, written_sides, written in pieces:
            apart = reading is not writing and bool(read & readers and (written & writers) - read)
            loops = isinstance(reading, For) and isinstance(writing, For)
            exclusive = any(written_sides.get(branch, side) != side for branch, side in read_sides.items())
            if apart and not loops and not exclusive:
                return True
    return False


def _pieces(nodes: tuple[CNode, ...], loop: str, sides: dict[int, bool]) -> Iterator[tuple[CNode, dict[int, bool]]]:
    """What stands for iterations of a loop, with the side of each branch around it."""
    for node in nodes:
        if isinstance(node, For | Scope) and node.loop == loop:
            yield node, sides
        elif isinstance(node, Branch):
            yield from _pieces(node.then, loop, {**sides, id(node): True})
            yield from _pieces(node.orelse, loop, {**sides, id(node): False})
        else:
            yield from _pieces(children(node), loop, sides)


def _plan(scheduled: ScheduledNest, poly: PolyTree) -> PrivatePlan:
    users = {
        a.name: [s for s in poly.model.placed if any(u.access.array == a.name for u in poly.model.uses(s))]
        for a in scheduled.nest.arrays
        if a.storage is Storage.PRIVATE
    }
    contracted = dict(scheduled.contracted)
    windows = frozenset(window.array for window in scheduled.windows)
    inside: dict[str, list[str]] = {}
    top: list[Array] = []
    heap: list[Array] = []
    dropped: dict[str, int] = {}
    for array in scheduled.nest.arrays:
        if not users.get(array.name) or array.name in windows:
            continue
        if array.name in contracted:
            dropped[array.name] = array.expanded
            where = contracted[array.name]
        elif array.expanded:
            heap.append(array)
            continue
        else:
            where = _scope_loop(array, users[array.name], poly)
        if where is None:
            top.append(array)
        else:
            inside.setdefault(where, []).append(array.name)
    within = tuple((k, tuple(v)) for k, v in inside.items())
    return PrivatePlan(within, tuple(top), tuple(heap), tuple(dropped.items()), scheduled.windows)


def _scope_loop(array: Array, users: list[str], poly: PolyTree) -> str | None:
    """The tree loop that stands for the array's scope: every iteration of the scope runs inside one of its."""
    if array.scope is None:
        return None
    for place in reversed(poly.by_name.values()):
        if place.loop.origin != array.scope or place.loop.tile or not set(users) <= set(statements_below(place.loop)):
            continue
        if all(_fixed_by_scope(s, array.scope, place.path, poly) for s in users):
            return place.loop.name
    raise CodegenUnsupported(f"private {array.name} of loop {array.scope} has no loop to be declared in")


def _fixed_by_scope(statement: str, scope: str, path: Iterable[TreeLoop], poly: PolyTree) -> bool:
    iterators = poly.model.iterators(statement)
    if scope not in iterators:
        return False
    later = set(iterators[iterators.index(scope) + 1 :])
    return not any(loop.row(statement).names() & later for loop in path)


def declare_privates(nodes: tuple[CNode, ...], plan: PrivatePlan, poly: PolyTree) -> tuple[CNode, ...]:
    """Puts declarations at the top of the bodies of the loops that own private arrays."""
    inside = dict(plan.inside)
    uses = {s: {u.access.array for u in poly.model.uses(s)} for s in poly.model.placed}

    def visit(body: tuple[CNode, ...], times: Mapping[str, IntExpr | None]) -> tuple[CNode, ...]:
        return tuple(node_of(node, times) for node in body)

    def node_of(node: CNode, times: Mapping[str, IntExpr | None]) -> CNode:
        if isinstance(node, For | Scope):
            times = {**times, node.loop: node.time}
        node = with_bodies(node, lambda body: visit(body, times))
        if not isinstance(node, For | Scope):
            return node
        used = {a for n in walk((node,)) if isinstance(n, Instance) for a in uses[n.statement]}
        body = (*(Private(name) for name in inside.get(node.loop, ()) if name in used), *node.body)
        for window in plan.windows:
            if window.loop == node.loop and window.array in used:
                start = times.get(window.tile)
                if start is None:
                    raise CodegenUnsupported(f"the blocks of loop {window.tile} are not known one by one")
                body = (Windowed(window, start, body),)
        return replace(node, body=body)

    return visit(nodes, {})


def block_of(node: Windowed, array: Array) -> tuple[Array, Tile]:
    """What is declared in place of a private array of which a block is enough, and where its elements are in it."""
    window = node.window
    extents = (*array.shape[array.expanded :], Affine.constant(window.size))
    dims = (*range(array.expanded, len(array.shape)), window.dimension)
    start = add(node.start, window.offset)
    origin = tuple(start if d == window.dimension else Affine() for d in range(len(array.shape)))
    block = replace(array, shape=extents, expanded=0, flat=False)
    return block, Tile(array.base or array.name, array.ctype, dims, origin)
