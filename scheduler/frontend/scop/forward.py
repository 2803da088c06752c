"""Forward substitution of index variables: `int idx = i*n + j; A[idx]` is `A[i*n + j]`."""

from __future__ import annotations

from scheduler.frontend.analysis.poly import Poly
from scheduler.frontend.c_ast.arith import bits
from scheduler.frontend.c_ast.csyntax import (
    Bin,
    CCall,
    CExpr,
    Cond,
    Conv,
    CStmt,
    DeclStmt,
    ExprStmt,
    ForStmt,
    IfStmt,
    Index,
    Lit,
    Member,
    Ref,
    Set,
    Step,
    Un,
    Variable,
    all_expressions,
    statements,
    subexpressions,
)
from scheduler.frontend.c_ast.reject import Reject
from scheduler.frontend.c_ast.scalars import base_variable
from scheduler.frontend.scop import integers, values
from scheduler.frontend.scop.context import Context, Substitution
from scheduler.frontend.scop.integers import NotAffine
from scheduler.frontend.scop.members import parameter
from scheduler.frontend.scop.rewrite import expression_size
from scheduler.ir.nest import Cast, Expr

_MAX_SIZE = 40


def substitution_for(
    ctx: Context, variable: Variable, definition: CExpr, stmt: CStmt, rest: tuple[CStmt, ...]
) -> Substitution | None:
    """What every use of the variable can be replaced by, if this is its only definition."""
    if variable.ctype.kind != "int" or variable.ctype.name == "_Bool" or variable.ctype.is_volatile:
        return None
    if variable in ctx.accesses.substitutions or variable in ctx.scope.locals_ or variable.address_taken:
        return None
    if not isinstance(stmt, DeclStmt) and ctx.private_name(variable) is None:
        return None
    if not _only_definition(ctx, variable, stmt, rest):
        return None
    for size, part in enumerate(subexpressions(definition)):
        if size > _MAX_SIZE or isinstance(part, Set | Step):
            return None
    found: Poly | None = None
    exact = True
    try:
        found = integers.exact_poly(ctx, _converted(definition, variable))
    except NotAffine:
        if not _indexes(variable, rest) or not _stable(ctx, definition):
            return None
    if found is not None and bits(variable.ctype.name) == 64 and integers.wraps(ctx, variable.ctype.name):
        try:
            found = Poly.of(integers.exact(ctx, _converted(definition, variable)))
        except NotAffine:
            exact = False
    try:
        expr = values.assigned(ctx, definition)
    except Reject:
        return None
    if expression_size(expr, _MAX_SIZE) > _MAX_SIZE:
        return None
    return Substitution(found, _typed(expr, variable, definition), None, exact)


def pointer_for(ctx: Context, variable: Variable, init: CExpr, at: int) -> Substitution:
    """The place that a pointer is set to, for all its uses. Raises Reject."""
    check_place(ctx, variable, init)
    place = values.pointer(ctx, init)
    target = variable.ctype.element
    if target is None or values.bare_type(target) != values.bare_type(place.target):
        raise Reject(at, "converts a pointer to another type", "declare the array with one type")
    return Substitution(None, None, place)


def window(ctx: Context, stmt: ExprStmt, rest: tuple[CStmt, ...]) -> bool:
    """Whether a statement sets a pointer for what follows in its list, where the pointer stands for that place then.

    Raises Reject.
    """
    expr = stmt.expr
    if not isinstance(expr, Set) or expr.op != "=" or not isinstance(expr.left, Ref):
        return False
    variable = expr.left.var
    if variable.ctype.kind != "pointer" or variable.address_taken or variable.ctype.is_volatile or variable.oddity:
        return False
    if ctx.region.writes.get(variable, 0) > 1:
        advice = "set a pointer of its own in each place, or index the arrays with integers"
        raise Reject(expr.at, f"the loop sets the pointer '{variable.name}' in several places", advice)
    if not _only_definition(ctx, variable, stmt, rest):
        return False
    owner = ctx.scope.windows.get(variable)
    if variable not in ctx.scope.inside and (variable not in ctx.scope.windows or not _runs(ctx, owner)):
        raise Reject(expr.at, f"the pointer '{variable.name}' is used behind the loop", "declare one in the loop")
    ctx.accesses.substitutions[variable] = pointer_for(ctx, variable, expr.right, expr.at)
    return True


def _runs(ctx: Context, owner: ForStmt | None) -> bool:
    return owner is None or any(active.stmt is owner for active in ctx.scope.loops)


