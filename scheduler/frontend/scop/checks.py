"""Branches that leave a nest: that no iteration takes them is proved, or tested in front of it.

Of an affine condition it becomes an assumption about parameters. Of one about data, the written code first runs an
*inspector*: the loops around it with nothing in them but what leads to it. It evaluates the conditions in the order of
the original loops, and stops at the first one that holds, so that it reads nothing that these do not read before
they are left. Source: Saltz, Mirchandaney, Crowley, "Run-time parallelization and scheduling of loops" (1991).
"""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from scheduler.frontend.c_ast.csyntax import CStmt, IfStmt, Leave
from scheduler.frontend.c_ast.reject import Reject
from scheduler.frontend.scop import values
from scheduler.frontend.scop.conditions import condition
from scheduler.frontend.scop.context import Context
from scheduler.frontend.scop.integers import NotAffine
from scheduler.frontend.scop.members import is_followed
from scheduler.frontend.scop.rewrite import Rewriter
from scheduler.ir.nest import (
    Action,
    Assign,
    Constraint,
    If,
    LoopNest,
    Node,
    Statement,
    Storage,
)
from scheduler.ir.walk import Placed, action_uses, placed_statements, uses
from scheduler.polyhedral.dependences import earlier_text
from scheduler.polyhedral.model import Model, QuotaExceeded

# ---------------------------------------------------------------------------------------- reading


def check(ctx: Context, stmt: IfStmt) -> tuple[tuple[CStmt, ...], If] | None:
    """The statements and the action that stand for a branch that leaves; None where it is assumed, or known, that it
    is not taken. Raises Reject."""
    leave = stmt.then
    assert isinstance(leave, Leave)
    refusal = Reject(leave.begin, leave.reason, leave.advice)
    ctx.reading.leaves.append(leave)
    if 0 <= stmt.condition.at < leave.branch.begin:  # not in one macro with its condition
        ctx.reading.apart.append((leave.branch.begin, leave.branch.end))
    facts = ctx.assumed.facts
    assumed = len(facts.assumptions)
    try:
        for conjunction in condition(ctx, stmt.condition, False):
            if all(_required(ctx, constraint) for constraint in conjunction):
                if len(facts.assumptions) > assumed and not leave.error:
                    break
                return None
            del facts.assumptions[assumed:]
    except NotAffine:
        if leave.error and not ctx.reading.may_leave and ctx.scope.loops:
            with ctx.hoisting() as before:
                test = values.value(ctx, stmt.condition)
            ctx.reading.inspected = True
            return tuple(before), If(test, (), (), "exit")
    except Reject:
        raise refusal from None
    raise refusal


def _required(ctx: Context, constraint: Constraint) -> bool:
    sides = (constraint.affine, -constraint.affine) if constraint.kind == "==" else (constraint.affine,)
    return constraint.kind != "mod" and all(ctx.assumed.facts.require(side, ctx.domain) for side in sides)


# --------------------------------------------------------------------------------------- splitting


def split(ctx: Context, nest: LoopNest) -> tuple[LoopNest, LoopNest | None]:
    """The nest without the checks in it, and the inspector that makes them in front of it. Raises Reject."""
    if not any(_exits(placed.statement.body) for placed in placed_statements(nest)):
        return nest, None
    return _Splitter(ctx, nest).run()


def _exits(actions: tuple[Action, ...]) -> bool:
    return any(isinstance(a, If) and (a.flow == "exit" or _exits(a.then) or _exits(a.orelse)) for a in actions)


