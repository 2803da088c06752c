"""A nest with private sums, temporaries and indices that it does not need: another way to write it, which computes the
same."""

from __future__ import annotations

import random
from dataclasses import replace

from scheduler.ir.affine import Affine
from scheduler.ir.names import free_name
from scheduler.ir.nest import (
    Access,
    Array,
    Assign,
    Binary,
    Cast,
    Expr,
    Guard,
    Literal,
    Loop,
    LoopNest,
    Name,
    Node,
    Read,
    Statement,
    Storage,
)  # fmt: skip
from scheduler.ir.walk import assignments, expression_names, loops, placed_statements, reads, subscript_reads

_INDEXED = 0.2  # of the statements, where indices may be drawn
_INDEX = "long"


def random_spelling(nest: LoopNest, rng: random.Random, indices: bool = False) -> LoopNest:
    """The nest with some sums in scalars, and some values and subscripts put into one first; to the bit the same.

    `indices`: whether subscripts may be; only data say then which elements are meant. A nest without any of them comes
    back as it is.
    """
    return _Spelling(nest, rng, indices).made()


class _Spelling:
    def __init__(self, nest: LoopNest, rng: random.Random, indices: bool) -> None:
        self.nest, self.rng, self.indices = nest, rng, indices
        self.arrays = list(nest.arrays)
        self.types = {p.name: p.ctype for p in nest.parameters} | {x.name: x.ctype for x in loops(nest)}
        self.names = {a.name for a in nest.arrays} | {p.name for p in nest.parameters} | {x.name for x in loops(nest)}
        self.statements = {p.statement.name for p in placed_statements(nest)}

    def made(self) -> LoopNest:
        body = self.nodes(self.nest.body, None)
        return replace(self.nest, arrays=tuple(self.arrays), body=body)

    def nodes(self, nodes: tuple[Node, ...], scope: str | None) -> tuple[Node, ...]:
        found: list[Node] = []
        for node in nodes:
            if isinstance(node, Loop) and self.drawn(node):
                found += self.with_sum(node, scope)
            elif isinstance(node, Loop):
                found.append(replace(node, body=self.nodes(node.body, node.name)))
            elif isinstance(node, Statement):
                if self.indices and self.rng.random() < _INDEXED:
                    found += self.with_index(node, scope)
                else:
                    found += self.with_temporary(node, scope) if self.drawn_value(node) else [node]
            elif isinstance(node, Guard):
                found.append(replace(node, body=self.nodes(node.body, scope)))
            else:
                found.append(node)  # its condition decides whether the values can be computed
        return tuple(found)

    def drawn(self, loop: Loop) -> bool:
        """A loop that does nothing but change one element, and is to do so in a scalar."""
        update = _update(loop)
        if update is None or loop.is_opaque or not update.target.is_affine:
            return False
        array = update.target.array
        indexed = any(loop.name in expression_names(s) for s in update.target.subscripts)
        itself = any(use.access.array == array for use in reads(update.value))
        return not indexed and not itself and self.rng.random() < 0.5

    def with_sum(self, loop: Loop, scope: str | None) -> list[Node]:
        (statement,) = loop.body
        update = _update(loop)
        assert isinstance(statement, Statement) and update is not None
        ctype = self.nest.array(update.target.array).ctype
        scalar = self.scalar("sum", ctype, scope)
        before = self.statement(Assign(scalar, "=", Read(update.target, ctype)))
        after = self.statement(Assign(update.target, "=", Read(scalar, ctype)))
        inside = replace(statement, body=(replace(update, target=scalar),))
        return [before, replace(loop, body=(inside,)), after]

    def drawn_value(self, statement: Statement) -> bool:
        body = statement.body
        if len(body) != 1 or not isinstance(body[0], Assign) or isinstance(body[0].value, Literal | Read):
            return False
        indexed = list(subscript_reads(body[0].target))
        return not indexed and self.rng.random() < 0.3

    def with_temporary(self, statement: Statement, scope: str | None) -> list[Node]:
        (assign,) = statement.body
        assert isinstance(assign, Assign)
        scalar = self.scalar("value", assign.value.ctype, scope)
        before = self.statement(Assign(scalar, "=", assign.value))
        return [before, replace(statement, body=(replace(assign, value=Read(scalar, assign.value.ctype)),))]

    def with_index(self, statement: Statement, scope: str | None) -> list[Node]:
        """One subscript of what it writes in a scalar; as it is where none can be."""
        (assign, *others) = statement.body
        if others or not isinstance(assign, Assign) or not assign.target.is_affine:
            return [statement]
        target, array = assign.target, self.nest.array(assign.target.array)
        linear = {k: x for k, x in enumerate(target.subscripts) if isinstance(x, Affine) and x.is_linear and x.names()}
        if array.flat or array.members or not linear:
            return [statement]
        place, wanted = self.rng.choice(list(linear.items()))
        scalar = self.scalar("index", _INDEX, scope)
        before = self.statement(Assign(scalar, "=", self.spelled_out(wanted)))
        subscripts = (*target.subscripts[:place], Read(scalar, _INDEX), *target.subscripts[place + 1 :])
        return [before, replace(statement, body=(replace(assign, target=replace(target, subscripts=subscripts)),))]

    def spelled_out(self, index: Affine) -> Expr:
        """As arithmetic of the loops' numbers."""
        value: Expr = Literal(str(index.const), _INDEX)
        for atom, coefficient in index.terms:
            name = Name(str(atom), self.types[str(atom)])
            term = Binary("*", Literal(str(coefficient), _INDEX), Cast(_INDEX, name), _INDEX)
            value = Binary("+", value, term, _INDEX)
        return value

    def scalar(self, name: str, ctype: str, scope: str | None) -> Access:
        name = free_name(name, self.names)
        self.names.add(name)
        self.arrays.append(Array(name, ctype, storage=Storage.PRIVATE, scope=scope))
        return Access(name)

    def statement(self, assign: Assign) -> Statement:
        name = free_name("S", self.statements)
        self.statements.add(name)
        return Statement(name, (assign,))


def _update(loop: Loop) -> Assign | None:
    """`C op= value`, all that a loop does."""
    if len(loop.body) != 1 or not isinstance(loop.body[0], Statement):
        return None
    (found, *rest) = assignments(loop.body[0].body)
    return found if loop.body[0].body == (found,) and not rest and found.op != "=" else None
