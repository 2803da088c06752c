"""What integer expressions may be, as intervals, where something is known of the variables and conditions in them.

Elements of arrays of integers are looked at beforehand (an inspector, Saltz et al., 1991) where the nest reads them for
certain, or the array is declared in full.

Long, because it follows every kind of expression of the IR.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import islpy as isl

from scheduler.codegen.runtime_checks.elements import Elements
from scheduler.codegen.runtime_checks.integers import (
    PLAIN,
    common_type,
    constant_of,
    includes,
    integer,
    tracked,
    width_of,
)
from scheduler.codegen.runtime_checks.intervals import ANY, NONE, Interval, Intervals
from scheduler.errors import CodegenUnsupported
from scheduler.ir.affine import Affine, FloorDiv
from scheduler.ir.nest import (
    Access,
    Array,
    Binary,
    Cast,
    Conditional,
    Expr,
    Literal,
    LoopNest,
    Name,
    Read,
    Storage,
    Unary,
)
from scheduler.ir.types import ScalarType
from scheduler.polyhedral.model import Model

_MOST_STEPS = 4000  # expressions that are looked at for one nest
_NEGATED = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}


@dataclass(frozen=True, slots=True)
class Fact:
    """`key op` some number of an interval, in a type of 64 bits without a sign or in one that holds both numbers."""

    key: Expr
    op: str
    bound: Interval
    unsigned: bool


@dataclass(slots=True)
class State:
    """What is known at a point of the nest. `values`: of scalars; `defined`: what they were last set to."""

    values: dict[str, Interval] = field(default_factory=dict)
    defined: dict[str, Expr] = field(default_factory=dict)
    facts: list[Fact] = field(default_factory=list)
    iterators: dict[str, Interval] = field(default_factory=dict)
    covered: dict[str, isl.Set] = field(default_factory=dict)  # loops that run for every number of their range
    statements: tuple[str, ...] = ()  # whose accesses are looked at

    def copy(self) -> State:
        return State(
            dict(self.values),
            dict(self.defined),
            list(self.facts),
            dict(self.iterators),
            dict(self.covered),
            self.statements,
        )


class Evaluator:
    """Of the expressions of one nest."""

    def __init__(self, nest: LoopNest, model: Model, intervals: Intervals, elements: Elements) -> None:
        self.intervals, self.elements = intervals, elements
        self.arrays = {a.name: a for a in nest.arrays}
        self.parameters = {p.name: p for p in nest.parameters}
        self.by_base = {p.base: p for p in nest.parameters if p.base is not None}
        self.by_base |= {p.name: p for p in nest.parameters if p.base is None}
        self.written = {u.access.array for s in model.placed for u in model.uses(s) if u.is_write}
        self._steps = 0

    def assume(self, condition: Expr, holds: bool, env: State) -> None:
        """Adds what follows from a condition."""
        if isinstance(condition, Unary) and condition.op == "!":
            self.assume(condition.operand, not holds, env)
        elif isinstance(condition, Cast) and integer(condition.ctype) and integer(self.type_of(condition.operand)):
            if includes(condition.ctype, self.type_of(condition.operand)):
                self.assume(condition.operand, holds, env)
        elif isinstance(condition, Binary) and condition.op in ("&&", "||"):
            if (condition.op == "&&") == holds:
                self.assume(condition.left, holds, env)
                self.assume(condition.right, holds, env)
        elif isinstance(condition, Binary) and condition.op in _NEGATED:
            self._compare(condition, condition.op if holds else _NEGATED[condition.op], env)

    def _compare(self, condition: Binary, op: str, env: State) -> None:
        sides = (condition.left, condition.right)
        types = [integer(self.type_of(side)) for side in sides]
        if op == "!=" or None in types:
            return
        common = integer(common_type(self.type_of(sides[0]), self.type_of(sides[1])))
        if common is None:
            return
        if not common.signed and common.bits < 64:
            for side, ctype in zip(sides, types, strict=True):
                if ctype is None or (ctype.signed and (constant_of(side) or -1) < 0):
                    return  # negative numbers would be converted
        unsigned = not common.signed and common.bits == 64
        ranges = [self.range_of(side, env) for side in sides]
        new = []
        for side, bound, way in ((sides[0], ranges[1], op), (sides[1], ranges[0], _MIRRORED[op])):
            key = self._canonical(side)
            fixed = isinstance(key, Literal) or (isinstance(key, Name) and key.name in self.parameters)
            if not fixed and not (bound.open_low and bound.open_high):
                new.append(Fact(key, way, bound, unsigned))
        env.facts += [fact for fact in new if fact not in env.facts]
        for fact in new:  # what is known of a number goes with it where ways meet
            if isinstance(fact.key, Read) and fact.key.access.array in env.values:
                env.values[fact.key.access.array] = self.range_of(fact.key, env)

    def _known(self, interval: Interval, key: Expr, env: State) -> Interval:
        """The range of an expression with what conditions say of it."""
        key = self._canonical(key)
        for fact in env.facts:
            if fact.key == key:
                interval = self.intervals.meet(interval, fact.op, fact.bound, fact.unsigned)
        return interval

    def _canonical(self, expr: Expr) -> Expr:
        """Without conversions that change no value, or only to a congruent one; parameters by their names."""
        if isinstance(expr, Cast) and (operand := integer(self.type_of(expr.operand))) is not None:
            wide = integer(expr.ctype)
            if includes(expr.ctype, operand.name) or (wide is not None and wide.bits == 64):
                return self._canonical(expr.operand)
        if isinstance(expr, Cast | Unary):
            return replace(expr, operand=self._canonical(expr.operand))
        if isinstance(expr, Binary):
            return replace(expr, left=self._canonical(expr.left), right=self._canonical(expr.right))
        if isinstance(expr, Read):
            parameter = self._parameter(expr.access)
            return expr if parameter is None else Name(parameter, expr.ctype)
        return expr

    def _parameter(self, access: Access) -> str | None:
        array = self.arrays[access.array]
        if array.shape or array.name in self.written:
            return None
        found = self.by_base.get(array.base or array.name)
        return found.name if found is not None and found.ctype == array.ctype else None

    def type_of(self, expr: Expr) -> str:
        return self.arrays[expr.access.array].ctype if isinstance(expr, Read) else expr.ctype

    def definition(self, expr: Expr, env: State) -> Expr:
        while isinstance(expr, Read) and expr.access.array in env.defined:
            expr = env.defined[expr.access.array]
        return self._canonical(expr)

    def range_of(self, expr: Expr, env: State) -> Interval:
        """A range with the value of an integer expression."""
        self.spend()
        ctype = integer(self.type_of(expr))
        if ctype is None:
            return ANY
        interval = self._plain(expr, env)
        if isinstance(expr, Name):
            return interval
        if not self._fits(expr):
            interval = self.intervals.held(interval, ctype)
        return self._known(interval, expr, env)

    def _fits(self, expr: Expr) -> bool:
        """The range of an expression is that of its value: nothing can have been lost in a conversion, or wrapped."""
        if isinstance(expr, Cast):
            return includes(expr.ctype, self.type_of(expr.operand))
        if isinstance(expr, Conditional):
            return all(includes(expr.ctype, self.type_of(e)) for e in (expr.then, expr.orelse))
        return isinstance(expr, Literal | Read)

    def _plain(self, expr: Expr, env: State) -> Interval:
        if isinstance(expr, Literal):
            return self._literal(expr)
        if isinstance(expr, Name):
            return self._atom(expr.name, env)
        if isinstance(expr, Cast):
            if integer(self.type_of(expr.operand)) is None:
                return ANY
            if expr.ctype in ("_Bool", "bool"):
                return self.intervals.truth()
            return self.range_of(expr.operand, env)
        if isinstance(expr, Unary):
            if expr.op == "!":
                return self.intervals.truth()
            inner = self.range_of(expr.operand, env)
            if expr.op == "+":
                return inner
            negated = self.intervals.times(-1, inner)
            return negated if expr.op == "-" else self.intervals.shifted(negated, -1)
        if isinstance(expr, Conditional):
            parts = []
            for branch, holds in ((expr.then, True), (expr.orelse, False)):
                inner_env = env.copy()
                self.assume(expr.condition, holds, inner_env)
                parts.append(self.range_of(branch, inner_env))
            return self.intervals.join(*parts)
        if isinstance(expr, Binary):
            return self._binary(expr, env)
        if isinstance(expr, Read):
            return self._read(expr, env)
        return ANY

    def _literal(self, expr: Literal) -> Interval:
        try:
            value = int(expr.text.rstrip("uUlL"), 0)
        except ValueError:
            return ANY
        if not -(1 << 63) < value < (1 << 63) - 1:
            return ANY
        return self.intervals.constant(value)

    def _binary(self, expr: Binary, env: State) -> Interval:
        if expr.op in _NEGATED or expr.op in ("&&", "||"):
            return self.intervals.truth()
        left, right = self.range_of(expr.left, env), self.range_of(expr.right, env)
        ctype = integer(expr.ctype)
        wide = ctype is not None and ctype.bits == 64 and not ctype.signed
        constant = constant_of(expr.right)
        if expr.op == "+":
            return self.intervals.combined("sum", left, right)
        if expr.op == "-":
            return self.intervals.combined("sum", left, self.intervals.times(-1, right))
        if expr.op == "*":
            return self.intervals.combined("product", left, right)
        if expr.op == "<<" and constant is not None and 0 <= constant < 62:
            return self.intervals.times(1 << constant, left)
        if expr.op not in ("/", "%", ">>", "&"):
            return ANY
        # Both operands as the values that C has after its conversions, not as congruent numbers.
        left, right = self._converted(expr.left, left, ctype), self._converted(expr.right, right, ctype)
        if wide:
            left, right = map(self.intervals.natural, (left, right))
        if expr.op == "%" and not right.is_vague:
            return self.intervals.remainder(left, right)
        if expr.op == "&":
            masks = [c for c in (constant_of(expr.left), constant) if c is not None and c >= 0]
            return self.intervals.between("0", str(min(masks))) if masks else ANY
        if expr.op == "/" and constant is None:
            return self.intervals.combined("ratio", left, right)
        if constant is None or left.is_vague or not 0 <= constant < 1 << 62:
            return ANY
        if expr.op == "/" and constant > 0:
            return self.intervals.over(left, constant, floored=False)
        if expr.op == ">>" and constant < 62:
            return self.intervals.over(left, 1 << constant, floored=True)
        return ANY

    def _converted(self, operand: Expr, interval: Interval, ctype: ScalarType | None) -> Interval:
        """The range of an operand after the conversion to the type of the operation."""
        if ctype is None or interval.is_vague or includes(ctype.name, self.type_of(operand)):
            return interval
        return self.intervals.held(interval, ctype)

    def affine(self, affine: Affine, env: State) -> Interval:
        self.spend()
        total = None
        for atom, coefficient in affine.terms:
            if isinstance(atom, FloorDiv):
                interval = self.intervals.over(self.affine(atom.numerator, env), atom.denominator, floored=True)
            else:
                interval = self._atom(atom, env)
            interval = self.intervals.times(coefficient, interval)
            total = interval if total is None else self.intervals.combined("sum", total, interval)
        if total is None:
            return self.intervals.constant(affine.const)
        return self.intervals.shifted(total, affine.const)

    def _atom(self, name: str, env: State) -> Interval:
        """An iterator or a parameter."""
        if name in env.iterators:
            interval = env.iterators[name]
        elif name in self.parameters:
            return self.intervals.exactly(Affine.of(name))
        else:
            return ANY
        for fact in list(env.facts):
            if isinstance(fact.key, Name) and fact.key.name == name:
                return self._known(interval, fact.key, env)
        return interval

    def _read(self, expr: Read, env: State) -> Interval:
        array = self.arrays[expr.access.array]
        ctype = integer(array.ctype)
        assert ctype is not None
        if array.name in env.defined:
            return self.range_of(env.defined[array.name], env)
        if array.name in env.values:
            return env.values[array.name]
        if array.name in self.written:
            return NONE if tracked(array) else ANY  # of what was not set nothing is read
        parameter = self._parameter(expr.access)
        if parameter is not None:
            return self._atom(parameter, env)
        if array.rows or array.members or array.storage is Storage.PRIVATE:
            return ANY
        touched = self.elements.touched(expr.access, env.statements)
        if ctype.name == PLAIN:
            return self.intervals.held(ANY, ctype)
        if not array.shape:
            return self._number(array, touched)
        if len(array.shape) != 1:
            return ANY
        base = f"({array.base or array.name})"
        (subscript,) = expr.access.subscripts
        if touched is not None and self.elements.scannable(array, touched):
            return self.intervals.elements("found", base, self.elements.span_of(touched), width_of(ctype))
        if isinstance(subscript, Affine) and self.elements.is_covered(
            subscript, expr.access, env.statements, env.covered
        ):
            return self.intervals.elements("found", base, self.affine(subscript, env), width_of(ctype))
        return ANY

    def _number(self, array: Array, touched: isl.Set | None) -> Interval:
        """The value of a number outside of the nest that does not change in it."""
        certain = self.elements.certainly(array)
        if array.storage is not Storage.GLOBAL and (touched is None or certain is None):
            return ANY
        condition = (
            None if certain is None or array.storage is Storage.GLOBAL else self.elements.holds(certain.params())
        )
        value = f"(long)({array.base or array.name})"
        return self.intervals.between_if(condition, value, value, ANY)

    def spend(self) -> None:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise CodegenUnsupported("the subscripts are too long to be bounded")
