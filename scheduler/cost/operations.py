"""What one instance of a statement computes: operations by kind, and how long its longest chain of them takes;
and the fewest floating-point operations that it needs in any order of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scheduler.ir.nest import (
    Action,
    Assign,
    Binary,
    Call,
    Cast,
    Conditional,
    Expr,
    If,
    LoopNest,
    Predicate,
    Statement,
    Unary,
)
from scheduler.ir.types import COMPARISONS, LOGICAL, is_floating, scalar_type
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


# Cycles until a result can be used, scalar, on current x86 (Fog, Instruction tables: Zen 3, Ice Lake).
_LATENCY = {"add": 4.0, "mul": 4.0, "div": 13.0, "sqrt": 18.0, "call": 40.0, "simple": 1.0, "int": 1.0}
_INLINED = frozenset(
    ("fabs", "floor", "ceil", "trunc", "rint", "nearbyint", "fmin", "fmax", "copysign", "fma", "abs", "labs", "llabs")
)
_TAKEN = 0.5  # of either side of a condition, how often it runs
_ROUNDS = 8.0  # of a loop whose number of iterations depends on data


@dataclass(slots=True)
class Operations:
    """Expected counts for one instance; `chain_cycles` is the latency of the deepest expression."""

    add: float = 0.0  # floating additions and subtractions
    mul: float = 0.0
    div: float = 0.0
    sqrt: float = 0.0
    call: float = 0.0  # functions of the C library that are really called
    simple: float = 0.0  # functions and operators the compiler expands in place
    integer: float = 0.0  # integer operations outside subscripts
    convert: float = 0.0
    branch: float = 0.0  # conditions that depend on data
    narrow: float = 0.0  # floating operations in single precision, of add + mul + div + sqrt
    chain_cycles: float = 0.0

    @property
    def flops(self) -> float:
        return self.add + self.mul + self.div + self.sqrt + self.call

    @property
    def total(self) -> float:
        return self.flops + self.simple + self.integer + self.convert + self.branch


def count_operations(statement: Statement) -> Operations:
    """The operations of a statement's body."""
    found = Operations()
    found.chain_cycles = _actions(statement.body, found, 1.0)
    return found


def _actions(actions: tuple[Action, ...], found: Operations, weight: float) -> float:
    longest = 0.0
    for action in actions:
        if isinstance(action, If):
            found.branch += weight
            first = _expression(action.condition, found, weight)
            then = _actions(action.then, found, weight * (_ROUNDS if action.flow == "while" else _TAKEN))
            orelse = _actions(action.orelse, found, weight * _TAKEN)
            longest = max(longest, first + max(then, orelse))
        else:
            assert isinstance(action, Assign)
            chain = _expression(action.value, found, weight)
            if action.op != "=":
                chain += _binary(action.op[:-1], action.value.ctype, found, weight)
            longest = max(longest, chain)
    return longest


def _expression(e: Expr, found: Operations, weight: float) -> float:
    """Adds the operations of an expression; returns its latency in cycles."""
    if isinstance(e, Conditional):
        found.branch += weight
        first = _expression(e.condition, found, weight)
        return first + max(_expression(side, found, weight * _TAKEN) for side in (e.then, e.orelse))
    inner = max((_expression(child, found, weight) for child in children(e)), default=0.0)
    if isinstance(e, Binary):
        typed = e.left.ctype if e.op in COMPARISONS | LOGICAL else e.ctype
        return inner + _binary(e.op, typed, found, weight)
    if isinstance(e, Call):
        name = e.function.removesuffix("f") if e.function not in _INLINED else e.function
        kind = "sqrt" if name == "sqrt" else "simple" if name in _INLINED else "call"
        setattr(found, kind, getattr(found, kind) + weight)
        found.narrow += weight * (e.ctype == "float" and kind == "sqrt")
        return inner + _LATENCY[kind]
    if isinstance(e, Cast):
        changed = is_floating(e.ctype) or is_floating(e.operand.ctype)
        found.convert += weight * (changed and e.ctype != e.operand.ctype)
        return inner + 4.0 * changed
    if isinstance(e, Unary):
        found.simple += weight * (e.op != "+")
        return inner + _LATENCY["simple"]
    return inner


def _binary(op: str, ctype: str, found: Operations, weight: float) -> float:
    if not is_floating(ctype):
        found.integer += weight * (8.0 if op in ("/", "%") else 1.0)
        return 20.0 if op in ("/", "%") else _LATENCY["int"]
    kind = {"+": "add", "-": "add", "*": "mul", "/": "div"}.get(op, "simple")
    setattr(found, kind, getattr(found, kind) + weight)
    found.narrow += weight * (ctype == "float" and kind != "simple")
    return _LATENCY[kind]
