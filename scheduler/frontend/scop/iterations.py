"""Whether the values that an iterator takes in C are those of the IR's loop: start, start + step, … before its stop.

C's iterator has a type T, in which each step is made, and is compared through conversions and perhaps the addition of a
constant: `(unsigned)i + 2 < n`. Theorem: with `start` converted to T and the limit to the type of the comparison, both
loops take the same values, if

1. the first value, with what is added to it, is in the range of every type that it passes through; and
2. so is every later one, that which ends the loop included. Signed arithmetic does not leave its range (C11 6.5p5; with
   -fwrapv it may, and a step of another type, `i += 3u`, is converted). Nor need it be asked where the step is 1 or -1,
   no other condition ends the loop, and later types hold all numbers of the type: a value that leaves the range then
   leads to a loop without end, which C lets compilers assume not to be there (C11 6.8.5p6).

Each is proved, or assumed of the parameters and tested when the code runs, or else the loop is refused. Numbers of 64
bits that code is generated for are within ±2**62 (`scheduler.codegen.runtime_checks.guards`,
`scheduler.codegen.tree.opaque`).
"""

from __future__ import annotations

from dataclasses import dataclass

from scheduler.frontend.c_ast.arith import bits, is_integer, is_unsigned, value_range
from scheduler.frontend.c_ast.csyntax import (
    Bin,
    CExpr,
    Compound,
    Cond,
    Conv,
    CStmt,
    DeclStmt,
    ExprStmt,
    ForStmt,
    IfStmt,
    Index,
    Lit,
    Ref,
    Set,
    Step,
    Variable,
    all_expressions,
    operands,
)
from scheduler.frontend.c_ast.folding import fold
from scheduler.frontend.c_ast.loop_header import around
from scheduler.frontend.c_ast.scalars import occurs_in
from scheduler.frontend.scop.context import Context
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Bound, Constraint

_FAR = 2**62


@dataclass(frozen=True, slots=True)
class Passage:
    """A type that the iterator passes through on its way to the comparison, `offset` added to it.

    `defined`: leaving its range is an overflow that C does not define. `kept`: later types hold all its numbers.
    """

    low: int
    high: int
    offset: int
    defined: bool
    kept: bool = True


def passages(own: CExpr, variable: Variable, wraps: bool) -> list[Passage] | None:
    """Of the side of a comparison that the iterator stands on; the first is the iterator's type. None for another.

    `wraps`: signed arithmetic may, too.
    """
    ctype = variable.ctype.name
    parts = around(own, variable)
    if parts is None or not is_integer(ctype):
        return None
    found = [Passage(*value_range(ctype), 0, not (wraps or is_unsigned(ctype)) and bits(ctype) >= 32)]
    offset = 0
    for part in parts:
        ctype = part.ctype.name
        if not is_integer(ctype) or ctype == "_Bool":
            return None
        low, high = value_range(ctype)
        if isinstance(part, Bin):
            more = fold(part.right)
            if more is None or offset:
                return None
            more = -more if part.op == "-" else more
            offset = more - 2 ** bits(ctype) if is_unsigned(ctype) and more > high // 2 else more
            found.append(Passage(low, high, offset, not (wraps or is_unsigned(ctype))))
        elif not (low <= found[-1].low and found[-1].high <= high):
            found.append(Passage(low, high, offset, False))
    for k, passage in enumerate(found):
        kept = all(p.low <= passage.low and passage.high <= p.high for p in found[k + 1 :])
        found[k] = Passage(passage.low, passage.high, passage.offset, passage.defined, kept)
    return found


def range_of(expr: CExpr) -> tuple[int, int]:
    """Least and greatest value of an integer expression, by the types it is made of."""
    low, high = value_range(expr.ctype.name)
    number = fold(expr)
    if number is not None:
        return number, number
    if isinstance(expr, Conv) and is_integer(expr.operand.ctype.name) and expr.ctype.name != "_Bool":
        inner = range_of(expr.operand)
        if low <= inner[0] and inner[1] <= high:
            return inner
    return low, high


@dataclass(frozen=True, slots=True)
class Counted:
    """A loop as its header says it: `start` and `stop` are as the IR has them, the others what C makes them of."""

    name: str
    start: Bound
    stop: Bound
    step: int
    start_expr: CExpr
    limit: CExpr
    beyond: int  # how far the limit is from the first value that ends the loop, what is added left out


def domain_constraints(name: str, start: Bound, stop: Bound, step: int) -> list[Constraint]:
    """What the bounds say about the iterator inside the loop."""
    own = Affine.of(name)
    result = []
    if isinstance(start, tuple):
        result += [Constraint(own - s if step > 0 else s - own) for s in start]
        if abs(step) > 1:
            result.append(Constraint(own - start[0], "mod", abs(step)))
    if isinstance(stop, tuple):
        result += [Constraint(s - own - 1 if step > 0 else own - s - 1) for s in stop]
    return result


def takes_values(ctx: Context, loop: Counted, through: list[Passage], alone: bool) -> bool:
    """Whether the loop takes the values that the IR says it takes; by proof, or by assumptions that are made here.

    `alone`: no other condition ends it.
    """
    for k, passage in enumerate(through):
        if k and not _starts_in(ctx, loop, passage):
            return False
        endless = abs(loop.step) == 1 and passage.kept and alone
        if passage.defined:
            ctx.assumed.trusting = ctx.assumed.trusting or not endless
        elif not endless and not _ends_in(ctx, loop, passage):
            return False
    return True


