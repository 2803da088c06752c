"""What stays the same while a loop runs, and which variables may move along with it."""

from __future__ import annotations

from scheduler.frontend.c_ast.arith import bits
from scheduler.frontend.c_ast.csyntax import (
    Bin,
    CCall,
    CExpr,
    Cond,
    Conv,
    CType,
    ForStmt,
    Index,
    Lit,
    Ref,
    Un,
    Variable,
    all_expressions,
    subexpressions,
)


def has_calls(loop: ForStmt) -> bool:
    return any(isinstance(e, CCall) and not e.is_pure for e in all_expressions(loop))


def alike(value: CType, ctype: CType) -> bool:
    """What is added to such a value counts the same elements."""
    if ctype.kind != "pointer":
        return value.kind == "int"
    elements = [t.element.name.replace("const ", "") for t in (value, ctype) if t.element is not None]
    return len(elements) == 2 and elements[0] == elements[1]


def may_move(variable: Variable) -> bool:
    if variable.storage not in ("local", "param") or variable.address_taken or variable.owner is not None:
        return False
    ctype = variable.ctype
    if ctype.is_volatile or variable.oddity:
        return False
    return ctype.kind == "pointer" or (ctype.kind == "int" and ctype.name != "_Bool" and bits(ctype.name) >= 32)


def is_loop_invariant(expr: CExpr, changed: set[Variable], calls: bool) -> bool:
    """Its value is the same in all iterations."""
    parts = list(subexpressions(expr))
    addressed = {id(e.operand) for e in parts if isinstance(e, Un) and e.op == "&"}
    for part in parts:
        if isinstance(part, Ref):
            variable = part.var
            own = variable.storage in ("local", "param") and not variable.address_taken
            steady = own or variable.ctype.kind == "array" or not calls
            if variable in changed or variable.ctype.is_volatile or not steady:
                return False
        elif isinstance(part, Index):  # a row of an array, or what is only pointed to
            if part.ctype.kind != "array" and id(part) not in addressed:
                return False
        elif isinstance(part, Un):
            if part.op == "*" or (part.op == "&" and not isinstance(part.operand, Index)):
                return False
        elif not isinstance(part, Lit | Conv | Bin | Cond):
            return False
    return True
