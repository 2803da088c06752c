"""Which scalars a region writes, where they live, and whether they are dead behind it."""

from __future__ import annotations

from collections.abc import Iterable

from scheduler.frontend.c_ast.csyntax import (
    Bin,
    CCall,
    CExpr,
    Compound,
    Conv,
    CStmt,
    DeclStmt,
    ExprStmt,
    ForStmt,
    IfStmt,
    Member,
    OtherStmt,
    Ref,
    ReturnStmt,
    Set,
    Step,
    Un,
    Unmodelled,
    Variable,
    all_expressions,
    inner_statements,
    operands,
    own_expressions,
    statements,
    strip,
    subexpressions,
)
from scheduler.frontend.c_ast.liveness import occurs, sequence_use, statement_use

Path = tuple[Variable, tuple[str, ...]]  # a variable, or a member of one


def target_variable(expr: CExpr) -> Variable | None:
    """The scalar an assignment or `++` writes, if its target is a plain variable."""
    if isinstance(expr, Set):
        target: CExpr = expr.left
    elif isinstance(expr, Step):
        target = expr.operand
    else:
        return None
    return target.var if isinstance(target, Ref) else None


def iterator_of(loop: ForStmt) -> Variable | None:
    """The variable the increment of a loop changes (or its condition, as in `i-- > 0`)."""
    if loop.increment is not None:
        return target_variable(loop.increment)
    step = condition_step(loop)
    return target_variable(step) if step is not None else None


def condition_step(loop: ForStmt) -> Step | None:
    """The `i--` in a loop condition."""
    expr = strip(loop.condition) if loop.condition is not None else None
    if isinstance(expr, Bin):
        expr = strip(expr.left)
    return expr if isinstance(expr, Step) else None


def header_nodes(loop: ForStmt) -> set[int]:
    """Identities of the assignments that belong to a loop header."""
    found = set()
    if loop.increment is not None:
        found.add(id(loop.increment))
    elif (step := condition_step(loop)) is not None:
        found.add(id(step))
    if isinstance(loop.init, ExprStmt):
        found.add(id(loop.init.expr))
    return found


def base_variable(expr: CExpr) -> Variable | None:
    """The variable at the bottom of an lvalue."""
    while not isinstance(expr, Ref):
        below = operands(expr)
        if not below:
            return None
        expr = next((b for b in below if b.ctype.kind in ("pointer", "array", "record")), below[0])
    return expr.var


def access_path(expr: CExpr) -> Path | None:
    """The variable or member (`s->n`) an lvalue starts from; of an array of structures that of any element."""
    variable = base_variable(expr)
    path: list[str] = []
    while not isinstance(expr, Ref):
        below = operands(expr)
        if not below:
            return None
        if isinstance(expr, Member):
            path.insert(0, expr.name)
        expr = next((b for b in below if b.ctype.kind in ("pointer", "array", "record")), below[0])
    return None if variable is None else (variable, tuple(path))


def changed_paths(stmt: CStmt, cache: dict[int, tuple[CStmt, dict[Path, int]]]) -> dict[Path, int]:
    """What a statement assigns, and where first. The cache is good for one file: it keeps its statements, be they
    copies that nothing else holds, so that no other one gets the identity of one of them."""
    known = cache.get(id(stmt))
    if known is not None:
        return known[1]
    found: dict[Path, int] = {}
    for whole in own_expressions(stmt):
        for expr in subexpressions(whole):
            if isinstance(expr, Set | Step):
                path = access_path(expr.left if isinstance(expr, Set) else expr.operand)
                if path is not None:
                    found.setdefault(path, expr.at)
    for inner in inner_statements(stmt):
        for path, at in changed_paths(inner, cache).items():
            found.setdefault(path, at)
    cache[id(stmt)] = stmt, found
    return found


def stored_variables(stmt: CStmt) -> set[Variable]:
    """Variables that are assigned, or through which something is stored."""
    found = set()
    for expr in all_expressions(stmt):
        if isinstance(expr, Set | Step):
            target = base_variable(expr.left if isinstance(expr, Set) else expr.operand)
            if target is not None:
                found.add(target)
    return found