def _starts_in(ctx: Context, loop: Counted, passage: Passage) -> bool:
    low, high = passage.low - passage.offset, passage.high - passage.offset
    if not isinstance(loop.start, tuple):
        least, greatest = range_of(loop.start_expr)
        return low <= least and greatest <= high
    some, every = (any, all) if loop.step > 0 else (all, any)  # it is the greatest of these, or the least
    return (low <= -_FAR or some(ctx.assumed.facts.require(s - low, ctx.domain) for s in loop.start)) and (
        high >= _FAR or every(ctx.assumed.facts.require(-s + high, ctx.domain) for s in loop.start)
    )


def _ends_in(ctx: Context, loop: Counted, passage: Passage) -> bool:
    """The value that ends the loop is in the range, too."""
    if loop.step > 0 and passage.high >= _FAR:
        return True
    if not isinstance(loop.stop, tuple):
        least, greatest = range_of(loop.limit)
        if loop.step > 0:
            return greatest + loop.beyond + loop.step - 1 <= passage.high
        return least + loop.beyond + loop.step + 1 >= passage.low
    known = domain_constraints(loop.name, loop.start, loop.stop, loop.step)
    inside = ctx.domain.enter(loop.name, known, isinstance(loop.start, tuple))
    reached = Affine.of(loop.name) + loop.step + passage.offset
    return ctx.assumed.facts.require(-reached + passage.high if loop.step > 0 else reached - passage.low, inside)


# --------------------------------------------------------------------------- data of 64 bits as bounds


def reaches_far(loop: Counted, variable: Variable, body: CStmt) -> bool:
    """Whether bounds out of data might send the iterator where no array is, with effect.

    Where an end of the loop is affine, and the other is not within ±2**62, there is no iteration, or no end. Else each
    statement that changes something has to stand behind, or to have, a subscript that the iterator is part of: no
    object is so large that such a subscript is inside of one.
    """
    wide = [_wide(e) for e, b in ((loop.start_expr, loop.start), (loop.limit, loop.stop)) if not isinstance(b, tuple)]
    return len(wide) == 2 and all(wide) and not _subscripted((body,), variable)


def _wide(expr: CExpr) -> bool:
    low, high = range_of(expr)
    return low < -_FAR or high > _FAR


def _subscripted(body: tuple[CStmt, ...], variable: Variable) -> bool:
    """Whether every change of the statements stands behind such a subscript, or has one."""
    for stmt in body:
        if any(_evaluates(e, variable) for e in _reached(stmt)):
            return True
        match stmt:
            case Compound(body=inner):
                changes = not _subscripted(inner, variable)
            case IfStmt():
                branches = (s for s in (stmt.then, stmt.orelse) if s is not None)
                changes = not all(_subscripted((s,), variable) for s in branches)
            case ForStmt():
                changes = not _subscripted((stmt.body,), variable)
            case _:
                changes = any(isinstance(e, Set | Step) for e in all_expressions(stmt))
        if changes:
            return False
    return True


def _reached(stmt: CStmt) -> list[CExpr]:
    """What is evaluated whenever a statement is begun."""
    match stmt:
        case ExprStmt(expr=expr):
            return [expr]
        case DeclStmt(variables=variables):
            return [v.init for v in variables if v.init is not None]
        case IfStmt(condition=condition):
            return [condition]
        case ForStmt(init=init, condition=condition):
            return [*([] if init is None else _reached(init)), *([] if condition is None else [condition])]
    return []


def _evaluates(expr: CExpr, variable: Variable) -> bool:
    """A subscript of which the iterator is a term, and which is evaluated whenever the expression is."""
    waiting = [expr]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Index) and _is_term(part.index, variable):
            return True
        if isinstance(part, Bin) and part.ctype.kind == "pointer":  # which must not leave its object either
            sides = (s for s in (part.left, part.right) if is_integer(s.ctype.name))
            if any(_is_term(s, variable) for s in sides):
                return True
        if isinstance(part, Bin) and part.op in ("&&", "||"):
            waiting.append(part.left)
        elif isinstance(part, Cond):
            waiting.append(part.condition)
        else:
            waiting.extend(operands(part))
    return False


def _is_term(index: CExpr, variable: Variable) -> bool:
    """`i`, `i + k`, where the subscript is computed in 64 bits, and `4 * i`, which may not wrap around.

    Of an unsigned iterator near 2**63 each of these is as far from all that there is.
    """
    if bits(index.ctype.name) < 64:
        return False
    match index:
        case Ref(var=var):
            return var is variable
        case Conv(operand=operand):
            return is_integer(operand.ctype.name) and _is_term(operand, variable)
        case Bin(op="+" | "-", left=left, right=right):
            mine, other = (left, right) if occurs_in(variable, left) else (right, left)
            return _is_term(mine, variable) and _is_near(other)
        case Bin(op="*", left=left, right=right) if not is_unsigned(index.ctype.name):
            factors = [s for s in (left, right) if isinstance(s, Lit | Conv) and fold(s)]
            return len(factors) == 1 and _is_term(right if factors[0] is left else left, variable)
    return False


def _is_near(expr: CExpr) -> bool:
    """A number far from 2**63 in both directions: no data of 64 bits, and no product.

    Sizes are tested, as other iterators are where they are bounds or subscripts.
    """
    low, high = range_of(expr)
    if low >= -_FAR // 2 and high <= _FAR // 2:
        return True
    match expr:
        case Ref(var=var):
            return var.storage == "param" and not var.writes and not var.address_taken
        case Conv(operand=operand):
            return is_integer(operand.ctype.name) and _is_near(operand)
        case Bin(op="+" | "-", left=left, right=right):
            return _is_near(left) and _is_near(right)
    return False