def _converted(definition: CExpr, variable: Variable) -> CExpr:
    if definition.ctype.name == variable.ctype.name:
        return definition
    return Conv(definition, False, variable.ctype, definition.at)


def _typed(expr: Expr, variable: Variable, definition: CExpr) -> Expr:
    """The value as the variable's type would hold it."""
    bare = definition.operand if isinstance(definition, Conv) and not definition.explicit else definition
    if bare.ctype.name == variable.ctype.name:
        return expr
    return Cast(variable.ctype.name, expr)


def _only_definition(ctx: Context, variable: Variable, stmt: CStmt, rest: tuple[CStmt, ...]) -> bool:
    """No other place of the region writes the variable, and all its uses stand in `rest`."""
    total = ctx.region.uses.get(variable, 0)
    here = sum(_count(variable, s) for s in rest)
    own = 0 if isinstance(stmt, DeclStmt) else 1
    if ctx.region.writes.get(variable, 0) != own:
        return False
    if not isinstance(stmt, DeclStmt) and variable in ctx.scope.inside and variable.init is not None:
        return False
    return total == here + own


def _count(variable: Variable, stmt: CStmt) -> int:
    return sum(isinstance(e, Ref) and e.var is variable for e in all_expressions(stmt))


def _indexes(variable: Variable, rest: tuple[CStmt, ...]) -> bool:
    """Used in a subscript, a loop header, an `if`, or to compute another integer variable."""
    for stmt in rest:
        for inner in statements(stmt):
            heads: list[CExpr] = []
            if isinstance(inner, ForStmt):
                heads += [e for e in (inner.condition,) if e is not None]
                if inner.init is not None:
                    heads += [e for e in all_expressions(inner.init)]
            elif isinstance(inner, IfStmt):
                pass
            elif isinstance(inner, DeclStmt):
                heads += [v.init for v in inner.variables if v.init is not None and v.ctype.kind in ("int", "pointer")]
            if any(isinstance(e, Ref) and e.var is variable for h in heads for e in subexpressions(h)):
                return True
        for expr in all_expressions(stmt):
            index: CExpr | None = None
            if isinstance(expr, Index):
                index = expr.index
            elif isinstance(expr, Bin) and expr.op in ("+", "-") and expr.ctype.kind == "pointer":
                index = expr
            elif isinstance(expr, Set) and expr.left.ctype.kind == "int" and isinstance(expr.left, Ref):
                index = expr.right
            if index is not None and any(isinstance(e, Ref) and e.var is variable for e in subexpressions(index)):
                return True
    return False


def _stable(ctx: Context, expr: CExpr) -> bool:
    """Its value does not change inside the region, and it is cheap to compute again."""
    for part in subexpressions(expr):
        if isinstance(part, CCall):
            return False
        if isinstance(part, Ref):
            variable = part.var
            if ctx.active(variable) is not None or variable in ctx.accesses.substitutions:
                continue
            if (
                variable in ctx.region.written
                or variable in ctx.scope.inside
                or ctx.region.stored & ctx.aliases.reached((variable,))
            ):
                return False
        elif not isinstance(part, Lit | Index | Bin | Conv | Cond | Un | Member) or part.ctype.kind == "float":
            return False
    return True


def check_place(ctx: Context, variable: Variable, init: CExpr) -> None:
    """A pointer stands for the place it was set to: what that was made of must not change. Raises Reject."""
    addressed = {id(e.operand) for e in subexpressions(init) if isinstance(e, Un) and e.op == "&"}
    for part in subexpressions(init):
        if not part.ctype.is_scalar or id(part) in addressed:
            continue
        if isinstance(part, Ref):
            own = ctx.active(part.var) is not None or part.var in ctx.accesses.substitutions
            changes = part.var in ctx.region.written and not own
            base: Variable | None = part.var
        else:
            base = base_variable(part) if isinstance(part, Index | Member | Un) else None
            if isinstance(part, Member) and part.arrow and parameter(ctx, part) is not None:
                continue  # it is read in front of the nest, where stores that could change it are tested for
            changes = (
                base is not None and not base.ctype.is_scalar and bool(ctx.region.stored & ctx.aliases.reached((base,)))
            )
        if changes and base is not None:
            at = ctx.region.changes.get(base, init.at)
            reason = f"the loop changes '{base.name}', which the pointer '{variable.name}' is made of"
            raise Reject(at, reason, "keep what the pointer is made of in a variable of its own")
