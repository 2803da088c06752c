"""Statements to loops, guards and statements of the IR."""

from __future__ import annotations

from scheduler.frontend.c_ast.csyntax import (
    INT,
    Bin,
    CExpr,
    Cond,
    CStmt,
    DeclStmt,
    ExprStmt,
    ForStmt,
    IfStmt,
    JumpStmt,
    Leave,
    Member,
    OtherStmt,
    Ref,
    Set,
    statements,
    subexpressions,
)
from scheduler.frontend.c_ast.liveness import Frame, dead_after
from scheduler.frontend.c_ast.reject import Reject
from scheduler.frontend.c_ast.scalars import access_path, changed_paths, flatten, has_effect, stored_variables
from scheduler.frontend.scop import headers, values
from scheduler.frontend.scop.actions import actions, checked, declaration, refuse_statement, statement
from scheduler.frontend.scop.arrays import innermost, shape_of
from scheduler.frontend.scop.conditions import Dnf, condition
from scheduler.frontend.scop.context import Active, ArrayInfo, Context
from scheduler.frontend.scop.forward import substitution_for, window
from scheduler.frontend.scop.integers import NotAffine
from scheduler.frontend.scop.iterations import domain_constraints
from scheduler.frontend.scop.members import parameter
from scheduler.ir.nest import (
    Access,
    Assign,
    Binary,
    Constraint,
    Expr,
    Guard,
    If,
    Literal,
    Loop,
    Node,
    Predicate,
    Read,
    Storage,
    Unary,
)

_MAX_LOOP_DEPTH = 24


def nodes(ctx: Context, body: tuple[CStmt, ...], owner: CStmt | None, first: int = 0) -> tuple[Node, ...]:
    """The nodes of a statement list, from its statement `first` on. Raises Reject."""
    ctx.work.spend(len(body) + 1, ctx.begin)
    result: list[Node] = []
    body = flatten(body, True)
    for position in range(first, len(body)):
        stmt = body[position]
        if isinstance(owner, ForStmt) and isinstance(stmt, IfStmt) and _is_continue(stmt):
            result.extend(_skip(ctx, stmt, body, position, owner))
            break
        with ctx.frame(Frame(owner, body, position, position)):
            result.extend(node(ctx, stmt, body[position + 1 :]))
    return tuple(result)


def node(ctx: Context, stmt: CStmt, rest: tuple[CStmt, ...] = ()) -> list[Node]:
    """`rest`: the statements behind it in its list."""
    match stmt:
        case ForStmt():
            return [loop(ctx, stmt)]
        case IfStmt():
            return _branch(ctx, stmt)
        case DeclStmt():
            return declaration(ctx, stmt, rest)
        case ExprStmt(expr=expr):
            if isinstance(expr, Set) and expr.op == "=" and isinstance(expr.left, Ref):
                found = substitution_for(ctx, expr.left.var, expr.right, stmt, rest)
                if found is not None:
                    ctx.accesses.substitutions[expr.left.var] = found
                    return []
            if window(ctx, stmt, rest):
                return []
            return [statement(ctx, (stmt,), stmt)] if has_effect(expr) else []
        case OtherStmt(what="while" | "do" | "for") if ctx.scope.loops:
            return [statement(ctx, (stmt,), stmt)]
        case _:
            refuse_statement(stmt)
    return []


# ------------------------------------------------------------------------------------------ loops


