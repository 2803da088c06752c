"""Changes of variables inside expressions as statements of their own: `b[k++] = x;` is `b[k] = x; k++;`.

Only where C says, or leaves no room for doubt, what the others of the expression see: the variable is local, nobody has
its address, it is named once in the statement, and the change happens whenever the statement does.
"""

from __future__ import annotations

from collections.abc import Iterator

from scheduler.frontend.c_ast.arith import bits, is_integer
from scheduler.frontend.c_ast.clone import Cloner
from scheduler.frontend.c_ast.csyntax import (
    Bin,
    CCall,
    CExpr,
    Cond,
    CStmt,
    DeclStmt,
    ExprStmt,
    IfStmt,
    Lit,
    Ref,
    Set,
    Step,
    Unmodelled,
    bare,
    extents,
    operands,
    subexpressions,
)
from scheduler.frontend.c_ast.jumps import negated
from scheduler.frontend.passes.walk import FunctionPass


class HoistSideEffects(FunctionPass):
    """The statements of a function with `without_side_effects`."""

    def split(self, stmt: CStmt) -> tuple[CStmt, ...]:
        return (stmt,) if stmt.begin in self.marked else without_side_effects(stmt)


def without_side_effects(stmt: CStmt) -> tuple[CStmt, ...]:
    """The statement without changes inside its expressions, and these before and behind it; itself where it has none.

    Of a declaration the initializers are replaced in place.
    """
    match stmt:
        case ExprStmt():
            return _expression(stmt)
        case DeclStmt(variables=variables):
            inits = [v.init for v in variables if v.init is not None]
            found = _effects(inits, frozenset(), False)
            if not found or any(extents(v.ctype) for v in variables):
                return (stmt,)
            before, results, behind = _moved(found, stmt, False)
            for variable in variables:
                if variable.init is not None:
                    variable.init = Cloner({}, None, 0, results).expr(variable.init)
                    variable.init_text = ""
            return (*before, stmt, *behind)
        case IfStmt(condition=condition):
            found = _effects([condition], frozenset(), True)
            if found:
                before, results, _ = _moved(found, stmt, True)
                changed = Cloner({}, None, 0, results).expr(condition)
                return (*before, IfStmt(changed, stmt.then, stmt.orelse, stmt.begin, stmt.end))
    return (stmt,)


def _expression(stmt: ExprStmt) -> tuple[CStmt, ...]:
    expr = bare(stmt.expr)
    if isinstance(expr, Bin) and expr.op in ("&&", "||") and _changes(expr.right):
        test = expr.left if expr.op == "&&" else negated(expr.left)
        return without_side_effects(
            IfStmt(test, ExprStmt(expr.right, stmt.begin, stmt.end), None, stmt.begin, stmt.end)
        )
    if isinstance(expr, Cond) and (_changes(expr.then) or _changes(expr.orelse)):
        then, orelse = (ExprStmt(e, stmt.begin, stmt.end) for e in (expr.then, expr.orelse))
        return without_side_effects(IfStmt(expr.condition, then, orelse, stmt.begin, stmt.end))
    own: set[int] = set()  # what is a statement's change already: also of `x = y = 0`, and of several with commas
    waiting = [expr]
    while waiting:
        part = bare(waiting.pop())
        if isinstance(part, Bin) and part.op == ",":
            waiting += [part.left, part.right]
        elif isinstance(part, Set | Step):
            own.add(id(part))
            waiting += [part.right] if isinstance(part, Set) and isinstance(bare(part.right), Set) else []
    if (
        isinstance(expr, Bin)
        and expr.op == ","
        and any(isinstance(e, Set | Step) and id(e) not in own for e in subexpressions(expr))
    ):
        first, second = (ExprStmt(e, stmt.begin, stmt.end) for e in (expr.left, expr.right))
        return (*_expression(first), *_expression(second))
    found = _effects([expr], frozenset(own), False)
    if not found:
        return (stmt,)
    before, results, behind = _moved(found, stmt, False)
    return (*before, ExprStmt(Cloner({}, None, 0, results).expr(expr), stmt.begin, stmt.end), *behind)


def _changes(expr: CExpr) -> bool:
    return any(isinstance(e, Set | Step) for e in subexpressions(expr))


def _effects(parts: list[CExpr], own: frozenset[int], branches: bool) -> list[Set | Step]:
    """The changes inside expressions that are not their statement's own; none where one of them has to stay."""
    every = [e for part in parts for e in subexpressions(part)]
    found = [e for e in every if isinstance(e, Set | Step) and id(e) not in own]
    if not found or any(isinstance(e, Unmodelled) or (isinstance(e, Bin) and e.op == ",") for e in every):
        return []
    sure = {id(e) for part in parts for e in _always(part)}
    named = [e.var for e in every if isinstance(e, Ref)]
    for effect in found:
        target = effect.left if isinstance(effect, Set) else effect.operand
        if id(effect) not in sure or not isinstance(target, Ref) or named.count(target.var) != 1:
            return []
        variable = target.var
        pointer = variable.ctype.kind == "pointer"
        if variable.storage not in ("local", "param") or variable.address_taken or variable.owner is not None:
            return []
        if variable.ctype.is_volatile or not (variable.ctype.is_scalar or (pointer and isinstance(effect, Step))):
            return []
        if isinstance(effect, Set):
            inside = {id(e) for e in subexpressions(effect)}
            if effect.op != "=" or any(isinstance(e, Set | Step | CCall) and id(e) != id(effect) for e in every):
                return []
            if any(id(e) in inside and e is not effect for e in found):
                return []
        elif branches and not effect.prefix and not _exact(effect):
            return []
    return found


def _always(expr: CExpr) -> Iterator[CExpr]:
    """What is evaluated whenever the expression is."""
    waiting = [expr]
    while waiting:
        part = waiting.pop()
        yield part
        match part:
            case Bin(op="&&" | "||", left=first) | Cond(condition=first):
                waiting.append(first)
            case _:
                waiting.extend(operands(part))


def _exact(step: Step) -> bool:
    """The old value is the new one minus one."""
    return is_integer(step.ctype.name) and bits(step.ctype.name) >= 32


def _moved(found: list[Set | Step], stmt: CStmt, branches: bool) -> tuple[list[CStmt], dict[int, CExpr], list[CStmt]]:
    """Statements before, what stands for the changes in the expression, and statements behind."""
    before: list[CStmt] = []
    behind: list[CStmt] = []
    results: dict[int, CExpr] = {}
    for effect in found:
        target = effect.left if isinstance(effect, Set) else effect.operand
        results[id(effect)] = target
        if isinstance(effect, Set) or effect.prefix or branches:
            before.append(ExprStmt(effect, stmt.begin, stmt.begin))
        else:
            behind.append(ExprStmt(effect, stmt.end, stmt.end))
        if branches and isinstance(effect, Step) and not effect.prefix:
            one = Lit("1", 1, effect.ctype, effect.at)
            back = "-" if effect.op == "++" else "+"
            results[id(effect)] = Bin(back, target, one, effect.ctype, effect.at)
    return before, results, behind
