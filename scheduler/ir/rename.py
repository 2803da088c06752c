"""Nodes of a nest with other names for loops and statements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from scheduler.ir.affine import Affine
from scheduler.ir.mapping import map_actions, map_expr
from scheduler.ir.nest import Access, Bound, Constraint, Expr, Guard, Loop, Name, Node, Predicate, Statement


def renamed_nodes(
    nodes: tuple[Node, ...], names: Mapping[str, str], arrays: Mapping[str, str] = MappingProxyType({})
) -> tuple[Node, ...]:
    """The nodes with loops and statements (and arrays) renamed, everywhere they are mentioned."""
    return _Renaming(names, arrays).nodes(nodes)


class _Renaming:
    def __init__(self, names: Mapping[str, str], arrays: Mapping[str, str]) -> None:
        self.names, self.arrays = names, arrays
        self.values = {old: Affine.of(new) for old, new in names.items()}

    def nodes(self, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        return tuple(self.node(node) for node in nodes)

    def node(self, node: Node) -> Node:
        match node:
            case Statement():
                name, body = self.names.get(node.name, node.name), map_actions(node.body, self.access, self.name)
                return replace(node, name=name, body=body)
            case Loop():
                name, start, stop = self.names.get(node.name, node.name), self.bound(node.start), self.bound(node.stop)
                return replace(node, name=name, start=start, stop=stop, body=self.nodes(node.body))
            case Guard():
                condition = tuple(tuple(map(self.constraint, conjunction)) for conjunction in node.condition)
                return Guard(condition, self.nodes(node.body))
            case Predicate():
                return Predicate(self.expr(node.condition), self.nodes(node.body))

    def constraint(self, constraint: Constraint) -> Constraint:
        return replace(constraint, affine=constraint.affine.substitute(self.values))

    def bound(self, bound: Bound) -> Bound:
        return tuple(part.substitute(self.values) for part in bound) if isinstance(bound, tuple) else self.expr(bound)

    def access(self, access: Access) -> Access:
        found = (s.substitute(self.values) if isinstance(s, Affine) else s for s in access.subscripts)
        return Access(self.arrays.get(access.array, access.array), tuple(found))

    def name(self, name: Name) -> Name:
        return replace(name, name=self.names.get(name.name, name.name))

    def expr(self, expr: Expr) -> Expr:
        return map_expr(expr, self.access, self.name)
