"""Where private arrays and scalars are declared: in a loop's body, at the top, or on the heap."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from scheduler.codegen.nodes import CNode, For, Instance, Private, Scope, walk, with_bodies
from scheduler.codegen.polytree import PolyTree
from scheduler.errors import CodegenUnsupported
from scheduler.ir.nest import Array, Storage
from scheduler.ir.tree import TreeLoop, statements_below
from scheduler.replay import ScheduledNest


@dataclass(frozen=True, slots=True)
class PrivatePlan:
    """`inside`: tree loop -> arrays declared in its body; `top`: at the top of the nest; `heap`: allocated there."""

    inside: tuple[tuple[str, tuple[str, ...]], ...]
    top: tuple[Array, ...]
    heap: tuple[Array, ...]
    dropped: tuple[tuple[str, int], ...]


def plan_privates(scheduled: ScheduledNest, poly: PolyTree, nodes: tuple[CNode, ...]) -> PrivatePlan:
    """Arrays whose owning loop came out in pieces, a reader apart from its writers, stay expanded."""
    plan = _plan(scheduled, poly)
    torn = {name for loop, names in plan.inside for name in names if _is_torn(name, loop, poly, nodes)}
    if not torn:
        return plan
    kept = tuple((name, loop) for name, loop in scheduled.contracted if name not in torn)
    for array in scheduled.nest.arrays:
        if array.name in torn and (not array.expanded or None in array.shape):
            raise CodegenUnsupported(f"the loop that owns private {array.name} falls into pieces")
    return _plan(replace(scheduled, contracted=kept), poly)


def _is_torn(name: str, loop: str, poly: PolyTree, nodes: tuple[CNode, ...]) -> bool:
    """Some piece of the loop reads the array without holding every statement that writes it."""
    uses = {s: [u for u in poly.model.uses(s) if u.access.array == name] for s in poly.model.placed}
    writers = {s for s, found in uses.items() if any(u.is_write for u in found)}
    readers = {s for s, found in uses.items() if any(not u.is_write for u in found)}
    for node in walk(nodes):
        if isinstance(node, For | Scope) and node.loop == loop:
            here = {n.statement for n in walk((node,)) if isinstance(n, Instance)}
            if here & readers and not writers <= here:
                return True
    return False


def _plan(scheduled: ScheduledNest, poly: PolyTree) -> PrivatePlan:
    users = {
        a.name: [s for s in poly.model.placed if any(u.access.array == a.name for u in poly.model.uses(s))]
        for a in scheduled.nest.arrays
        if a.storage is Storage.PRIVATE
    }
    contracted = dict(scheduled.contracted)
    inside: dict[str, list[str]] = {}
    top: list[Array] = []
    heap: list[Array] = []
    dropped: dict[str, int] = {}
    for array in scheduled.nest.arrays:
        if not users.get(array.name):
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
    return PrivatePlan(tuple((k, tuple(v)) for k, v in inside.items()), tuple(top), tuple(heap), tuple(dropped.items()))


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

    def visit(body: tuple[CNode, ...]) -> tuple[CNode, ...]:
        return tuple(node_of(node) for node in body)

    def node_of(node: CNode) -> CNode:
        node = with_bodies(node, visit)
        if isinstance(node, For | Scope) and node.loop in inside:
            used = {a for n in walk((node,)) if isinstance(n, Instance) for a in uses[n.statement]}
            declared = tuple(Private(name) for name in inside[node.loop] if name in used)
            return replace(node, body=(*declared, *node.body))
        return node

    return visit(nodes)
