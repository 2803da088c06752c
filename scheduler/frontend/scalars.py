"""Which scalars a region writes, where they live, and whether they are dead behind it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal as OneOf

from scheduler.frontend.context import Frame
from scheduler.frontend.csyntax import (
    Bin,
    CExpr,
    CFunction,
    Compound,
    CStmt,
    DeclStmt,
    ExprStmt,
    ForStmt,
    IfStmt,
    Index,
    JumpStmt,
    Member,
    OtherStmt,
    Ref,
    ReturnStmt,
    Set,
    Step,
    Un,
    Variable,
    all_expressions,
    inner_statements,
    operands,
    own_expressions,
    statements,
    strip,
    subexpressions,
)

Use = OneOf["read", "kill", "none"]
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
    """The variable or member (`s->n`) an lvalue starts from."""
    variable = base_variable(expr)
    path: list[str] = []
    while not isinstance(expr, Ref):
        below = operands(expr)
        if not below:
            return None
        if isinstance(expr, Member):
            path.insert(0, expr.name)
        elif isinstance(expr, Index) and path:
            path = []
        expr = next((b for b in below if b.ctype.kind in ("pointer", "array", "record")), below[0])
    return None if variable is None else (variable, tuple(path))


def changed_paths(stmt: CStmt, cache: dict[int, dict[Path, int]]) -> dict[Path, int]:
    """What a statement assigns, and where first. The cache is good for one file."""
    known = cache.get(id(stmt))
    if known is not None:
        return known
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
    cache[id(stmt)] = found
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


def mentioned(stmt: CStmt) -> set[Variable]:
    """Every variable a statement names."""
    found = {e.var for e in all_expressions(stmt) if isinstance(e, Ref)}
    for inner in statements(stmt):
        if isinstance(inner, DeclStmt):
            found.update(inner.variables)
    return found


def occurs(variable: Variable, stmt: CStmt) -> bool:
    return any(isinstance(e, Ref) and e.var is variable for e in all_expressions(stmt))


# --------------------------------------------------------------------------------------- liveness


def expression_use(variable: Variable, expr: CExpr) -> Use:
    """What evaluating the expression does first to the variable (`none` where it may do nothing)."""
    if isinstance(expr, Set) and isinstance(expr.left, Ref) and expr.left.var is variable:
        if expr.op != "=":
            return "read"
        inner = expression_use(variable, expr.right)
        return "read" if inner == "read" else "kill"
    if isinstance(expr, Set):
        right = expression_use(variable, expr.right)
        if right != "none":
            return right
        return expression_use(variable, expr.left)
    if isinstance(expr, Bin) and expr.op == ",":
        left = expression_use(variable, expr.left)
        return left if left != "none" else expression_use(variable, expr.right)
    if isinstance(expr, Ref):
        return "read" if expr.var is variable else "none"
    for node in subexpressions(expr):
        if isinstance(node, Ref) and node.var is variable:
            return "read"
    return "none"


def sequence_use(variable: Variable, body: Iterable[CStmt], inside_loop: bool) -> Use:
    """First use over a statement list; `inside_loop`: a break or continue ends at a loop in the list."""
    for stmt in body:
        use = statement_use(variable, stmt, inside_loop)
        if use != "none":
            return use
    return "none"


def statement_use(variable: Variable, stmt: CStmt, inside_loop: bool = False) -> Use:
    """`read`: its old value may be read. `kill`: it is overwritten on every path. `none`: neither is sure."""
    match stmt:
        case ExprStmt(expr=expr):
            return expression_use(variable, expr)
        case DeclStmt(variables=variables):
            for declared in variables:
                if declared.init is not None and expression_use(variable, declared.init) == "read":
                    return "read"
                if declared is variable:
                    return "kill"
            return "none"
        case Compound(body=body):
            return sequence_use(variable, body, inside_loop)
        case IfStmt():
            use = expression_use(variable, stmt.condition)
            if use != "none":
                return use
            then = statement_use(variable, stmt.then, inside_loop)
            orelse = "none" if stmt.orelse is None else statement_use(variable, stmt.orelse, inside_loop)
            if "read" in (then, orelse):
                return "read"
            return "kill" if then == orelse == "kill" else "none"
        case ForStmt():
            if stmt.init is not None:
                use = statement_use(variable, stmt.init)
                if use != "none":
                    return use
            if stmt.condition is not None and expression_use(variable, stmt.condition) == "read":
                return "read"
            around = statement_use(variable, stmt.body, True)
            if around == "none" and stmt.increment is not None:
                around = expression_use(variable, stmt.increment)
            return "read" if around == "read" else "none"
        case ReturnStmt(value=value):
            return "read" if value is not None and expression_use(variable, value) == "read" else "kill"
        case JumpStmt():
            return "kill" if inside_loop and stmt.what != "goto" else "read"
        case OtherStmt():
            for expr in stmt.exprs:
                if any(isinstance(e, Ref) and e.var is variable for e in subexpressions(expr)):
                    return "read"
            if stmt.what in ("while", "do", "switch", "case", "null", "pragma"):
                if stmt.what in ("switch", "case") and occurs(variable, stmt):
                    return "read"
                return "read" if sequence_use(variable, stmt.body, True) == "read" else "none"
            return "read" if occurs(variable, stmt) else "none"


def dead_after(variable: Variable, frames: list[Frame], function: CFunction) -> bool:
    """No path from behind the innermost frame's point reads the variable before overwriting it."""
    if variable.storage not in ("local", "param") or variable.address_taken or function.has_goto:
        return False
    for frame in reversed(frames):
        use = sequence_use(variable, frame.body[frame.last + 1 :], False)
        if use == "read":
            return False
        if use == "kill":
            return True
        owner = frame.owner
        if owner is None or isinstance(owner, IfStmt | Compound):
            continue
        if isinstance(owner, ForStmt) or (isinstance(owner, OtherStmt) and owner.what in ("while", "do")):
            around = (owner.increment, owner.condition) if isinstance(owner, ForStmt) else owner.exprs
            first: Use = "none"
            for expr in around:
                if expr is None:
                    continue
                first = expression_use(variable, expr)
                if first != "none":
                    break
            if first == "read":
                return False
            if first == "none" and sequence_use(variable, frame.body, False) == "read":
                return False
        else:
            return not occurs(variable, owner)
    return True


# ---------------------------------------------------------------------------------- privatization


def flatten(body: Iterable[CStmt]) -> tuple[CStmt, ...]:
    """A statement list without nested plain blocks."""
    result: list[CStmt] = []
    for stmt in body:
        if isinstance(stmt, Compound):
            result.extend(flatten(stmt.body))
        elif not (isinstance(stmt, OtherStmt) and stmt.what == "null"):
            result.append(stmt)
    return tuple(result)


def loop_body(loop: ForStmt) -> tuple[CStmt, ...]:
    return flatten((loop.body,))


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