def loop(ctx: Context, stmt: ForStmt) -> Loop:
    """Raises Reject."""
    if len(ctx.scope.loops) >= _MAX_LOOP_DEPTH:
        raise Reject(stmt.begin, "the loops are nested too deeply", "split them into functions")
    found = headers.header(ctx, stmt)
    variable = found.variable
    if ctx.active(variable) is not None or variable in ctx.region.written:
        at = ctx.region.changes.get(variable, stmt.begin)
        reason = f"the iterator '{variable.name}' is changed inside the loop"
        raise Reject(at, reason, "change it in the loop header only")
    outside = not isinstance(stmt.init, DeclStmt) and variable not in ctx.region.owned
    if outside and not dead_after(variable, ctx.scope.frames, ctx.function):
        raise Reject(
            stmt.begin,
            f"the iterator '{variable.name}' is used behind the loop",
            "declare it in the loop header, or set it again before it is used",
        )
    if stmt.bottom:
        headers.require_iteration(ctx, stmt, found)
    ctx.work.spend(50, stmt.begin)
    name = ctx.fresh(variable.name)
    _check_bound_reads(ctx, stmt)
    exact = isinstance(found.start, tuple) and isinstance(found.stop, tuple)
    domain = ctx.domain.enter(name, domain_constraints(name, found.start, found.stop, found.step), exact)
    ctx.scope.loop_names[id(stmt)] = name
    ctx.scope.loops.append(Active(variable, name, variable.ctype.name, stmt))
    for owned, owner in ctx.region.owned.items():
        if owner is stmt and owned.ctype.kind == "array":
            ctx.private(owned, innermost(owned.ctype).name, shape_of(owned.ctype))
    for private, place in ctx.scope.pending_scopes.items():
        if place is stmt:
            ctx.accesses.arrays[private].scope = name
    try:
        with ctx.within(domain):
            body = nodes(ctx, (stmt.body,), stmt)
    finally:
        ctx.scope.loops.pop()
    return Loop(name, variable.ctype.name, found.start, found.stop, found.step, body, ctx.span(stmt.begin, stmt.end))


def _check_bound_reads(ctx: Context, stmt: ForStmt) -> None:
    """C evaluates the limit again and again: what it reads must not change in the loop."""
    if stmt.condition is None:
        return
    changes = changed_paths(stmt.body, ctx.work.changes)
    fixed: set[int] = set()  # what is read in front of the nest, where stores that could change it are tested for
    sometimes: set[int] = set()  # what C may not evaluate
    for expr in subexpressions(stmt.condition):
        lazy: tuple[CExpr, ...] = (expr.then, expr.orelse) if isinstance(expr, Cond) else ()
        if isinstance(expr, Bin) and expr.op in ("&&", "||"):
            lazy = (expr.right,)
        sometimes |= {id(part) for each in lazy for part in subexpressions(each)}
    for expr in subexpressions(stmt.condition):
        if isinstance(expr, Member) and expr.arrow:
            with ctx.within(ctx.domain.inexact() if id(expr) in sometimes else ctx.domain):
                known = parameter(ctx, expr) is not None
            fixed |= {id(part) for part in subexpressions(expr)} if known else set()
        path = access_path(expr) if isinstance(expr, Ref | Member) and id(expr) not in fixed else None
        if path is not None and path in changes and ctx.active(path[0]) is None:
            name = ".".join((path[0].name, *path[1]))
            reason = f"the loop changes '{name}', which its limit depends on"
            raise Reject(changes[path], reason, "copy the limit to a variable first")
        if path is None or path[1] or path[0].ctype.is_scalar:
            continue
        read = ctx.aliases.reached((path[0],))
        for (other, members), at in changes.items():
            pointed = not members and not other.ctype.is_scalar
            if pointed and other is not path[0] and read & ctx.aliases.reached((other,)):
                reason = f"the loop changes '{path[0].name}' by '{other.name}', and its limit depends on it"
                raise Reject(at, reason, "copy the limit to a variable first")


# ---------------------------------------------------------------------------------------- branches


def _is_continue(stmt: IfStmt) -> bool:
    """`if (...) continue;`"""
    inner = flatten((stmt.then,))
    return stmt.orelse is None and len(inner) == 1 and isinstance(inner[0], JumpStmt) and inner[0].what == "continue"


def _skip(ctx: Context, stmt: IfStmt, body: tuple[CStmt, ...], position: int, owner: ForStmt) -> list[Node]:
    """`if (c) continue; rest` is `if (!c) { rest }`."""
    rest = body[position + 1 :]
    try:
        return _guard(ctx, condition(ctx, stmt.condition, False), body, owner, position + 1)
    except NotAffine:
        pass
    if not _has_loops(rest):
        with ctx.within(ctx.domain.inexact()):
            found = actions(ctx, rest)
        test = _test(ctx, stmt.condition, False)
        return [ctx.statement((If(test, tuple(found)),), stmt.begin, rest[-1].end)] if found else []
    return _predicates(ctx, stmt, (), body, owner, position + 1)


