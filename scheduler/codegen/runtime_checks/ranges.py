"""Ranges of subscripts that are not affine, computed when the code runs: interval analysis of a nest.

What `a[(c * h + i * stride) * w + j]` or `x[col[k]]` reaches is bounded by the ranges of the iterators, by the values
of numbers that the nest does not change, and by the conditions under which it is reached.

Long, because it follows every kind of node of the IR.
"""

from __future__ import annotations

import islpy as isl

from scheduler.codegen.runtime_checks.elements import Elements, box_of, extremes
from scheduler.codegen.runtime_checks.evaluate import Evaluator, State
from scheduler.codegen.runtime_checks.integers import (
    PLAIN,
    common_type,
    includes,
    integer,
    mentioned,
    step_of,
    tracked,
    width_of,
)
from scheduler.codegen.runtime_checks.intervals import ANY, NONE, End, Interval, Intervals
from scheduler.errors import CodegenUnsupported
from scheduler.ir.affine import Affine
from scheduler.ir.nest import (
    Access,
    Action,
    Array,
    Assign,
    Binary,
    Bound,
    Cast,
    Conditional,
    Expr,
    Guard,
    Loop,
    LoopNest,
    Node,
    Predicate,
    Read,
    Statement,
    Subscript,
)
from scheduler.ir.walk import assignments, children, expression_names, reads
from scheduler.polyhedral.model import Model


