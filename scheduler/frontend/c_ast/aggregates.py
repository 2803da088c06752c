"""What structures hold, their members as expressions, and which variables can be members of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Union

from scheduler.frontend.c_ast.arith import bits
from scheduler.frontend.c_ast.csyntax import (
    INT,
    Bin,
    CCall,
    CExpr,
    CFunction,
    Cond,
    Conv,
    CType,
    DeclStmt,
    ExprStmt,
    Index,
    Items,
    Lit,
    Member,
    Ref,
    ReturnStmt,
    Set,
    Step,
    Un,
    Unit,
    Unmodelled,
    Variable,
    all_expressions,
    operands,
    own_expressions,
    statements,
    strip,
    subexpressions,
)

Steps = tuple[Union[str, int], ...]  # noqa: UP007  names of members and places in arrays


_MOST_MEMBERS = 32  # of a structure that is assigned as a whole


class Unclear(Exception):
    """The members of a value cannot be told."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A number or pointer in a structure."""

    steps: Steps
    ctype: CType
    offset: int  # bytes from the beginning

    @property
    def text(self) -> str:
        return "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in self.steps)


def leaves(unit: Unit, ctype: CType, most: int = _MOST_MEMBERS) -> tuple[Leaf, ...] | None:
    """Everything a structure holds; None where that cannot be told, or is more than `most`."""
    found: list[Leaf] = []

    def visit(inner: CType, steps: Steps, offset: int) -> int | None:
        """The size."""
        if len(found) > most:
            return None
        if inner.kind == "record":
            record = unit.records.get(inner.name)
            if record is None or record.problem:
                return None
            sizes = [visit(f.ctype, (*steps, f.name), offset + f.offset) for f in record.fields]
            return None if None in sizes else record.size
        if inner.kind == "array" and inner.element is not None and isinstance(inner.extent, int):
            size: int | None = 0
            for k in range(min(inner.extent, most + 1)):
                size = visit(inner.element, (*steps, k), offset + k * (size or 0))
                if size is None:
                    return None
            return None if size is None else size * inner.extent
        found.append(Leaf(steps, inner, offset))
        return max(8, bits(inner.name)) // 8 if inner.is_scalar else 8

    if visit(ctype, (), 0) is None or len(found) > most:
        return None
    return tuple(found)


def stepped(base: CExpr, steps: Steps, unit: Unit) -> CExpr:
    """`base.x[1]`."""
    for step in steps:
        ctype: CType | None = None
        if isinstance(step, int):
            ctype = base.ctype.element
        elif base.ctype.kind == "record":
            record = unit.records.get(base.ctype.name)
            ctype = next((f.ctype for f in record.fields if f.name == step), None) if record is not None else None
        if ctype is None:
            raise Unclear
        if base.ctype.is_volatile:
            ctype = replace(ctype, is_volatile=True)
        if isinstance(step, int):
            base = Index(base, Lit(str(step), step, INT, base.at), ctype, base.at)
        else:
            base = Member(base, step, False, ctype, base.at)
    return base


def zero_of(ctype: CType) -> CExpr:
    if ctype.kind in ("array", "record"):
        raise Unclear
    number = Lit("0", 0, INT, -1)
    return number if ctype.name == "int" else Conv(number, True, ctype, -1)


def is_place(expr: CExpr) -> bool:
    """An object, not a value."""
    if isinstance(expr, Member):
        return expr.arrow or is_place(strip(expr.base))
    return isinstance(expr, Ref | Index) or (isinstance(expr, Un) and expr.op == "*")