class _Splitter:
    def __init__(self, ctx: Context, nest: LoopNest) -> None:
        self.ctx = ctx
        self.nest = nest
        self.arrays = {array.name: array for array in nest.arrays}
        self.needed: set[str] = set()  # private arrays that checks depend on

    def run(self) -> tuple[LoopNest, LoopNest]:
        inspector = self._inspector()
        rest = self._rest(self.nest.body)
        kept = placed_statements(replace(self.nest, body=rest))
        rest = self._without(rest, self.needed - {u.access.array for p in kept for u in uses(p) if not u.is_write})
        if not any(True for _ in placed_statements(replace(self.nest, body=rest))):
            raise self._refusal("")
        nest = self._of(rest)
        self._check_work(inspector, nest)
        self._check_changes(inspector, nest)
        return nest, inspector

    def _refusal(self, why: str) -> Reject:
        leave = self.ctx.reading.leaves[-1]
        places = [p.statement.span for p in placed_statements(self.nest) if _exits(p.statement.body)]
        for span in places:
            inside = [v for v in self.ctx.reading.leaves if span is not None and span.begin <= v.begin < span.end]
            leave = inside[0] if inside else leave
            if inside:
                break
        return Reject(leave.begin, leave.reason + why, leave.advice)

    def _of(self, body: tuple[Node, ...]) -> LoopNest:
        """A nest of a part of the nodes, with its arrays, and statements that are numbered."""
        body = Rewriter(lambda access: access, lambda name: name).nodes(body)
        part = replace(self.nest, body=body)
        named = {u.access.array for placed in placed_statements(part) for u in uses(placed)}
        return replace(part, arrays=tuple(a for a in self.nest.arrays if a.name in named))

    # ------------------------------------------------------------------------------ the inspector

    def _inspector(self) -> LoopNest:
        """What the checks depend on, transitively: a backward slice. Source: Weiser, "Program slicing" (1981)."""
        while True:
            found = self._of(self._slice(self.nest.body))
            private = {
                u.access.array
                for placed in placed_statements(found)
                for u in uses(placed)
                if not u.is_write and self.arrays[u.access.array].storage is Storage.PRIVATE
            }
            if private <= self.needed:
                return replace(found, name=f"{self.nest.name}_inspector", assumptions=())
            self.needed |= private

    def _slice(self, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        found: list[Node] = []
        for node in nodes:
            if isinstance(node, Statement):
                kept = self._sliced(node.body)
                if kept:
                    found.append(replace(node, body=kept))
            elif body := self._slice(node.body):
                found.append(replace(node, body=body))
        return tuple(found)

    def _sliced(self, actions: tuple[Action, ...]) -> tuple[Action, ...]:
        found: list[Action] = []
        for action in actions:
            if isinstance(action, Assign):
                if action.target.array in self.needed:
                    found.append(action)
            elif action.flow == "exit":
                found.append(action)
            else:
                then, orelse = self._sliced(action.then), self._sliced(action.orelse)
                if then or orelse:
                    if action.flow:
                        raise self._refusal(", and what that depends on is computed by a loop that does not count")
                    found.append(replace(action, then=then, orelse=orelse))
        return tuple(found)

    # ----------------------------------------------------------------------------------- the rest

    def _rest(self, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        found: list[Node] = []
        for node in nodes:
            if isinstance(node, Statement):
                body = _unchecked(node.body)
                if body:
                    found.append(replace(node, body=body))
            elif inner := self._rest(node.body):
                found.append(replace(node, body=inner))
        return tuple(found)

    def _without(self, nodes: tuple[Node, ...], dropped: set[str]) -> tuple[Node, ...]:
        """Without what sets variables that nobody reads."""
        found: list[Node] = []
        for node in nodes:
            if isinstance(node, Statement):
                if any(u.access.array not in dropped for u in action_uses(node.body) if u.is_write):
                    found.append(node)
            elif inner := self._without(node.body, dropped):
                found.append(replace(node, body=inner))
        return tuple(found)

    # ------------------------------------------------------------------------------- what must hold

    def _check_work(self, inspector: LoopNest, nest: LoopNest) -> None:
        """The inspector does less than the nest. Raises Reject."""
        deep = [_depth(placed) for placed in placed_statements(nest)]
        for placed in placed_statements(inspector):
            sums = any(isinstance(a, Assign) and a.op != "=" for a in placed.statement.body)
            if len(placed.loops) > max(deep) or (sums and len(placed.loops) == max(deep)):
                raise self._refusal(", and to find that out beforehand is as much work as the loop")

    def _check_changes(self, inspector: LoopNest, nest: LoopNest) -> None:
        """Nothing that the nest stores changes what the inspector reads. Raises Reject."""
        stored = {
            u.access.array
            for placed in placed_statements(nest)
            for u in uses(placed)
            if u.is_write and self.arrays[u.access.array].storage is not Storage.PRIVATE
        }
        looked = {
            u.access.array
            for placed in placed_statements(inspector)
            for u in uses(placed)
            if self.arrays[u.access.array].storage is not Storage.PRIVATE
        }
        for name in sorted(looked & stored):
            if not self._looks_first(name):
                raise self._refusal(f", which depends on '{name}', and the loop changes that")
        for name in sorted(looked):
            others = [s for s in sorted(stored - {name}) if self.arrays[name].may_overlap(self.arrays[s])]
            pair = (name, *others)
            known = all(_is_affine(array, part) for array in pair for part in (inspector, nest))
            told = all(not self.arrays[array].rows and is_followed(self.ctx, array) for array in pair)
            if others and not (known and told):
                raise self._refusal(
                    f", which depends on '{name}', and '{others[0]}', which the loop changes, may overlap that"
                )

    def _looks_first(self, array: str) -> bool:
        """No element is stored before a check depends on it, in the order of the original loops."""
        model = Model(self.nest)
        sliced = placed_statements(replace(self.nest, body=self._slice(self.nest.body)))
        read = [(p.statement.name, use.access) for p in sliced for use in uses(p) if use.access.array == array]
        written = [(s, u.access) for s in model.placed for u in model.uses(s) if u.is_write and u.access.array == array]
        try:
            with model.quota():
                return not any(
                    source == sink
                    or (
                        (text := earlier_text(model, source, stored, sink, looked)) is not None
                        and not isl.Map.read_from_str(model.context, text).is_empty()
                    )
                    for source, stored in written
                    for sink, looked in read
                )
        except QuotaExceeded:
            return False


def _is_affine(array: str, nest: LoopNest) -> bool:
    """It is known which elements of an array a nest accesses."""
    for placed in placed_statements(nest):
        opaque = any(loop.is_opaque for loop in placed.loops)
        if any(u.access.array == array and (opaque or not u.access.is_affine) for u in uses(placed)):
            return False
    return True


def _unchecked(actions: tuple[Action, ...]) -> tuple[Action, ...]:
    """The actions without checks."""
    found: list[Action] = []
    for action in actions:
        if isinstance(action, If):
            if action.flow == "exit":
                continue
            then, orelse = _unchecked(action.then), _unchecked(action.orelse)
            if not then and not orelse and (action.then or action.orelse):
                continue
            action = replace(action, then=then, orelse=orelse)
        found.append(action)
    return tuple(found)


def _depth(placed: Placed) -> int:
    """Of the loops around a statement, and in it."""
    return len(placed.loops) + _repeated(placed.statement.body)


def _repeated(actions: tuple[Action, ...]) -> int:
    nested = (a for a in actions if isinstance(a, If))
    return max(((a.flow == "while") + max(_repeated(a.then), _repeated(a.orelse)) for a in nested), default=0)