class Ranges:
    """Which bytes of arrays a nest accesses, as values of `intervals`."""

    def __init__(self, nest: LoopNest, model: Model, intervals: Intervals, elements: Elements) -> None:
        self.nest, self.model, self.intervals, self.elements = nest, model, intervals, elements
        self.evaluator = Evaluator(nest, model, intervals, elements)
        self.arrays, self.parameters = self.evaluator.arrays, self.evaluator.parameters
        self._wanted = ""
        self._found: list[Interval] = []
        self._spans: dict[str, str] = {}

    def span(self, array: Array) -> str:
        """The name of what holds the first byte that is accessed of an array, and the end.

        Raises CodegenUnsupported where there is no bound.
        """
        if array.name not in self._spans:
            if array.rows or not array.shape:
                raise CodegenUnsupported(f"the accesses of {array.name} are not at numbered elements")
            self._wanted, self._found = array.name, []
            self._nodes(self.nest.body, State())
            total = NONE
            for interval in dict.fromkeys(self._found):
                total = self.intervals.join(total, interval)
            if total.is_vague:
                raise CodegenUnsupported(f"nothing is known of the elements of {array.name}")
            base = f"({array.base or array.name})"
            self._spans[array.name] = self.intervals.span(base, total)
        return self._spans[array.name]

    def _nodes(self, nodes: tuple[Node, ...], env: State) -> None:
        for node in nodes:
            if isinstance(node, Loop):
                self._loop(node, env)
            elif isinstance(node, Predicate):
                env.statements = _statements(node.body)
                self._note(node.condition, env)
                inner = env.copy()
                self.evaluator.assume(node.condition, True, inner)
                self._nodes(node.body, inner)
                self._join(env, inner)
            elif isinstance(node, Guard):
                inner = env.copy()
                self._nodes(node.body, inner)
                self._join(env, inner)
            else:
                self._statement(node, env)

    def _loop(self, loop: Loop, env: State) -> None:
        env.statements = _statements(loop.body)
        for end in (loop.start, loop.stop):
            if not isinstance(end, tuple):
                self._note(end, env)
        own = [a.name for a in self.arrays.values() if a.scope is not None and a.scope in _loops((loop,))]
        self._widen(tuple(s for n in _statement_nodes(loop.body) for s in n.body), env, frozenset(own))
        inner = env.copy()
        inner.iterators[loop.name] = self._iterated(loop, env, inner)
        inner.facts = [f for f in inner.facts if loop.name not in expression_names(f.key)]
        self._nodes(loop.body, inner)
        self._join(env, inner)
        env.facts = [f for f in env.facts if loop.name not in expression_names(f.key)]
        env.defined = {k: e for k, e in env.defined.items() if loop.name not in expression_names(e)}

    def _iterated(self, loop: Loop, env: State, inner: State) -> Interval:
        """The range of a loop's iterator."""
        rows = self._rows(loop, env)
        if rows is not None:
            interval, touched = rows
            inner.covered[loop.name] = touched
            return interval
        first, last = (loop.start, loop.stop) if loop.step > 0 else (loop.stop, loop.start)
        shift = 0 if loop.step > 0 else 1  # `stop` is exclusive
        low, high = self._end(loop, first, shift, env), self._end(loop, last, shift - 1, env)
        interval = self.intervals.between(End(low, "low"), End(high, "high"), (low.open_low, high.open_high))
        ctype = integer(loop.ctype)
        return interval if ctype is None else self.intervals.held(interval, ctype)

    def _end(self, loop: Loop, end: Bound, shift: int, env: State) -> Interval:
        """A range of which one end bounds the iterator."""
        if isinstance(end, tuple):
            return self.evaluator.affine(end[0] + shift, env)  # others only make it narrower
        kinds = [integer(loop.ctype), integer(self.evaluator.type_of(end))]
        interval = self.evaluator.range_of(end, env)
        if any(kind is None or not kind.signed for kind in kinds):
            interval = self.intervals.natural(interval)  # of others C makes large numbers
        return self.intervals.shifted(interval, shift)

    def _rows(self, loop: Loop, env: State) -> tuple[Interval, isl.Set] | None:
        """Of `for (k = r[i]; k < r[i + 1]; k++)` in a loop over i: all numbers between the ends, if they rise."""
        ends = [None if isinstance(e, tuple) else self.evaluator.definition(e, env) for e in (loop.start, loop.stop)]
        first, last = ends
        if loop.step != 1 or not isinstance(first, Read) or not isinstance(last, Read) or env.covered:
            return None
        array = self.arrays[first.access.array]
        ctype = integer(array.ctype)
        if array.name != last.access.array or array.name in self.evaluator.written or len(array.shape) != 1:
            return None
        (a,), (b,) = first.access.subscripts, last.access.subscripts
        if not isinstance(a, Affine) or not isinstance(b, Affine) or b - a != Affine.constant(1):
            return None
        if (
            ctype is None
            or ctype.name == PLAIN
            or not includes(loop.ctype, array.ctype)
            or len(a.names() - self.parameters.keys()) != 1
        ):
            return None
        around = {self.model.placed[s].ancestors for s in env.statements}
        for ancestors in around:
            if any(not isinstance(n, Loop) or n.is_opaque for n in ancestors[: _position(ancestors, loop)]):
                return None
        touched = self.elements.touched(first.access, env.statements)
        beyond = self.elements.touched(last.access, env.statements)
        if touched is None or beyond is None or not self.elements.scannable(array, touched.union(beyond)):
            return None
        if not box_of(touched).is_subset(touched):  # all between, so that no row is left out
            return None
        place = self.elements.span_of(touched.union(beyond))
        base = f"({array.base or array.name})"
        return self.intervals.elements("rising", base, place, width_of(ctype)), touched

    def _statement(self, statement: Statement, env: State) -> None:
        env.statements = (statement.name,)
        inner = env.copy()
        domain = self.model.domain(statement.name, "unbounded")
        for k, iterator in enumerate(self.model.iterators(statement.name)):
            ends = extremes(domain, k)
            if ends is not None:
                inner.iterators[iterator] = self.intervals.between(
                    self.elements.bound(ends[0]), self.elements.bound(ends[1])
                )
        self._actions(statement.body, inner, statement.name)
        env.values, env.defined, env.facts = inner.values, inner.defined, inner.facts

    def _actions(self, actions: tuple[Action, ...], env: State, statement: str) -> None:
        for action in actions:
            if isinstance(action, Assign):
                self._assign(action, env)
                continue
            if action.flow == "while":
                self._widen(action.then, env, frozenset())
                self._note(action.condition, env)
                inner = env.copy()
                self.evaluator.assume(action.condition, True, inner)
                self._actions(action.then, inner, statement)
                continue
            self._note(action.condition, env)
            then, orelse = env.copy(), env.copy()
            self.evaluator.assume(action.condition, True, then)
            self._actions(action.then, then, statement)
            self.evaluator.assume(action.condition, False, orelse)
            self._actions(action.orelse, orelse, statement)
            if action.flow not in ("break", "exit"):
                self._join(orelse, then)
            env.values, env.defined, env.facts = orelse.values, orelse.defined, orelse.facts

    def _assign(self, action: Assign, env: State) -> None:
        self._note(action.value, env)
        target = action.target
        self._access(target, env)
        name = target.array
        array = self.arrays[name]
        kept = tracked(array)
        value: Expr = action.value
        if action.op != "=":
            operator = action.op[:-1]
            old = Read(target, array.ctype)
            value = Binary(operator, old, action.value, common_type(array.ctype, self.evaluator.type_of(action.value)))
        interval = self.evaluator.range_of(Cast(array.ctype, value), env) if kept else NONE
        self._forget(name, env)
        if kept:
            env.values[name] = interval
            if name not in {u.access.array for u in reads(value)} and includes(
                array.ctype, self.evaluator.type_of(value)
            ):
                env.defined[name] = value

    @staticmethod
    def _forget(name: str, env: State) -> None:
        env.facts = [f for f in env.facts if name not in mentioned(f.key)]
        env.defined = {k: e for k, e in env.defined.items() if k != name and name not in mentioned(e)}

    def _widen(self, actions: tuple[Action, ...], env: State, own: frozenset[str]) -> None:
        """What holds at the begin of every iteration of a loop around the actions. `own`: new in each."""
        changes: dict[str, list[Assign]] = {}
        for assign in assignments(actions):
            changes.setdefault(assign.target.array, []).append(assign)
        for name, assigns in changes.items():
            self._forget(name, env)
            array = self.arrays[name]
            if name in own or not tracked(array):
                env.values.pop(name, None)
                continue
            ctype = integer(array.ctype)
            steps = [step_of(a) for a in assigns]
            if ctype is None or (ctype.bits < 64 and not ctype.signed):
                up = down = False
            else:
                up, down = (all(s is not None and s * way >= 0 for s in steps) for way in (1, -1))
            env.values[name] = self.intervals.widened(env.values.get(name, ANY), ctype, up, down)

    def _join(self, env: State, other: State) -> None:
        """What holds at the end of one of two ways."""
        for name, interval in other.values.items():
            mine = env.values.get(name)
            env.values[name] = interval if mine is None else self.intervals.join(mine, interval)
        env.defined = {k: e for k, e in env.defined.items() if other.defined.get(k) == e}
        env.facts = [f for f in env.facts if f in other.facts]

    def _note(self, expr: Expr, env: State) -> None:
        """The accesses in an expression, each under the conditions that hold there."""
        self.evaluator.spend()
        if isinstance(expr, Read):
            self._access(expr.access, env)
        elif isinstance(expr, Conditional):
            self._note(expr.condition, env)
            for branch, holds in ((expr.then, True), (expr.orelse, False)):
                inner = env.copy()
                self.evaluator.assume(expr.condition, holds, inner)
                self._note(branch, inner)
        elif isinstance(expr, Binary) and expr.op in ("&&", "||"):
            self._note(expr.left, env)
            inner = env.copy()
            self.evaluator.assume(expr.left, expr.op == "&&", inner)
            self._note(expr.right, inner)
        else:
            for child in children(expr):
                self._note(child, env)

    def _access(self, access: Access, env: State) -> None:
        for subscript in access.subscripts:
            if not isinstance(subscript, Affine):
                self._note(subscript, env)
        if access.array == self._wanted:
            self._found.append(self._linear(access, env))

    def _linear(self, access: Access, env: State) -> Interval:
        """The range of the number of the element, counted in what the base points to."""
        array = self.arrays[access.array]
        total = self._subscript(access.subscripts[0], env)
        if not array.flat:
            return total
        inner = len(array.shape) - bool(array.members)  # the last one is a place in the structure
        for extent, subscript in zip(array.shape[1:inner], access.subscripts[1:inner], strict=True):
            if extent is None:
                return ANY
            scaled = self.intervals.combined("product", total, self.evaluator.affine(extent, env))
            total = self.intervals.combined("sum", scaled, self._subscript(subscript, env))
        return total

    def _subscript(self, subscript: Subscript, env: State) -> Interval:
        return (
            self.evaluator.affine(subscript, env)
            if isinstance(subscript, Affine)
            else self.evaluator.range_of(subscript, env)
        )


def _statements(nodes: tuple[Node, ...]) -> tuple[str, ...]:
    return tuple(s.name for s in _statement_nodes(nodes))


def _statement_nodes(nodes: tuple[Node, ...]) -> tuple[Statement, ...]:
    found: list[Statement] = []
    for node in nodes:
        found += [node] if isinstance(node, Statement) else _statement_nodes(node.body)
    return tuple(found)


def _loops(nodes: tuple[Node, ...]) -> set[str]:
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, Loop):
            found.add(node.name)
        if not isinstance(node, Statement):
            found |= _loops(node.body)
    return found


def _position(ancestors: tuple[Loop | Guard | Predicate, ...], loop: Loop) -> int:
    return next(k for k, node in enumerate(ancestors) if isinstance(node, Loop) and node.name == loop.name)