def repeats_unchanged(expr: CExpr, whole: CType) -> bool:
    """It can be evaluated again between assignments to members of `whole`; a value of one is only read before them."""
    if any(isinstance(e, Set | Step) for e in subexpressions(expr)):
        return False
    while is_place(expr) and not isinstance(expr, Ref):
        if isinstance(expr, Index):
            for part in subexpressions(expr.index):
                inside = isinstance(part, Member) and strip(part.base).ctype.name
                pointed = strip(part.base).ctype.element if isinstance(part, Member) else None
                if isinstance(part, CCall | Unmodelled) or (isinstance(part, Un) and part.op in ("*", "&")):
                    return False
                if whole.name in (inside, pointed.name if pointed is not None else None):
                    return False
            expr = strip(expr.base)
        elif isinstance(expr, Member):
            expr = strip(expr.base)
        else:
            assert isinstance(expr, Un)
            expr = strip(expr.operand)
            if isinstance(expr, Bin):
                return all(isinstance(e, Ref | Lit | Bin | Conv) for e in subexpressions(expr))
            if not isinstance(expr, Ref):
                return False
    return True


def member_variable(variable: Variable, steps: Steps, ctype: CType, taken: set[str]) -> Variable:
    text = variable.text + "".join(f".{s}" for s in steps)
    name = "_".join((variable.name, *map(str, steps)))
    while name in taken:
        name += "_"
    taken.add(name)
    storage = variable.storage
    if storage == "param" and ctype.kind == "array":
        storage = "local"  # a copy of the elements, no pointer to them
    const = ctype.is_const or variable.ctype.is_const
    made = Variable(name, replace(ctype, is_const=const), storage, variable.offset, variable.internal)
    made.base, made.owner = text, variable
    return made


def variables_of(function: CFunction) -> Iterator[Variable]:
    yield from function.parameters
    for stmt in statements(function.body):
        if isinstance(stmt, DeclStmt):
            yield from stmt.variables
    for expr in all_expressions(function.body):
        if isinstance(expr, Ref):
            yield expr.var


def declared_in(function: CFunction) -> set[Variable]:
    declared = (v for s in statements(function.body) if isinstance(s, DeclStmt) for v in s.variables)
    return {*function.parameters, *declared}


def passed_only(functions: list[CFunction]) -> set[Variable]:
    """Structures whose address is only passed to functions: where these stand in place of the calls, nothing has it."""
    found: dict[Variable, int] = {}
    for expr in (e for f in functions for e in all_expressions(f.body)):
        if isinstance(expr, CCall):
            for argument in map(strip, expr.arguments):
                if isinstance(argument, Un) and argument.op == "&" and isinstance(argument.operand, Ref):
                    found[argument.operand.var] = found.get(argument.operand.var, 0) + 1
        if isinstance(expr, Un) and expr.op == "&":
            inner = expr.operand
            while isinstance(inner, Member | Index) and not (isinstance(inner, Member) and inner.arrow):
                inner = inner.base
            if isinstance(inner, Ref):
                found[inner.var] = found.get(inner.var, 0) - 1
    plain = (v for v, left in found.items() if left == 0 and v.storage == "local" and not v.oddity)
    return {v for v in plain if v.ctype.kind == "record" and not v.ctype.is_volatile}


def used_whole(function: CFunction) -> Iterator[Variable]:
    """Structure variables that are used in other ways than by their members, assignments, arguments and results."""
    for stmt in statements(function.body):
        for expr in own_expressions(stmt):
            allowed = isinstance(stmt, ReturnStmt | DeclStmt)
            bare = strip(expr)
            if isinstance(stmt, ExprStmt) and isinstance(bare, Set) and bare.op == "=":
                yield from _whole(bare.left, True)
                yield from _whole(bare.right, True)
            else:
                yield from _whole(expr, allowed)


def _whole(expr: CExpr, allowed: bool) -> Iterator[Variable]:
    if isinstance(expr, Ref):
        if expr.var.ctype.kind == "record" and not allowed:
            yield expr.var
        return
    for below in operands(expr):
        if isinstance(expr, Member) and not expr.arrow:
            yield from _whole(below, allowed or expr.ctype.kind != "record")
        elif isinstance(expr, Un) and expr.op == "&":
            yield from _whole(below, False)
        else:
            value = isinstance(expr, CCall | Items | Cond) or (isinstance(expr, Conv) and allowed)
            yield from _whole(below, (value and expr.ctype.kind != "pointer") or (isinstance(expr, CCall)))
