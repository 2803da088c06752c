"""The floating-point operations that one instance of a statement needs in any order of them.

Those that do not change in some loop around them count for nothing, since a compiler takes them out of it, and of two
sides of a condition the cheaper one counts. `scheduler.cost.operations` counts them as they are written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scheduler.ir.nest import Action, Assign, Binary, Call, Conditional, Expr, If, LoopNest, Predicate
from scheduler.ir.types import scalar_type
from scheduler.ir.walk import children, expression_names, reads
from scheduler.polyhedral.model import Model


def least_operations(model: Model, name: str) -> dict[str, float]:
    """Of one instance of a statement, by precision: "float" or "double"; nothing where data decide whether it runs."""
    placed = model.placed[name]
    if any(isinstance(ancestor, Predicate) for ancestor in placed.ancestors):
        return {}
    written = frozenset(u.access.array for other in model.placed for u in model.uses(other) if u.is_write)
    return _Counting(frozenset(model.iterators(name)), written, model.nest).actions(placed.statement.body)


@dataclass(frozen=True, slots=True)
class _Counting:
    """`iterators` are those of the statement, `written` the arrays that the nest writes."""

    iterators: frozenset[str]
    written: frozenset[str]
    nest: LoopNest

    def actions(self, actions: Sequence[Action]) -> dict[str, float]:
        total: dict[str, float] = {}
        for action in actions:
            if isinstance(action, If):
                sides = self.actions(action.then), self.actions(action.orelse)
                parts = [self.expression(action.condition), _less(*sides)]
            else:
                assert isinstance(action, Assign)
                parts = [self.expression(action.value)]
                ctype = self.nest.array(action.target.array).ctype
                if action.op != "=":
                    parts.append(_one(ctype))
            for part in parts:
                total = _sum(total, part)
        return total

    def expression(self, e: Expr) -> dict[str, float]:
        if isinstance(e, Conditional):
            return _sum(self.expression(e.condition), _less(self.expression(e.then), self.expression(e.orelse)))
        total: dict[str, float] = {}
        for child in children(e):
            total = _sum(total, self.expression(child))
        counts = isinstance(e, Call) or (isinstance(e, Binary) and e.op in "+-*/")
        return _sum(total, _one(e.ctype)) if counts and not self._invariant(e) else total

    def _invariant(self, e: Expr) -> bool:
        """Whether a loop around it leaves it as it is."""
        if any(use.access.array in self.written for use in reads(e)):
            return False
        return not self.iterators <= expression_names(e)


def _one(ctype: str) -> dict[str, float]:
    known = scalar_type(ctype)
    if known is None or known.kind != "floating":
        return {}
    return {"float" if known.bits <= 32 else "double": 1.0}


def _sum(first: Mapping[str, float], second: Mapping[str, float]) -> dict[str, float]:
    return {name: first.get(name, 0.0) + second.get(name, 0.0) for name in (*first, *second)}


def _less(first: Mapping[str, float], second: Mapping[str, float]) -> dict[str, float]:
    return {name: min(first.get(name, 0.0), second.get(name, 0.0)) for name in (*first, *second)}
