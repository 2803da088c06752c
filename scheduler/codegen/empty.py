"""Data-dependent loops may be empty, but isl is told that they are not (`PolyTree.context`): it would take the question
out of the loops around, in which alone the bounds are known. What it then makes of first and last iterations, and of
tiles, is asked here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scheduler.codegen.ast import follows, margins
from scheduler.codegen.node_algebra import names_in, names_of
from scheduler.codegen.nodes import Block, Branch, CNode, For, Instance, IntOp, Scope, When, walk, with_bodies
from scheduler.codegen.polytree import PolyTree
from scheduler.errors import CodegenUnsupported
from scheduler.ir.affine import Affine

Wanted = frozenset[str]  # data-dependent loops that must be known not to be empty


def ask_for_iterations(nodes: tuple[CNode, ...], poly: PolyTree) -> tuple[CNode, ...]:
    """The nodes with `if (lo < hi)` where nothing else says so. Raises CodegenUnsupported."""
    if not poly.opaque:
        return nodes
    asking = _Asking(poly)
    return asking.closed([asking.node(node, frozenset()) for node in nodes], frozenset())


@dataclass(slots=True)
class _Bounds:
    low: Affine
    high: Affine

    @property
    def condition(self) -> IntOp:
        return IntOp("<", (self.low, self.high))


class _Asking:
    def __init__(self, poly: PolyTree) -> None:
        depth = {name: poly.model.iterators(s).index(name) for s in poly.model.placed for name in poly.opaque
                 if name in poly.model.iterators(s)}  # fmt: skip
        self.bounds: dict[str, _Bounds] = {}  # inner loops first
        for name in sorted(poly.opaque, key=lambda one: -depth.get(one, 0)):
            ends = Affine.of(f"__lo_{name}"), Affine.of(f"__hi_{name}")
            self.bounds[name] = _Bounds(*(ends if poly.opaque[name].step > 0 else ends[::-1]))
        self.inside = {s: frozenset(poly.model.iterators(s)) & poly.opaque.keys() for s in poly.model.placed}

    def closed(self, items: list[tuple[CNode, Wanted]], rising: Wanted) -> tuple[CNode, ...]:
        """The nodes with what they want asked around them; `rising`: but for that, which is asked farther out."""
        for name, bounds in self.bounds.items():
            if name not in rising:
                items = list(self._asked(items, name, bounds))
        return tuple(node for node, _ in items)

    def _asked(self, items: list[tuple[CNode, Wanted]], name: str, bounds: _Bounds) -> Iterator[tuple[CNode, Wanted]]:
        """With one question around neighbours."""
        while items:
            if name not in items[0][1]:
                yield items.pop(0)
                continue
            end = last = 1
            while end < len(items) and (name in items[end][1] or self._holds_only(items[end][0], name)):
                end += 1
                last = end if name in items[end - 1][1] else last
            group, items = items[:last], items[last:]
            wanted = frozenset(other for _, others in group for other in others) - {name}
            yield Branch(bounds.condition, tuple(node for node, _ in group)), wanted

    def node(self, node: CNode, known: Wanted) -> tuple[CNode, Wanted]:
        """`known`: loops that have iterations here."""
        if isinstance(node, Instance):
            return node, self.inside[node.statement] - known
        if isinstance(node, For):
            known |= {name for name, b in self.bounds.items() if _has_iterations(node, b)}
        wanted = frozenset(n for i in walk((node,)) if isinstance(i, Instance) for n in self.inside[i.statement])
        rising = frozenset(name for name in wanted - known if self._is_known_at(node, name))
        below: set[str] = set()

        def change(body: tuple[CNode, ...]) -> tuple[CNode, ...]:
            items = [self.node(inner, known) for inner in body]
            below.update(*(wanted for _, wanted in items))
            return self.closed(items, rising)

        changed = with_bodies(node, change)
        if isinstance(node, Block) and below - rising:
            raise CodegenUnsupported("a register block of loops that may be empty")
        return changed, frozenset(below) & rising

    def _is_known_at(self, node: CNode, name: str) -> bool:
        """Whether the bounds are known where the node begins, and it runs nothing else."""
        if isinstance(node, When):  # what it tests must not be read otherwise
            return True
        names = names_of(node.time) if isinstance(node, Scope) and node.time is not None else names_in(node)
        spoken = {f"__lo_{name}", f"__hi_{name}"} & names
        if spoken and not self._holds_only(node, name):
            raise CodegenUnsupported(f"what runs together with loop {name}, which may be empty, is not inside of it")
        return bool(spoken)

    def _holds_only(self, node: CNode, name: str) -> bool:
        found = [i for i in walk((node,)) if isinstance(i, Instance)]
        runs = isinstance(node, For | Scope | Branch | When | Instance)
        return runs and all(name in self.inside[i.statement] for i in found)


def _has_iterations(loop: For, bounds: _Bounds) -> bool:
    """Where this loop has iterations, those bounds have, too."""
    return any(follows(bounds.condition, margin) for margin in margins(loop))