def _branch(ctx: Context, stmt: IfStmt) -> list[Node]:
    if isinstance(stmt.then, Leave):
        left = checked(ctx, stmt)
        return [ctx.statement(tuple(left), stmt.begin, stmt.end)] if left else []
    then = flatten((stmt.then,), True)
    orelse = flatten((stmt.orelse,), True) if stmt.orelse is not None else ()
    try:
        holds, fails = condition(ctx, stmt.condition), condition(ctx, stmt.condition, False)
    except NotAffine:
        if not _has_loops((stmt,)):
            return [statement(ctx, (stmt,), stmt)]
        return _predicates(ctx, stmt, then, orelse, stmt)
    return [*_guard(ctx, holds, then, stmt), *_guard(ctx, fails, orelse, stmt)]


def _has_loops(body: tuple[CStmt, ...]) -> bool:
    return any(isinstance(s, ForStmt) for b in body for s in statements(b))


def _simplified(dnf: Dnf) -> Dnf:
    """Without constraints that always hold, and without conjunctions that never do; () never holds."""
    result = []
    for conjunction in dnf:
        open_ = tuple(c for c in conjunction if not c.affine.is_constant)
        if all(_holds(c) for c in conjunction if c.affine.is_constant):
            result.append(open_)
    return tuple(dict.fromkeys(result))


def _holds(constraint: Constraint) -> bool:
    """A constraint without variables."""
    value = constraint.affine.const
    if constraint.kind == "mod":
        return value % constraint.modulus == 0
    return value >= 0 if constraint.kind == ">=" else value == 0


def _guard(ctx: Context, dnf: Dnf, body: tuple[CStmt, ...], owner: CStmt, first: int = 0) -> list[Node]:
    """An affine condition around body[first:]."""
    dnf = _simplified(dnf)
    if first >= len(body) or not dnf:
        return []
    if any(not conjunction for conjunction in dnf):
        return list(nodes(ctx, body, owner, first))
    with ctx.within(ctx.domain.where(dnf[0]) if len(dnf) == 1 else ctx.domain.inexact()):
        inner = nodes(ctx, body, owner, first)
    return [Guard(dnf, inner)] if inner else []


def _predicates(
    ctx: Context, stmt: IfStmt, then: tuple[CStmt, ...], orelse: tuple[CStmt, ...], owner: CStmt, first: int = 0
) -> list[Node]:
    """A data-dependent `if` around loops; `orelse` counts from `first` on.

    Where a branch changes what is tested, the test is kept in a variable.
    """
    before: list[Node] = []
    read = {e.var for e in subexpressions(stmt.condition) if isinstance(e, Ref) and ctx.active(e.var) is None}
    read = ctx.aliases.reached(read)
    if any(read & ctx.aliases.reached(stored_variables(s)) for s in (*then, *orelse[first:])):
        name = ctx.fresh("taken")
        scope = ctx.scope.loops[-1].name if ctx.scope.loops else None
        ctx.accesses.arrays[name] = ArrayInfo(name, "int", INT, Storage.PRIVATE, None, None, scope)
        test: Expr = values.value(ctx, stmt.condition)
        if stmt.condition.ctype.name != "int":
            test = Binary("!=", test, Literal("0", "int"), "int")
        at = stmt.condition.at
        before = [ctx.statement((Assign(Access(name), "=", test),), at, at + 1)]
        flag = Read(Access(name), "int")
        tests: tuple[Expr, Expr] = (flag, Unary("!", flag, "int"))
    else:
        tests = (_test(ctx, stmt.condition, True), _test(ctx, stmt.condition, False))
    result = before
    for test, body, start in zip(tests, (then, orelse), (0, first), strict=True):
        with ctx.within(ctx.domain.inexact()):
            inner = nodes(ctx, body, owner, start)
        if inner:
            result.append(Predicate(test, inner))
    return result


def _test(ctx: Context, condition: CExpr, holds: bool) -> Expr:
    test = values.value(ctx, condition)
    return test if holds else Unary("!", test, "int")