def written_variables(region: Iterable[CStmt]) -> dict[Variable, list[int]]:
    """Variables assigned in the region outside loop headers, and where."""
    places: dict[Variable, list[int]] = {}
    for stmt in region:
        headers: set[int] = set()
        for inner in statements(stmt):
            if isinstance(inner, ForStmt):
                headers |= header_nodes(inner)
        for expr in all_expressions(stmt):
            variable = target_variable(expr)
            if isinstance(expr, Un) and expr.op == "&" and isinstance(expr.operand, Ref):
                variable = expr.operand.var
                if not variable.ctype.is_scalar:
                    continue
            if variable is not None and id(expr) not in headers:
                places.setdefault(variable, []).append(expr.at)
    return places


def declared_inside(region: Iterable[CStmt]) -> set[Variable]:
    return {v for s in region for d in statements(s) if isinstance(d, DeclStmt) for v in d.variables}


# --------------------------------------------------------------------------------------- liveness


# ---------------------------------------------------------------------------------- privatization


def flatten(body: Iterable[CStmt], whole: bool = False) -> tuple[CStmt, ...]:
    """A statement list without nested plain blocks; `whole`: without those that stand for a loop either, which is right
    only where the list is read, or copied, as a whole."""
    result: list[CStmt] = []
    for stmt in body:
        if isinstance(stmt, Compound) and (whole or stmt.kept is None):
            result.extend(flatten(stmt.body, whole))
        elif not (isinstance(stmt, OtherStmt) and stmt.what == "null"):
            result.append(stmt)
    return tuple(result)


def is_exchange(stmt: CStmt) -> bool:
    """It only sets pointers to each other."""
    values: list[CExpr | None] = []
    for part in flatten((stmt,)):
        expr = strip(part.expr) if isinstance(part, ExprStmt) else None
        if isinstance(expr, Set) and expr.op == "=":
            values += [expr.left, expr.right]
        elif isinstance(part, DeclStmt):
            values += [v.init for v in part.variables]
        else:
            return False
    return all(e is not None and e.ctype.kind == "pointer" and access_path(strip(e)) is not None for e in values)


def has_effect(expr: CExpr) -> bool:
    """False for a statement without effect, like `(void)x`."""
    expr = strip(expr)
    if isinstance(expr, Conv) and expr.ctype.kind == "void":
        return any(isinstance(e, Set | Step | CCall | Unmodelled) for e in subexpressions(expr))
    return True


def loop_body(loop: ForStmt) -> tuple[CStmt, ...]:
    return flatten((loop.body,), True)


def privatize(variable: Variable, body: tuple[CStmt, ...], scope: ForStmt | None) -> list[ForStmt | None] | None:
    """The loops whose every iteration can have a copy of its own; None: the old value is needed."""
    if sequence_use(variable, body, scope is not None) == "read":
        return None
    places = [s for s in body if occurs(variable, s)]
    loops = [s for s in places if isinstance(s, ForStmt) and iterator_of(s) is not variable]
    if len(loops) == len(places):
        found: list[ForStmt | None] = []
        for loop in loops:
            if any(occurs_in(variable, e) for e in (loop.condition, loop.increment)) or (
                loop.init is not None and occurs(variable, loop.init)
            ):
                return [scope]
            inner = privatize(variable, loop_body(loop), loop)
            if inner is None:
                return [scope]
            found.extend(inner)
        if all(statement_use(variable, s) != "read" for s in loops):
            return found
    return [scope]


def occurs_in(variable: Variable, expr: CExpr | None) -> bool:
    return expr is not None and any(isinstance(e, Ref) and e.var is variable for e in subexpressions(expr))


def returns_always(body: tuple[CStmt, ...]) -> bool:
    """Every path through the list returns."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, IfStmt) and last.orelse is not None:
        return returns_always(flatten((last.then,))) and returns_always(flatten((last.orelse,)))
    return isinstance(last, ReturnStmt)


def returns(stmt: CStmt) -> bool:
    """Some path through the statement returns."""
    if isinstance(stmt, IfStmt):
        return returns(stmt.then) or (stmt.orelse is not None and returns(stmt.orelse))
    if isinstance(stmt, Compound):
        return any(returns(s) for s in stmt.body)
    return isinstance(stmt, ReturnStmt)
