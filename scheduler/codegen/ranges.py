"""Ranges of subscripts that are not affine, computed when the code runs: interval arithmetic over what is known there.

What `a[(c * h + i * stride) * w + j]` or `x[col[k]]` reaches is bounded by the ranges of the iterators, by the values
of numbers that the nest does not change, and by the conditions under which it is reached (Moore, Interval Analysis,
1966; Cousot & Cousot, Abstract interpretation, POPL 1977). The C functions of `ranges_text` compute with ranges that
may be open: what overflows or is not known is any number, of which no test succeeds. Ranges of unsigned numbers of 64
bits hold a number that is congruent to the value.

Elements of arrays of integers are looked at beforehand (an inspector, Saltz et al., 1991) where the nest reads them for
certain, or the array is declared in full.

Long, because it follows every kind of node of the IR.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import islpy as isl

from scheduler.codegen.expr import Printer
from scheduler.codegen.inspected import NONE, Elements, box_of, extremes
from scheduler.codegen.nodes import IntExpr
from scheduler.codegen.range_types import (
    PLAIN,
    common_type,
    constant_of,
    includes,
    integer,
    limits,
    mentioned,
    step_of,
    tracked,
    width_of,
)
from scheduler.errors import CodegenUnsupported
from scheduler.ir.affine import Affine, FloorDiv
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
    Literal,
    Loop,
    LoopNest,
    Name,
    Node,
    Predicate,
    Read,
    Statement,
    Storage,
    Subscript,
    Unary,
)
from scheduler.ir.types import ScalarType
from scheduler.ir.walk import assignments, children, expression_names, reads
from scheduler.polyhedral.model import Model

ANY = "pe_between(pe_lo, pe_hi)"
_NAMES = re.compile(r"\bpe_[qs]\d+_")
_RANGE, _SPAN = "struct pe_range", "struct pe_span"
_WIDEST = 90  # characters of a value that stands where it is used
_MOST_STEPS = 4000  # expressions that are looked at for one nest
_NEGATED = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}


@dataclass(frozen=True, slots=True)
class _Fact:
    """`key op` some number of a range, in a type of 64 bits without a sign or in one that holds both numbers."""

    key: Expr
    op: str
    bound: str
    unsigned: bool


@dataclass(slots=True)
class _Env:
    """What is known at a point of the nest. `values`: ranges of scalars; `defined`: what they were last set to."""

    values: dict[str, str] = field(default_factory=dict)
    defined: dict[str, Expr] = field(default_factory=dict)
    facts: list[_Fact] = field(default_factory=list)
    iterators: dict[str, str] = field(default_factory=dict)
    covered: dict[str, isl.Set] = field(default_factory=dict)  # loops that run for every number of their range
    statements: tuple[str, ...] = ()  # whose accesses are looked at

    def copy(self) -> _Env:
        return _Env(
            dict(self.values),
            dict(self.defined),
            list(self.facts),
            dict(self.iterators),
            dict(self.covered),
            self.statements,
        )


class Ranges:
    """The declarations in C that the test of a nest needs, as far as ranges were asked for.

    `bound` gives a value for a piecewise affine expression, `holds` for a condition (None: it always holds).
    """

    def __init__(
        self,
        nest: LoopNest,
        model: Model,
        printer: Printer,
        bound: Callable[[isl.PwAff], IntExpr],
        holds: Callable[[isl.Set], IntExpr | None],
    ) -> None:
        self.nest, self.model, self.printer = nest, model, printer
        self.bound, self.holds = bound, holds
        self.arrays = {a.name: a for a in nest.arrays}
        self.parameters = {p.name: p for p in nest.parameters}
        self.by_base = {p.base: p for p in nest.parameters if p.base is not None}
        self.by_base |= {p.name: p for p in nest.parameters if p.base is None}
        self.written = {u.access.array for s in model.placed for u in model.uses(s) if u.is_write}
        self._declared: dict[tuple[str, str], str] = {}  # type and text of a value -> its name
        self._open: dict[str, tuple[bool, bool]] = {ANY: (True, True)}  # the ends of ranges that are not known
        self._steps = 0
        self.elements = Elements(model, printer, bound, holds)
        self._wanted = ""
        self._found: list[str] = []
        self._spans: dict[str, str] = {}

    # ------------------------------------------------------------------------------------ results

    def span(self, array: Array) -> str:
        """The name of what holds the first byte that is accessed of an array, and the end.

        Raises CodegenUnsupported where there is no bound.
        """
        if array.name not in self._spans:
            if array.rows or not array.shape:
                raise CodegenUnsupported(f"the accesses of {array.name} are not at numbered elements")
            self._wanted, self._found = array.name, []
            self._nodes(self.nest.body, _Env())
            total = NONE
            for text in dict.fromkeys(self._found):
                total = self._joined(total, text)
            if self._vague(total):
                raise CodegenUnsupported(f"nothing is known of the elements of {array.name}")
            base = f"({array.base or array.name})"
            text = f"pe_spanned({base}, {total}, (long)sizeof *{base})"
            self._spans[array.name] = self._value(text, _SPAN)
        return self._spans[array.name]

    def declarations(self) -> str:
        """C declarations of everything that the spans are made of, in order; what is used once stands in its place."""
        uses = Counter(name for _, text in self._needed() for name in _NAMES.findall(text))
        texts: dict[str, str] = {}
        lines = []
        for kind, text in self._needed():
            name = self._declared[kind, text]
            whole = _NAMES.sub(lambda found: texts.get(found.group(), found.group()), text)
            if kind == _RANGE and (uses[name] == 1 or text.startswith("pe_between(")) and len(whole) < _WIDEST:
                texts[name] = f"({whole})" if "?" in whole else whole
            else:
                lines.append(f"const {kind} {name} = {whole};\n")
        return "".join(lines)

    def _needed(self) -> list[tuple[str, str]]:
        """Types and texts of the values that are needed, each behind what it is made of."""
        needed = set(self._spans.values())
        kept = []
        for key, name in reversed(self._declared.items()):
            if name in needed:
                kept.append(key)
                needed.update(_NAMES.findall(key[1]))
        return kept[::-1]

    def _value(self, text: str, kind: str = _RANGE) -> str:
        """The name of a declared value."""
        key = (kind, text)
        if key not in self._declared:
            self._declared[key] = f"pe_{'s' if kind == _SPAN else 'q'}{len(self._declared)}_"
        return self._declared[key]

    def _spend(self) -> None:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise CodegenUnsupported("the subscripts are too long to be bounded")

    # -------------------------------------------------------------------------------------- nodes

    def _nodes(self, nodes: tuple[Node, ...], env: _Env) -> None:
        for node in nodes:
            if isinstance(node, Loop):
                self._loop(node, env)
            elif isinstance(node, Predicate):
                env.statements = _statements(node.body)
                self._note(node.condition, env)
                inner = env.copy()
                self._assume(node.condition, True, inner)
                self._nodes(node.body, inner)
                self._join(env, inner)
            elif isinstance(node, Guard):
                inner = env.copy()
                self._nodes(node.body, inner)
                self._join(env, inner)
            else:
                self._statement(node, env)

    def _loop(self, loop: Loop, env: _Env) -> None:
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

    def _iterated(self, loop: Loop, env: _Env, inner: _Env) -> str:
        """The range of a loop's iterator."""
        rows = self._rows(loop, env)
        if rows is not None:
            text, touched = rows
            inner.covered[loop.name] = touched
            return text
        first, last = (loop.start, loop.stop) if loop.step > 0 else (loop.stop, loop.start)
        shift = 0 if loop.step > 0 else 1  # `stop` is exclusive
        low, high = self._end(loop, first, shift, env), self._end(loop, last, shift - 1, env)
        text = self._value(f"pe_between({low}.pe_low, {high}.pe_high)")
        self._open[text] = self._ends(low)[0], self._ends(high)[1]
        ctype = integer(loop.ctype)
        return text if ctype is None else self._held(text, ctype)

    def _end(self, loop: Loop, end: Bound, shift: int, env: _Env) -> str:
        """A range of which one end bounds the iterator."""
        if isinstance(end, tuple):
            return self._affine(end[0] + shift, env)  # others only make it narrower
        kinds = [integer(loop.ctype), integer(self._type(end))]
        text = self._range(end, env)
        if text != NONE and not self._vague(text) and any(kind is None or not kind.signed for kind in kinds):
            text = self._value(f"pe_natural({text})")  # of others C makes large numbers
        return self._moved(text, shift)

    def _rows(self, loop: Loop, env: _Env) -> tuple[str, isl.Set] | None:
        """Of `for (k = r[i]; k < r[i + 1]; k++)` in a loop over i: all numbers between the ends, if they rise."""
        ends = [None if isinstance(e, tuple) else self._definition(e, env) for e in (loop.start, loop.stop)]
        first, last = ends
        if loop.step != 1 or not isinstance(first, Read) or not isinstance(last, Read) or env.covered:
            return None
        array = self.arrays[first.access.array]
        ctype = integer(array.ctype)
        if array.name != last.access.array or array.name in self.written or len(array.shape) != 1:
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
        place = self._value(self.elements.span_of(touched.union(beyond)))
        base = f"({array.base or array.name})"
        return self._value(f"pe_rising({base}, {place}, {width_of(ctype)})"), touched

    def _statement(self, statement: Statement, env: _Env) -> None:
        env.statements = (statement.name,)
        inner = env.copy()
        domain = self.model.domain(statement.name, "unbounded")
        for k, iterator in enumerate(self.model.iterators(statement.name)):
            ends = extremes(domain, k)
            if ends is not None:
                inner.iterators[iterator] = self._between(*map(self.bound, ends))
        self._actions(statement.body, inner, statement.name)
        for name in ("values", "defined", "facts"):
            setattr(env, name, getattr(inner, name))

    def _actions(self, actions: tuple[Action, ...], env: _Env, statement: str) -> None:
        for action in actions:
            if isinstance(action, Assign):
                self._assign(action, env)
                continue
            if action.flow == "while":
                self._widen(action.then, env, frozenset())
                self._note(action.condition, env)
                inner = env.copy()
                self._assume(action.condition, True, inner)
                self._actions(action.then, inner, statement)
                continue
            self._note(action.condition, env)
            then, orelse = env.copy(), env.copy()
            self._assume(action.condition, True, then)
            self._actions(action.then, then, statement)
            self._assume(action.condition, False, orelse)
            self._actions(action.orelse, orelse, statement)
            if action.flow != "break":
                self._join(orelse, then)
            env.values, env.defined, env.facts = orelse.values, orelse.defined, orelse.facts

    def _assign(self, action: Assign, env: _Env) -> None:
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
            value = Binary(operator, old, action.value, common_type(array.ctype, self._type(action.value)))
        text = self._range(Cast(array.ctype, value), env) if kept else ""
        self._forget(name, env)
        if kept:
            env.values[name] = text
            if name not in {u.access.array for u in reads(value)} and self._same(value, array.ctype):
                env.defined[name] = value

    def _same(self, value: Expr, ctype: str) -> bool:
        """The conversion to the type of a variable changes no value that the expression may have."""
        return includes(ctype, self._type(value))

    @staticmethod
    def _forget(name: str, env: _Env) -> None:
        env.facts = [f for f in env.facts if name not in mentioned(f.key)]
        env.defined = {k: e for k, e in env.defined.items() if k != name and name not in mentioned(e)}

    def _widen(self, actions: tuple[Action, ...], env: _Env, own: frozenset[str]) -> None:
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
            low, high = limits(array.ctype)
            entry = env.values.get(name, ANY)
            ends = (f"{entry}.pe_low" if up else low, f"{entry}.pe_high" if down else high)
            text = env.values[name] = self._value(f"pe_between({ends[0]}, {ends[1]})")
            least, most = self._ends(entry)
            known = ctype is not None and ctype.bits < 32
            self._open[text] = (not known and (not up or least), not known and (not down or most))

    def _join(self, env: _Env, other: _Env) -> None:
        """What holds at the end of one of two ways."""
        for name, text in other.values.items():
            mine = env.values.get(name)
            env.values[name] = text if mine is None else self._joined(mine, text)
        env.defined = {k: e for k, e in env.defined.items() if other.defined.get(k) == e}
        env.facts = [f for f in env.facts if f in other.facts]

    # ------------------------------------------------------------------------------------ accesses

    def _note(self, expr: Expr, env: _Env) -> None:
        """The accesses in an expression, each under the conditions that hold there."""
        self._spend()
        if isinstance(expr, Read):
            self._access(expr.access, env)
        elif isinstance(expr, Conditional):
            self._note(expr.condition, env)
            for branch, holds in ((expr.then, True), (expr.orelse, False)):
                inner = env.copy()
                self._assume(expr.condition, holds, inner)
                self._note(branch, inner)
        elif isinstance(expr, Binary) and expr.op in ("&&", "||"):
            self._note(expr.left, env)
            inner = env.copy()
            self._assume(expr.left, expr.op == "&&", inner)
            self._note(expr.right, inner)
        else:
            for child in children(expr):
                self._note(child, env)

    def _access(self, access: Access, env: _Env) -> None:
        for subscript in access.subscripts:
            if not isinstance(subscript, Affine):
                self._note(subscript, env)
        if access.array == self._wanted:
            self._found.append(self._linear(access, env))

    def _linear(self, access: Access, env: _Env) -> str:
        """The range of the number of the element, counted in what the base points to."""
        array = self.arrays[access.array]
        total = self._subscript(access.subscripts[0], env)
        if not array.flat:
            return total
        inner = len(array.shape) - bool(array.members)  # the last one is a place in the structure
        for extent, subscript in zip(array.shape[1:inner], access.subscripts[1:inner], strict=True):
            if extent is None:
                return ANY
            scaled = self._combined("product", total, self._affine(extent, env))
            total = self._combined("sum", scaled, self._subscript(subscript, env))
        return total

    def _subscript(self, subscript: Subscript, env: _Env) -> str:
        return self._affine(subscript, env) if isinstance(subscript, Affine) else self._range(subscript, env)

    # ---------------------------------------------------------------------------------- conditions

    def _assume(self, condition: Expr, holds: bool, env: _Env) -> None:
        """Adds what follows from a condition."""
        if isinstance(condition, Unary) and condition.op == "!":
            self._assume(condition.operand, not holds, env)
        elif isinstance(condition, Cast) and integer(condition.ctype) and integer(self._type(condition.operand)):
            if includes(condition.ctype, self._type(condition.operand)):
                self._assume(condition.operand, holds, env)
        elif isinstance(condition, Binary) and condition.op in ("&&", "||"):
            if (condition.op == "&&") == holds:
                self._assume(condition.left, holds, env)
                self._assume(condition.right, holds, env)
        elif isinstance(condition, Binary) and condition.op in _NEGATED:
            self._compare(condition, condition.op if holds else _NEGATED[condition.op], env)

    def _compare(self, condition: Binary, op: str, env: _Env) -> None:
        sides = (condition.left, condition.right)
        types = [integer(self._type(side)) for side in sides]
        if op == "!=" or None in types:
            return
        common = integer(common_type(self._type(sides[0]), self._type(sides[1])))
        if common is None:
            return
        if not common.signed and common.bits < 64:
            for side, ctype in zip(sides, types, strict=True):
                if ctype is None or (ctype.signed and (constant_of(side) or -1) < 0):
                    return  # negative numbers would be converted
        unsigned = not common.signed and common.bits == 64
        ranges = [self._range(side, env) for side in sides]
        new = []
        for side, bound, way in ((sides[0], ranges[1], op), (sides[1], ranges[0], _MIRRORED[op])):
            key = self._canonical(side)
            fixed = isinstance(key, Literal) or (isinstance(key, Name) and key.name in self.parameters)
            if not fixed and self._ends(bound) != (True, True):
                new.append(_Fact(key, way, bound, unsigned))
        env.facts += [fact for fact in new if fact not in env.facts]
        for fact in new:  # what is known of a number goes with it where ways meet
            if isinstance(fact.key, Read) and fact.key.access.array in env.values:
                env.values[fact.key.access.array] = self._range(fact.key, env)

    def _known(self, text: str, key: Expr, env: _Env) -> str:
        """The range of an expression with what conditions say of it."""
        key = self._canonical(key)
        for fact in env.facts:
            if fact.key == key:
                u, (low, high), bound = int(fact.unsigned), self._ends(text), self._ends(fact.bound)
                if fact.op in ("<", "<=", "==") and not bound[1]:
                    text = self._value(f"pe_below({text}, {fact.bound}, {int(fact.op == '<')}, {u})")
                    low, high = low and not fact.unsigned, False
                    self._open[text] = low, high
                if fact.op in (">", ">=", "==") and not bound[0]:
                    text = self._value(f"pe_above({text}, {fact.bound}, {int(fact.op == '>')}, {u})")
                    self._open[text] = False, high
        return text

    def _ends(self, text: str) -> tuple[bool, bool]:
        """Whether the low and the high end of a range are known to be open."""
        return self._open.get(text, (False, False))

    def _vague(self, text: str) -> bool:
        return any(self._ends(text))

    def _joined(self, first: str, second: str) -> str:
        if first == second or NONE in (first, second):
            return second if first == NONE else first
        text = self._value(f"pe_join({first}, {second})")
        a, b = self._ends(first), self._ends(second)
        self._open[text] = (a[0] or b[0], a[1] or b[1])
        return text

    def _canonical(self, expr: Expr) -> Expr:
        """Without conversions that change no value, or only to a congruent one; parameters by their names."""
        if isinstance(expr, Cast) and (operand := integer(self._type(expr.operand))) is not None:
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

    # --------------------------------------------------------------------------------- expressions

    def _type(self, expr: Expr) -> str:
        return self.arrays[expr.access.array].ctype if isinstance(expr, Read) else expr.ctype

    def _definition(self, expr: Expr, env: _Env) -> Expr:
        while isinstance(expr, Read) and expr.access.array in env.defined:
            expr = env.defined[expr.access.array]
        return self._canonical(expr)

    def _range(self, expr: Expr, env: _Env) -> str:
        """A range with the value of an integer expression."""
        self._spend()
        ctype = integer(self._type(expr))
        if ctype is None:
            return ANY
        text = self._plain(expr, env)
        if isinstance(expr, Name):
            return text
        if not self._fits(expr):
            text = self._held(text, ctype)
        return self._known(text, expr, env)

    def _fits(self, expr: Expr) -> bool:
        """The range of an expression is that of its value: nothing can have been lost in a conversion, or wrapped."""
        if isinstance(expr, Cast):
            return includes(expr.ctype, self._type(expr.operand))
        if isinstance(expr, Conditional):
            return all(includes(expr.ctype, self._type(e)) for e in (expr.then, expr.orelse))
        return isinstance(expr, Literal | Read)

    def _held(self, text: str, ctype: ScalarType) -> str:
        if ctype.bits == 64 or text == NONE:
            return text
        low, high = limits(ctype.name)
        if not self._vague(text) and ctype.name != PLAIN:
            return self._value(f"pe_held({text}, {low}, {high})")
        text = self._value(f"pe_between({low}, {high})")
        self._open[text] = (ctype.signed and ctype.bits >= 32, ctype.bits >= 32)
        return text

    def _plain(self, expr: Expr, env: _Env) -> str:
        if isinstance(expr, Literal):
            return self._literal(expr)
        if isinstance(expr, Name):
            return self._atom(expr.name, env)
        if isinstance(expr, Cast):
            if integer(self._type(expr.operand)) is None:
                return ANY
            if expr.ctype in ("_Bool", "bool"):
                return self._value("pe_between(0, 1)")
            return self._range(expr.operand, env)
        if isinstance(expr, Unary):
            if expr.op == "!":
                return self._value("pe_between(0, 1)")
            inner = self._range(expr.operand, env)
            if expr.op == "+":
                return inner
            negated = self._times(-1, inner)
            return negated if expr.op == "-" else self._moved(negated, -1)
        if isinstance(expr, Conditional):
            parts = []
            for branch, holds in ((expr.then, True), (expr.orelse, False)):
                inner_env = env.copy()
                self._assume(expr.condition, holds, inner_env)
                parts.append(self._range(branch, inner_env))
            return self._joined(*parts)
        if isinstance(expr, Binary):
            return self._binary(expr, env)
        if isinstance(expr, Read):
            return self._read(expr, env)
        return ANY

    def _literal(self, expr: Literal) -> str:
        try:
            value = int(expr.text.rstrip("uUlL"), 0)
        except ValueError:
            return ANY
        if not -(1 << 63) < value < (1 << 63) - 1:
            return ANY
        return self._value(f"pe_between({value}, {value})")

    def _binary(self, expr: Binary, env: _Env) -> str:
        if expr.op in _NEGATED or expr.op in ("&&", "||"):
            return self._value("pe_between(0, 1)")
        left, right = self._range(expr.left, env), self._range(expr.right, env)
        ctype = integer(expr.ctype)
        wide = ctype is not None and ctype.bits == 64 and not ctype.signed
        constant = constant_of(expr.right)
        if expr.op == "+":
            return self._combined("sum", left, right)
        if expr.op == "-":
            return self._combined("sum", left, self._times(-1, right))
        if expr.op == "*":
            return self._combined("product", left, right)
        if expr.op == "<<" and constant is not None and 0 <= constant < 62:
            return self._times(1 << constant, left)
        if expr.op not in ("/", "%", ">>", "&"):
            return ANY
        # Both operands as the values that C has after its conversions, not as congruent numbers.
        left, right = self._converted(expr.left, left, ctype), self._converted(expr.right, right, ctype)
        if wide:
            left, right = (t if self._vague(t) or t == NONE else self._value(f"pe_natural({t})") for t in (left, right))
        if expr.op == "%" and not self._vague(right):
            return self._value(f"pe_rest({left}, {right})")
        if expr.op == "&":
            masks = [c for c in (constant_of(expr.left), constant) if c is not None and c >= 0]
            return self._value(f"pe_between(0, {min(masks)})") if masks else ANY
        if expr.op == "/" and constant is None and not self._vague(left) and not self._vague(right):
            return self._value(f"pe_ratio({left}, {right})")
        if constant is None or self._vague(left) or not 0 <= constant < 1 << 62:
            return ANY
        if expr.op == "/" and constant > 0:
            return self._value(f"pe_over({left}, {constant}, 0)")
        if expr.op == ">>" and constant < 62:
            return self._value(f"pe_over({left}, {1 << constant}, 1)")
        return ANY

    def _converted(self, operand: Expr, text: str, ctype: ScalarType | None) -> str:
        """The range of an operand after the conversion to the type of the operation."""
        if ctype is None or self._vague(text) or includes(ctype.name, self._type(operand)):
            return text
        return self._held(text, ctype)

    def _combined(self, function: str, left: str, right: str) -> str:
        if self._vague(left) or self._vague(right):
            return ANY
        return self._value(f"pe_{function}({left}, {right})")

    def _times(self, factor: int, text: str) -> str:
        return ANY if self._vague(text) else text if factor == 1 else self._value(f"pe_times({factor}, {text})")

    def _moved(self, text: str, shift: int) -> str:
        if not shift or self._vague(text):
            return ANY if shift else text
        by = self._value(f"pe_between({shift}, {shift})")
        return self._value(f"pe_sum({text}, {by})")

    def _between(self, low: IntExpr, high: IntExpr) -> str:
        return self._value(f"pe_between({self.printer.integer(low)[0]}, {self.printer.integer(high)[0]})")

    def _affine(self, affine: Affine, env: _Env) -> str:
        self._spend()
        total = None
        for atom, coefficient in affine.terms:
            if isinstance(atom, FloorDiv):
                inner = self._affine(atom.numerator, env)
                text = ANY if self._vague(inner) else self._value(f"pe_over({inner}, {atom.denominator}, 1)")
            else:
                text = self._atom(atom, env)
            text = self._times(coefficient, text)
            total = text if total is None else self._combined("sum", total, text)
        if total is None:
            return self._value(f"pe_between({affine.const}, {affine.const})")
        return self._moved(total, affine.const)

    def _atom(self, name: str, env: _Env) -> str:
        """An iterator or a parameter."""
        if name in env.iterators:
            text = env.iterators[name]
        elif name in self.parameters:
            value = self.printer.integer(Affine.of(name))[0]
            return self._value(f"pe_between({value}, {value})")
        else:
            return ANY
        for fact in list(env.facts):
            if isinstance(fact.key, Name) and fact.key.name == name:
                return self._known(text, fact.key, env)
        return text

    # ----------------------------------------------------------------------------------- elements

    def _read(self, expr: Read, env: _Env) -> str:
        array = self.arrays[expr.access.array]
        ctype = integer(array.ctype)
        assert ctype is not None
        if array.name in env.defined:
            return self._range(env.defined[array.name], env)
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
            return self._held(ANY, ctype)
        if not array.shape:
            return self._number(array, touched)
        if len(array.shape) != 1:
            return ANY
        base = f"({array.base or array.name})"
        (subscript,) = expr.access.subscripts
        if touched is not None and self.elements.scannable(array, touched):
            return self._value(f"pe_found({base}, {self._value(self.elements.span_of(touched))}, {width_of(ctype)})")
        if isinstance(subscript, Affine) and self.elements.is_covered(
            subscript, expr.access, env.statements, env.covered
        ):
            return self._value(f"pe_found({base}, {self._affine(subscript, env)}, {width_of(ctype)})")
        return ANY

    def _number(self, array: Array, touched: isl.Set | None) -> str:
        """The value of a number outside of the nest that does not change in it."""
        certain = self.elements.certainly(array)
        if array.storage is not Storage.GLOBAL and (touched is None or certain is None):
            return ANY
        condition = None if certain is None or array.storage is Storage.GLOBAL else self.holds(certain.params())
        text = f"pe_between((long)({array.base or array.name}), (long)({array.base or array.name}))"
        return self._value(text if condition is None else f"{self.elements.when(condition)} ? {text} : {ANY}")


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
