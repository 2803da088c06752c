"""Calls of memset and memcpy on numbers of one type as the loops that they are.

In a loop they would be calls with side effects; on their own they stay calls (`ForStmt.call`), which nothing beats.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from scheduler.frontend.c_ast.arith import bits, is_unsigned
from scheduler.frontend.c_ast.clone import is_lasting
from scheduler.frontend.c_ast.csyntax import (
    INT,
    Bin,
    CCall,
    CExpr,
    Cond,
    Conv,
    CStmt,
    CType,
    DeclStmt,
    ExprStmt,
    ForStmt,
    Index,
    Lit,
    Member,
    Ref,
    Set,
    Step,
    Un,
    Unit,
    Variable,
    bare,
    strip,
    subexpressions,
)
from scheduler.frontend.c_ast.folding import as_type
from scheduler.frontend.passes.walk import FunctionPass
from scheduler.ir.types import MEMORY

_LONG = CType("int", "long")
_BYTES = {0: 0, -1: -1, 255: -1}  # what a number is whose bytes are all that


def memory_calls(unit: Unit) -> None:
    """Where there are such loops memory may have been set and copied as that of another type, which C allows a call."""
    if unit.functions.keys() & MEMORY:  # the file has its own
        return
    marked = frozenset(d.target for d in unit.source.directives if d.text.startswith("#pragma"))
    for function in unit.functions.values():
        calls = MemoryCalls(function, marked)
        function.body = calls.run()
        if calls.found:
            unit.dialect = replace(unit.dialect, untyped=True)


class MemoryCalls(FunctionPass):
    """The statements of a function with loops in place of such calls."""

    found = False

    def rewrite(self, stmt: CStmt, before: list[CStmt], inside: bool) -> CStmt:
        call = bare(stmt.expr) if isinstance(stmt, ExprStmt) else None
        if not isinstance(call, CCall) or call.library not in MEMORY or len(call.arguments) != 3:
            return stmt
        if stmt.begin in self.marked:
            return stmt
        target, source, size = call.arguments
        places = [target] if call.library == "memset" else [target, source]
        fixed = _is_fixed(source) if call.library == "memset" else True
        if not (fixed and all(map(_is_fixed_place, places)) and _is_limit(size)):
            return stmt  # these are evaluated once, and a loop would do so again
        target, source = (_array(_pointer(a), size) for a in (target, source))
        found = _loops(call.library == "memset", target, source, size, stmt)
        self.found = self.found or found is not None
        return found or stmt


def _loops(fill: bool, target: CExpr, source: CExpr, size: CExpr, stmt: CStmt, name: str = "e") -> CStmt | None:
    """`target[e] = source` or `target[e] = source[e]` for as many bytes as `size`; None where that is not known."""
    element = target.ctype.element
    if element is None or target.ctype.kind not in ("pointer", "array"):
        return None
    if not fill and (source.ctype.element is None or source.ctype.kind not in ("pointer", "array")):
        return None
    if element.kind == "array" and not fill and not _same_shape(target.ctype, source.ctype):
        return None
    count: CExpr | None
    if element.kind == "array":
        count = _whole(target.ctype, size)
    else:
        count = _elements(size, bits(element.name) // 8) if _is_number(element) else None
    if count is None:
        return None
    number = Variable(name, _LONG, "local", stmt.begin, init=Lit("0", 0, _LONG, stmt.begin), writes=1)
    place = _element(target, element, number, count)
    other = source if fill or source.ctype.element is None else _element(source, source.ctype.element, number, count)
    inner: CStmt | None
    if element.kind == "array":
        if not isinstance(element.extent, int):
            return None
        width = _bytes_of(element)
        inner = _loops(fill, place, other, Lit(str(width), width, _LONG, stmt.begin), stmt, f"{name}e")
    else:
        value = _filled(other, element) if fill else other if other.ctype.name == element.name else None
        inner = None if value is None else ExprStmt(Set("=", place, value, element, stmt.begin), stmt.begin, stmt.end)
    if inner is None:
        return None
    test = Bin("<", Ref(number, _LONG, stmt.begin), count, INT, stmt.begin)
    step = Step("++", Ref(number, _LONG, stmt.begin), False, _LONG, stmt.begin)
    declared = DeclStmt((number,), stmt.begin, stmt.begin)
    return ForStmt(declared, test, step, inner, stmt.begin, stmt.end, call=True)


def _element(array: CExpr, element: CType, number: Variable, count: CExpr) -> CExpr:
    """`array[number]`, of a part of an array by a pointer to it: `count` elements may be more than it has."""
    extent = array.ctype.extent if array.ctype.kind == "array" else None
    fits = isinstance(extent, int) and isinstance(count, Lit) and count.value is not None and int(count.value) <= extent
    if isinstance(array, Index | Member) and array.ctype.kind == "array" and not fits:
        first = Index(array, Lit("0", 0, _LONG, array.at), element, array.at)
        array = Un("&", first, CType("pointer", f"{element.name} *", element), array.at)
    return Index(array, Ref(number, _LONG, array.at), element, array.at)


def _pointer(expr: CExpr) -> CExpr:
    """What is given for a pointer to anything."""
    while isinstance(expr, Conv) and expr.ctype.kind == "pointer" and expr.operand.ctype.kind in ("pointer", "array"):
        expr = expr.operand
    return expr


def _array(pointer: CExpr, size: CExpr) -> CExpr:
    """The array that the pointer is the beginning of, where `size` is all of it."""
    first = pointer.operand if isinstance(pointer, Un) and pointer.op == "&" else pointer
    while isinstance(first, Index) and isinstance(first.index, Lit) and first.index.value == 0:
        first = first.base
        if _whole(first.ctype, size) is not None:
            return first
    return pointer


def _is_number(ctype: CType) -> bool:
    return ctype.is_scalar and not ctype.is_volatile and ctype.name not in ("_Bool", "long double")


def _filled(value: CExpr, element: CType) -> CExpr | None:
    """What an element is whose bytes have been set."""
    value = strip(value)
    if element.kind == "int" and bits(element.name) == 8:
        return Conv(value, True, element, value.at)
    found = _BYTES.get(value.value) if isinstance(value, Lit) and isinstance(value.value, int) else None
    if found is None or (found and element.kind != "int"):
        return None
    return Conv(Lit(str(found), found, INT, value.at), True, element, value.at)


def _is_fixed(value: CExpr) -> bool:
    """Whether nothing that the call changes is read."""
    return all(is_lasting(e) for e in subexpressions(value))


def _is_limit(size: CExpr) -> bool:
    """Whether it reads variables and members only: whether loops change what they are limited by is looked at there."""
    plain = Lit | Ref | Member | Conv | Cond | Bin
    return all(isinstance(e, plain) or (isinstance(e, Un) and e.op in "-+~!") for e in subexpressions(size))


def _is_fixed_place(place: CExpr) -> bool:
    """Whether the call changes nothing that tells where it is, but by pointers (which are looked at elsewhere)."""
    match place:
        case Ref():
            return True
        case Conv(operand=inner) | Member(base=inner) | Un(op="&" | "*", operand=inner):
            return _is_fixed_place(inner)
        case Index(base=base, index=index):
            return _is_fixed_place(base) and _is_fixed(index)
        case Bin(op="+" | "-", left=left, right=right):
            pointer, number = (left, right) if left.ctype.kind in ("pointer", "array") else (right, left)
            return _is_fixed_place(pointer) and _is_fixed(number)
    return False


def _same_shape(one: CType, other: CType) -> bool:
    if one.kind != other.kind or one.element is None or other.element is None:
        return one.kind == other.kind and one.name == other.name
    return isinstance(one.extent, int) and one.extent == other.extent and _same_shape(one.element, other.element)


def _whole(array: CType, size: CExpr) -> CExpr | None:
    """How many elements an array of arrays has, where `size` is all of it."""
    whole = _bytes_of(array)
    numbers = [f.value if isinstance(f, Lit) else None for f in _factors(size)]
    if array.kind != "array" or not whole or numbers != [whole]:
        return None
    assert isinstance(array.extent, int)
    return Lit(str(array.extent), array.extent, _LONG, size.at)


def _bytes_of(ctype: CType) -> int:
    """0 where that is not known, or not a number of numbers."""
    count = 1
    while ctype.kind == "array" and ctype.element is not None:
        count *= ctype.extent if isinstance(ctype.extent, int) else 0
        ctype = ctype.element
    return count * bits(ctype.name) // 8 if _is_number(ctype) else 0


def _elements(size: CExpr, width: int) -> CExpr | None:
    """`size` bytes in elements of `width`, as a long; None where that is no whole number for all values."""
    number, others = 1, []
    for factor in _factors(size):
        if isinstance(factor, Lit) and isinstance(factor.value, int):
            number *= factor.value
        else:
            others.append(as_type(factor, _LONG))
    if number % width or number < 0:
        return None
    number //= width
    found: CExpr | None = None
    for other in others:
        found = other if found is None else Bin("*", found, other, _LONG, size.at)
    literal = Lit(str(number), number, _LONG, size.at)
    return literal if found is None else found if number == 1 else Bin("*", found, literal, _LONG, size.at)


def _factors(size: CExpr) -> Iterator[CExpr]:
    """Of a product of sizes, which does not wrap where memory has as many bytes."""
    if isinstance(size, Conv) and size.ctype.kind == size.operand.ctype.kind == "int" and bits(size.ctype.name) == 64:
        yield from _factors(size.operand)
    elif isinstance(size, Bin) and size.op == "*" and (bits(size.ctype.name) == 64 or not is_unsigned(size.ctype.name)):
        yield from _factors(size.left)
        yield from _factors(size.right)
    else:
        yield size
