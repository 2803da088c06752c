"""C text of expressions, accesses and statements, with the parentheses C needs and no more.

The structure of an expression is printed exactly: `(a + b) + c` and `a + (b + c)` stay different.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from scheduler.codegen.emit.integer_text import (
    CHOICE,
    LEVEL,
    OR,
    POSTFIX,
    PRIMARY,
    PRODUCT,
    SUM,
    UNARY,
    IntegerPrinter,
    Rendered,
    clashes,
    wrap,
)
from scheduler.codegen.tree.nodes import IntExpr, Values
from scheduler.errors import CodegenUnsupported
from scheduler.ir.affine import Affine
from scheduler.ir.nest import (
    Access,
    Action,
    Array,
    Assign,
    Binary,
    Call,
    Cast,
    Conditional,
    Expr,
    Literal,
    LoopNest,
    Name,
    Read,
    Subscript,
    Unary,
)
from scheduler.ir.types import scalar_type


class Redirect(Protocol):
    """Another place for what some accesses of an array (None: all) read: a packed buffer."""

    @property
    def name(self) -> str: ...

    @property
    def ctype(self) -> str: ...

    @property
    def accesses(self) -> frozenset[Access] | None: ...

    def index(self, subscripts: tuple[IntExpr, ...]) -> tuple[IntExpr, ...]: ...


# Of the constants compilers warn.
_INFINITE = {"1e999": "__builtin_inf()", "1e999f": "__builtin_inff()"}
_NAN = {"float": '__builtin_nanf("")', "double": '__builtin_nan("")'}


@dataclass(frozen=True, kw_only=True)
class Printer(IntegerPrinter):
    """Prints the IR of one nest as C.

    `dropped` counts leading dimensions an array is stored without, `redirect` replaces whole accesses.
    """

    arrays: Mapping[str, Array] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    redirect: Mapping[str, tuple[Redirect, ...]] = field(default_factory=dict)
    held: Mapping[str, str] = field(default_factory=dict)  # C text of an access -> what holds its value
    copied: Mapping[str, str] = field(default_factory=dict)  # C text of a target -> a scalar that gets the value, too
    noted: Mapping[str, str] = field(default_factory=dict)  # C text of a target -> what follows each assignment to it
    packed: Mapping[Expr, Expr] = field(default_factory=dict)  # a value that a packed buffer holds -> its read
    traced: bool = False  # mark accesses and operations for the cache simulation (profilers/simulated/trace.h)
    roots: bool = False  # write sqrt as pe_sqrt, which gcc vectorizes (scheduler/codegen/emit/text.py)

    @staticmethod
    def of(nest: LoopNest, wide: bool, dropped: Mapping[str, int] | None = None) -> Printer:
        return Printer(
            arrays={a.name: a for a in nest.arrays},
            parameters={p.name: p.ctype for p in nest.parameters},
            wide=wide,
            dropped=dropped or {},
        )

    def at(self, values: Values) -> Printer:
        """The printer of a statement instance: `values` are what its iterators stand for."""
        return replace(self, values=dict(values))

    # -------------------------------------------------------------------------- IR expressions

    def expr(self, e: Expr) -> Rendered:
        e = self.packed.get(e, e) if self.packed else e
        if isinstance(e, Literal):
            if e.text in _INFINITE or e.text == "NAN":
                return _NAN[e.ctype] if e.text == "NAN" else _INFINITE[e.text], POSTFIX
            return e.text, (UNARY if e.text.startswith("-") else PRIMARY)
        if isinstance(e, Name):
            return self._value(e)
        if isinstance(e, Read):
            return self._mark("PE_READ", e.access), POSTFIX
        if isinstance(e, Unary):
            inner = wrap(self.expr(e.operand), UNARY)
            return e.op + (f"({inner})" if inner.startswith(e.op) else inner), UNARY
        if isinstance(e, Cast):
            return f"({e.ctype}){wrap(self.expr(e.operand), UNARY)}", UNARY
        if isinstance(e, Call):
            function = f"pe_{e.function}" if self.roots and e.function in ("sqrt", "sqrtf") else e.function
            text = f"{function}({', '.join(self.expr(a)[0] for a in e.arguments)})"
            return (
                f"PE_CALL({_float_bits(e.ctype)}, {text})" if self.traced and _float_bits(e.ctype) else text
            ), POSTFIX
        if isinstance(e, Conditional):
            parts = [wrap(self.expr(x), OR) for x in (e.condition, e.then, e.orelse)]
            return f"{parts[0]} ? {parts[1]} : {parts[2]}", CHOICE
        assert isinstance(e, Binary)
        level = LEVEL[e.op]
        left, right = self.expr(e.left), self.expr(e.right)
        a = self._operand(left, level, False)
        b = f"({right[0]})" if right[1] == level or clashes(level, right[1]) else wrap(right, level)
        if self.traced and level in (PRODUCT, SUM) and _float_bits(e.ctype):
            return f"PE_FLOP({_float_bits(e.ctype)}, {a} {e.op} {b})", POSTFIX
        return f"{a} {e.op} {b}", level

    def _value(self, e: Name) -> Rendered:
        if e.name not in self.values:
            return e.name, PRIMARY
        value = self.integer(self.values[e.name])
        if e.ctype == "long" or not self.wide:
            return value
        if value[1] == PRIMARY and value[0].isdigit() and e.ctype == "int":
            return value
        return f"({e.ctype}){wrap(value, UNARY)}", UNARY

    def subscript(self, s: Subscript) -> Rendered:
        if isinstance(s, Affine):
            return self.integer(self.resolve(s))
        return self.expr(s)

    def index(self, access: Access) -> tuple[IntExpr, ...]:
        """The subscripts of an affine access where its element is stored."""
        subscripts = tuple(self.resolve(s) for s in access.subscripts if isinstance(s, Affine))
        redirect = self.redirection(access)
        return redirect.index(subscripts) if redirect else subscripts[self.dropped.get(access.array, 0) :]

    def redirection(self, access: Access) -> Redirect | None:
        """Where the access goes instead, the innermost such place first."""
        for redirect in reversed(self.redirect.get(access.array, ())):
            if redirect.accesses is None or access in redirect.accesses:
                return redirect
        return None

    def with_redirect(self, array: str, redirect: Redirect) -> Printer:
        return replace(self, redirect={**self.redirect, array: (*self.redirect.get(array, ()), redirect)})

    def access(self, access: Access) -> str:
        text = self._access(access)
        return self.held.get(text, text)

    def _mark(self, macro: str, access: Access) -> str:
        """The access, marked where it is traced: scalars, and elements held in one, live in registers."""
        text = self.access(access)
        array = self.arrays[access.array]
        if (
            not self.traced
            or array.is_scalar
            or text != self._access(access)
            or not access.subscripts[self.dropped.get(access.array, 0) :]
        ):
            return text
        return f"{macro}({_float_bits(array.ctype)}, {text})" if macro == "PE_UPDATE" else f"{macro}({text})"

    def branch(self, condition: str) -> str:
        """A condition that is branched on."""
        return f"PE_BRANCH({condition})" if self.traced else condition

    def _access(self, access: Access) -> str:
        if access.is_affine:
            return self.place(access)[1]
        drop = self.dropped.get(access.array, 0)
        if self.redirection(access) is not None:
            return self._element(access, self.index(access))
        return self._of(self.arrays[access.array], [self.subscript(s) for s in access.subscripts[drop:]], drop)

    def place(self, access: Access) -> tuple[tuple[IntExpr, ...], str]:
        """`index` of an affine access, and the C text of the element there."""
        index = self.index(access)
        return index, self._element(access, index)

    def _element(self, access: Access, index: tuple[IntExpr, ...]) -> str:
        redirect = self.redirection(access)
        rendered = [self.integer(i) for i in index]
        if redirect is not None:
            return redirect.name + "".join(f"[{text}]" for text, _ in rendered)
        return self._of(self.arrays[access.array], rendered, self.dropped.get(access.array, 0))

    def _of(self, array: Array, rendered: list[Rendered], drop: int) -> str:
        base = array.base or array.name
        if not rendered:
            return base
        if array.members:
            return self._member(array, rendered)
        if not array.flat or len(rendered) == 1:
            return base + "".join(f"[{text}]" for text, _ in rendered)
        return f"{base}[{self._linear(rendered, array.shape[drop:])[0]}]"

    def _member(self, array: Array, rendered: list[Rendered]) -> str:
        """A number in an array of structures."""
        *outer, (place, _) = rendered
        whole = replace(array, shape=array.shape[:-1], members=())
        element = self._of(whole, outer, 0)
        text = array.members[int(place)] if place.isdigit() and int(place) < len(array.members) else ""
        if text:
            return element + text
        return f"(({'const ' if array.const else ''}{array.ctype} *)&{element})[{place}]"

    def _linear(self, subscripts: list[Rendered], shape: tuple[Affine | None, ...]) -> Rendered:
        """i, j, k with extents l, m, n: (i*m + j)*n + k."""
        total = subscripts[0]
        for extent, subscript in zip(shape[1:], subscripts[1:], strict=True):
            if extent is None:
                raise CodegenUnsupported("a flat array with an unknown inner extent")
            if total[0] == "0":
                total = subscript
                continue
            width = self.affine(extent)
            scaled = (
                wrap(width, UNARY) if total[0] == "1" else f"{wrap(self.widened(total), PRODUCT)}*{wrap(width, UNARY)}"
            )
            if subscript[0] == "0":
                total = (scaled, PRODUCT)
            elif subscript[0].startswith("-"):
                total = (f"{scaled} + ({subscript[0]})", SUM)
            else:
                total = (f"{scaled} + {wrap(subscript, SUM)}", SUM)
        return total

    # ------------------------------------------------------------------------------ statements

    def actions(self, actions: tuple[Action, ...]) -> list[str]:
        """Lines, nested ones indented by four spaces."""
        lines: list[str] = []
        for action in actions:
            if isinstance(action, Assign):
                target = self.access(action.target)
                also = f"{self.copied[target]} = " if target in self.copied else ""
                value = self.expr(action.value)[0]
                if self.traced:
                    marked = self._mark("PE_WRITE" if action.op == "=" else "PE_UPDATE", action.target)
                    bits = _float_bits(self.arrays[action.target.array].ctype)
                    if marked == target and action.op != "=" and bits:  # in a register: only the operation counts
                        value = f"PE_FLOP({bits}, {value})"
                    target = marked
                lines.append(f"{also}{target} {action.op} {value};")
                lines += [self.noted[target]] if target in self.noted else []
                continue
            word = "while" if action.flow == "while" else "if"
            lines.append(f"{word} ({self.branch(self.expr(action.condition)[0])}) {{")
            lines += ["    " + line for line in self.actions(action.then)]
            if action.flow in ("break", "exit"):
                lines.append("    break;" if action.flow == "break" else "    goto pe_left;")
            if action.orelse:
                lines.append("} else {")
                lines += ["    " + line for line in self.actions(action.orelse)]
            lines.append("}")
        return lines


def _float_bits(ctype: str) -> int:
    """32 or 64 for the floating types, else 0."""
    known = scalar_type(ctype)
    return known.bits if known is not None and known.kind == "floating" else 0
