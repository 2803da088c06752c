"""The text form of a nest: what `perfembed inspect` shows and the database stores.

`parse_nest` (in `text_parser`) is the exact inverse of `format_nest`, except for spans, which are not
written. An expression carries its type as `e@type` only where C's rules do not give that type.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import replace

from scheduler.errors import TextError
from scheduler.ir.affine import IDENTIFIER, Affine
from scheduler.ir.nest import (
    Access,
    Action,
    Array,
    Assign,
    Binary,
    Bound,
    Call,
    Cast,
    Constraint,
    Expr,
    Guard,
    Literal,
    Loop,
    LoopNest,
    Name,
    Node,
    Parameter,
    Predicate,
    Read,
    Statement,
    Storage,
    Unary,
)
from scheduler.ir.text_expressions import MAX_DEPTH, POSTFIX, PRECEDENCE, TERNARY, UNARY
from scheduler.ir.text_parser import parse_nest
from scheduler.ir.types import FUNCTIONS, binary_type, common_type, literal_type, scalar_type, unary_type

__all__ = ["canonical_form", "format_expr", "format_nest", "nest_id", "parse_nest", "without_spans"]


def format_nest(nest: LoopNest) -> str:
    """Raises TextError for a nest the text form cannot hold (an unknown C type, more than MAX_DEPTH levels)."""
    return _Writer(nest, canonical=False).nest()


def nest_id(nest: LoopNest) -> str:
    """16 hex digits: equal for nests that differ only in names, spans and parameter values."""
    return hashlib.sha256(canonical_form(nest)[0].encode()).hexdigest()[:16]


def canonical_form(nest: LoopNest) -> tuple[str, dict[tuple[str, str], str]]:
    """(the text under canonical names, without title, values and ranges; those names by kind L, A, P or S and name)."""
    writer = _Writer(nest, canonical=True)
    text = writer.nest()
    return text, dict(writer.given)


def format_expr(nest: LoopNest, expr: Expr) -> str:
    """An expression of the nest as the text form shows it, for messages."""
    writer = _Writer(nest, canonical=False)
    return writer.expr(expr, 0, 0)


def without_spans(nest: LoopNest) -> LoopNest:
    """The nest as `parse_nest(format_nest(nest))` gives it back."""

    def strip(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        result: list[Node] = []
        for node in nodes:
            if isinstance(node, Statement):
                result.append(replace(node, span=None))
            elif isinstance(node, Loop):
                result.append(replace(node, span=None, body=strip(node.body)))
            else:
                result.append(replace(node, body=strip(node.body)))
        return tuple(result)

    return replace(nest, span=None, body=strip(nest.body))


class _Writer:
    """Writes one nest. With `canonical`, names become L0, A0, P0, S0, … in the order they are met."""

    def __init__(self, nest: LoopNest, canonical: bool) -> None:
        self.source = nest
        self.canonical = canonical
        self.arrays = {a.name: a for a in nest.arrays}
        self.parameters = {p.name: p for p in nest.parameters}
        self.declared = {name: place for place, name in enumerate(self.parameters)}
        self.scope: dict[str, str] = {p.name: p.ctype for p in nest.parameters}
        self.given: dict[tuple[str, str], str] = {}

    # ------------------------------------------------------------------------------------ names

    def name(self, kind: str, name: str) -> str:
        if self.canonical:
            if (kind, name) not in self.given:
                self.given[kind, name] = f"{kind}{sum(k == kind for k, _ in self.given)}"
            return self.given[kind, name]
        if not IDENTIFIER.fullmatch(name):
            raise TextError(f"nest {self.source.name!r}: {name!r} is not an identifier")
        return name

    def variable(self, name: str) -> str:
        return self.name("P" if name in self.parameters else "L", name)

    def ctype(self, ctype: str) -> str:
        if scalar_type(ctype) is None:
            raise TextError(f"nest {self.source.name!r}: unknown C type {ctype!r}")
        return ctype

    # ------------------------------------------------------------------------- affine expressions

    def affine(self, affine: Affine) -> str:
        if not self.canonical:
            return str(affine)
        for name in sorted(affine.names(), key=lambda n: (self.declared.get(n, -1), n)):
            self.variable(name)
        return str(affine.substitute({n: Affine.of(self.variable(n)) for n in affine.names()}))

    def constraint(self, constraint: Constraint) -> str:
        text = self.affine(constraint.affine)
        if constraint.kind == "mod":
            return f"({text}) % {constraint.modulus} == 0"
        return f"{text} {constraint.kind} 0"

    def bound(self, bound: Bound, of_many: str, depth: int) -> str:
        if not isinstance(bound, tuple):
            return f"opaque({self.expr(bound, 0, depth)})"
        texts = [self.affine(a) for a in bound]
        if not texts:
            raise TextError(f"nest {self.source.name!r}: a loop bound without expressions")
        return texts[0] if len(texts) == 1 else f"{of_many}({', '.join(texts)})"

    # -------------------------------------------------------------------------------- expressions

    def access(self, access: Access, depth: int) -> str:
        if access.array not in self.arrays:
            raise TextError(f"nest {self.source.name!r}: access to {access.array!r}, which is not declared")
        text = self.name("A", access.array)
        for subscript in access.subscripts:
            if isinstance(subscript, Affine):
                text += f"[{self.affine(subscript)}]"
            else:
                text += f"[opaque({self.expr(subscript, 0, depth + 1)})]"
        return text

    def expr(self, expr: Expr, least: int, depth: int) -> str:
        """`least`: the weakest precedence that may stand here without parentheses."""
        if depth > MAX_DEPTH:
            raise TextError(f"nest {self.source.name!r}: more than {MAX_DEPTH} levels")
        text, precedence, derived = self.bare(expr, depth + 1)
        ctype = self.ctype(expr.ctype)
        if derived != ctype:
            text, precedence = f"({text})@{ctype}" if precedence < POSTFIX else f"{text}@{ctype}", POSTFIX
        return f"({text})" if precedence < least else text

    def bare(self, expr: Expr, depth: int) -> tuple[str, int, str | None]:
        """Text without the type annotation, precedence, and the type C's rules give."""
        if isinstance(expr, Literal):
            derived = literal_type(expr.text)
            if derived is None and (len(expr.text) > 64 or not expr.text.isprintable()):
                raise TextError(f"nest {self.source.name!r}: literal {expr.text[:70]!r}")
            return (json.dumps(expr.text) if derived is None else expr.text), POSTFIX, derived
        if isinstance(expr, Name):
            escape = "$" if expr.name in self.arrays and not self.canonical else ""
            return escape + self.variable(expr.name), POSTFIX, self.scope.get(expr.name)
        if isinstance(expr, Read):
            return self.access(expr.access, depth), POSTFIX, self.arrays[expr.access.array].ctype
        if isinstance(expr, Call):
            arguments = ", ".join(self.expr(a, 0, depth) for a in expr.arguments)
            if not IDENTIFIER.fullmatch(expr.function):
                raise TextError(f"nest {self.source.name!r}: function {expr.function!r}")
            known = FUNCTIONS.get(expr.function)
            return f"{expr.function}({arguments})", POSTFIX, known[1] if known else None
        if isinstance(expr, Cast):
            return f"({self.ctype(expr.ctype)}){self.expr(expr.operand, UNARY, depth)}", UNARY, expr.ctype
        if isinstance(expr, Unary):
            least = POSTFIX if isinstance(expr.operand, Unary) else UNARY
            operand = self.expr(expr.operand, least, depth)
            return expr.op + operand, UNARY, unary_type(expr.op, expr.operand.ctype)
        if isinstance(expr, Binary):
            if (own := PRECEDENCE.get(expr.op)) is None:
                raise TextError(f"nest {self.source.name!r}: operator {expr.op!r}")
            left, right = self.expr(expr.left, own, depth), self.expr(expr.right, own + 1, depth)
            return f"{left} {expr.op} {right}", own, binary_type(expr.op, expr.left.ctype, expr.right.ctype)
        condition = self.expr(expr.condition, TERNARY + 1, depth)
        then, orelse = self.expr(expr.then, TERNARY, depth), self.expr(expr.orelse, TERNARY, depth)
        return f"{condition} ? {then} : {orelse}", TERNARY, common_type(expr.then.ctype, expr.orelse.ctype)

    # ------------------------------------------------------------------------------------- nodes

    def action(self, action: Action, indent: str, depth: int) -> str:
        if isinstance(action, Assign):
            return f"{self.access(action.target, depth)} {action.op} {self.expr(action.value, 0, depth)};"
        word = "while" if action.flow == "while" else "if"
        text = f"{word} ({self.expr(action.condition, 0, depth)}) {self.actions(action.then, indent, depth)}"
        if action.flow in ("break", "exit"):
            return f"{text} {action.flow};"
        return f"{text} else {self.actions(action.orelse, indent, depth)}" if action.orelse else text

    def actions(self, actions: tuple[Action, ...], indent: str, depth: int) -> str:
        if depth > MAX_DEPTH:
            raise TextError(f"nest {self.source.name!r}: more than {MAX_DEPTH} levels")
        if not actions:
            return "{}"
        deeper = indent + "  "
        return "{\n" + "".join(f"{deeper}{self.action(a, deeper, depth + 1)}\n" for a in actions) + indent + "}"

    def node(self, node: Node, indent: str, depth: int) -> Iterable[str]:
        if depth > MAX_DEPTH:
            raise TextError(f"nest {self.source.name!r}: more than {MAX_DEPTH} levels")
        if isinstance(node, Statement):
            name = self.name("S", node.name)
            single = len(node.body) == 1
            text = self.action(node.body[0], indent, depth) if single else self.actions(node.body, indent, depth)
            yield f"{indent}{name}: {text}"
            return
        yield indent + self.header(node, depth)
        outer = self.scope
        if isinstance(node, Loop):
            self.scope = {**outer, node.name: node.ctype}
        for child in node.body:
            yield from self.node(child, indent + "  ", depth + 1)
        self.scope = outer
        yield indent + "}"

    def header(self, node: Loop | Guard | Predicate, depth: int) -> str:
        if isinstance(node, Predicate):
            return f"when ({self.expr(node.condition, 0, depth)}) {{"
        if isinstance(node, Guard):
            parts = ("(" + " and ".join(map(self.constraint, c)) + ")" for c in node.condition)
            return f"if {' or '.join(parts) or 'never'} {{"
        up = node.step > 0
        start = self.bound(node.start, "max" if up else "min", depth)
        stop = self.bound(node.stop, "min" if up else "max", depth)
        name = self.variable(node.name)
        return f"for {name}: {self.ctype(node.ctype)} in [{start}, {stop}) step {node.step} {{"

    # -------------------------------------------------------------------------------- declarations

    def parameter(self, parameter: Parameter) -> str:
        text = f"param {self.variable(parameter.name)}: {self.ctype(parameter.ctype)}"
        if self.canonical:
            return text + ";"
        if parameter.value is not None:
            text += f" = {parameter.value}"
        if parameter.low is not None or parameter.high is not None:
            low, high = ("?" if v is None else v for v in (parameter.low, parameter.high))
            text += f" in [{low}, {high}]"
        if parameter.base is not None:
            text += f" base {json.dumps(parameter.base)}"
        if parameter.where:
            text += f" where {json.dumps(parameter.where)}"
        text += " exposed" * parameter.exposed
        return text + ";"

    def array(self, array: Array) -> str:
        text = f"array {self.name('A', array.name)}: {self.ctype(array.ctype)}"
        text += "".join(f"[{'?' if extent is None else self.affine(extent)}]" for extent in array.shape)
        if array.storage is not Storage.GLOBAL:
            text += " " + array.storage.value
        if array.scope is not None:
            text += f"({self.variable(array.scope)})"
        text += " flat" * array.flat + " const" * array.const
        if array.expanded:
            text += f" expanded {array.expanded}"
        text += f" rows {array.rows}" * bool(array.rows) + " untyped" * (array.untyped and not self.canonical)
        if array.base is not None and not self.canonical:
            text += f" base {json.dumps(array.base)}"
        if array.members and not self.canonical:
            text += f" members {' '.join(json.dumps(member) for member in array.members)}"
        return text + ";"

    def title(self, name: str) -> str:
        return name if IDENTIFIER.fullmatch(name) else json.dumps(name)

    def nest(self) -> str:
        body = [line for node in self.source.body for line in self.node(node, "  ", 0)]
        arrays: Iterable[Array] = self.source.arrays
        if self.canonical:
            order = {name: place for place, (kind, name) in enumerate(self.given) if kind == "A"}
            arrays = sorted(arrays, key=lambda a: order.get(a.name, len(order) + len(self.given)))
        declarations = [self.array(a) for a in arrays]
        declarations += [f"assume {self.constraint(c)};" for c in self.source.assumptions]
        parameters: Iterable[Parameter] = self.source.parameters
        if self.canonical:
            used = {name: place for place, (kind, name) in enumerate(self.given) if kind == "P"}
            parameters = sorted((p for p in parameters if p.name in used), key=lambda p: used[p.name])
        title = "nest" if self.canonical else f"nest {self.title(self.source.name)}"
        if self.source.function is not None and not self.canonical:
            title += f" of {self.title(self.source.function)}"
        head = [title + " {", *(f"  {self.parameter(p)}" for p in parameters), *(f"  {d}" for d in declarations)]
        return "\n".join([*head, *body, "}"]) + "\n"
