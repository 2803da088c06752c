"""Statements to loops, guards and statements of the IR."""

from __future__ import annotations

from scheduler.frontend import headers, values
from scheduler.frontend.actions import actions, declaration, has_effect, refuse_statement, statement
from scheduler.frontend.conditions import Dnf, condition
from scheduler.frontend.context import Active, ArrayInfo, Context, Frame, Refuse
from scheduler.frontend.csyntax import (
    INT,
    CExpr,
    CStmt,
    DeclStmt,
    ExprStmt,
    ForStmt,
    IfStmt,
    JumpStmt,
    Member,
    Ref,
    Set,
    Step,
    all_expressions,
    statements,
    subexpressions,
)
from scheduler.frontend.forward import substitution_for
from scheduler.frontend.integers import NotAffine
from scheduler.frontend.scalars import access_path, dead_after, flatten, stored_variables
from scheduler.ir.nest import (
    Access,
    Assign,
    Binary,
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


def nodes(ctx: Context, body: tuple[CStmt, ...], owner: CStmt | None) -> tuple[Node, ...]:
    """The nodes of a statement list. Raises Refuse."""
    ctx.work.spend(len(body) + 1, ctx.begin)
    result: list[Node] = []
    body = flatten(body)
    for position, stmt in enumerate(body):
        with ctx.frame(Frame(owner, body, position, position)):
            if isinstance(stmt, IfStmt) and _is_continue(stmt.then) and stmt.orelse is None:
                if not isinstance(owner, ForStmt):
                    raise Refuse(stmt.then.begin, "continue", "turn it into an if around the rest of the body")
                result.extend(_skip(ctx, stmt, body[position + 1 :], owner))
                return tuple(result)
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
                    ctx.substitutions[expr.left.var] = found
                    return []
            return [statement(ctx, (stmt,), stmt)] if has_effect(expr) else []
        case _:
            refuse_statement(stmt)
    return []


# ------------------------------------------------------------------------------------------ loops


def loop(ctx: Context, stmt: ForStmt) -> Loop:
    """Raises Refuse."""
    if len(ctx.loops) >= _MAX_LOOP_DEPTH:
        raise Refuse(stmt.begin, "the loops are nested too deeply", "split them into functions")
    found = headers.header(ctx, stmt)
    variable = found.variable
    if ctx.active(variable) is not None or variable in ctx.written:
        at = ctx.changes.get(variable, stmt.begin)
        reason = f"the iterator '{variable.name}' is changed inside the loop"
        raise Refuse(at, reason, "change it in the loop header only")
    if not isinstance(stmt.init, DeclStmt) and not dead_after(variable, ctx.frames, ctx.function):
        raise Refuse(
            stmt.begin,
            f"the iterator '{variable.name}' is used behind the loop",
            "declare it in the loop header, or set it again before it is used",
        )
    ctx.work.spend(50, stmt.begin)
    name = ctx.fresh(variable.name)
    _check_bound_reads(ctx, stmt)
    exact = isinstance(found.start, tuple) and isinstance(found.stop, tuple)
    domain = ctx.domain.enter(name, headers.domain_constraints(name, found), exact)
    ctx.loops.append(Active(variable, name, variable.ctype.name, stmt))
    for private, place in ctx.pending_scopes.items():
        if place is stmt:
            ctx.arrays[private].scope = name
    try:
        with ctx.within(domain):
            body = nodes(ctx, (stmt.body,), stmt)
    finally:
        ctx.loops.pop()
    return Loop(name, variable.ctype.name, found.start, found.stop, found.step, body, ctx.span(stmt.begin, stmt.end))


def _check_bound_reads(ctx: Context, stmt: ForStmt) -> None:
    """C evaluates the limit again and again: what it reads must not change in the loop."""
    if stmt.condition is None:
        return
    read = {access_path(e) for e in subexpressions(stmt.condition) if isinstance(e, Ref | Member)}
    for expr in all_expressions(stmt.body):
        target: CExpr | None = expr.left if isinstance(expr, Set) else expr.operand if isinstance(expr, Step) else None
        if target is None:
            continue
        written = access_path(target)
        if written is not None and written in read and ctx.active(written[0]) is None:
            name = ".".join((written[0].name, *written[1]))
            raise Refuse(expr.at, f"the loop changes '{name}', which its limit depends on", "copy the limit first")


# ---------------------------------------------------------------------------------------- branches


def _is_continue(stmt: CStmt) -> bool:
    inner = flatten((stmt,))
    return len(inner) == 1 and isinstance(inner[0], JumpStmt) and inner[0].what == "continue"


def _skip(ctx: Context, stmt: IfStmt, rest: tuple[CStmt, ...], owner: ForStmt) -> list[Node]:
    """`if (c) continue; rest` is `if (!c) { rest }`."""
    try:
        return _guard(ctx, condition(ctx, stmt.condition, False), rest, owner)
    except NotAffine:
        pass
    if not _has_loops(rest):
        with ctx.within(ctx.domain.inexact()):
            found = actions(ctx, rest)
        test = _test(ctx, stmt.condition, False)
        return [ctx.statement((If(test, tuple(found)),), stmt.begin, rest[-1].end)] if found else []
    return _predicates(ctx, stmt, (), rest, owner)


def _branch(ctx: Context, stmt: IfStmt) -> list[Node]:
    then = flatten((stmt.then,))
    orelse = flatten((stmt.orelse,)) if stmt.orelse is not None else ()
    try:
        holds, fails = condition(ctx, stmt.condition), condition(ctx, stmt.condition, False)
    except NotAffine:
        if not _has_loops((stmt,)):
            return [statement(ctx, (stmt,), stmt)]
        return _predicates(ctx, stmt, then, orelse, stmt)
    return [*_guard(ctx, holds, then, stmt), *_guard(ctx, fails, orelse, stmt)]


def _has_loops(body: tuple[CStmt, ...]) -> bool:
    return any(isinstance(s, ForStmt) for b in body for s in statements(b))


def _guard(ctx: Context, dnf: Dnf, body: tuple[CStmt, ...], owner: CStmt) -> list[Node]:
    """An affine condition around statements."""
    if not body:
        return []
    if any(not conjunction for conjunction in dnf):
        return list(nodes(ctx, body, owner))
    with ctx.within(ctx.domain.where(dnf[0]) if len(dnf) == 1 else ctx.domain.inexact()):
        inner = nodes(ctx, body, owner)
    return [Guard(dnf, inner)] if inner else []


def _predicates(
    ctx: Context, stmt: IfStmt, then: tuple[CStmt, ...], orelse: tuple[CStmt, ...], owner: CStmt
) -> list[Node]:
    """A data-dependent `if` around loops. Where a branch changes what is tested, the test is kept in a variable."""
    before: list[Node] = []
    read = {e.var for e in subexpressions(stmt.condition) if isinstance(e, Ref) and ctx.active(e.var) is None}
    if any(read & stored_variables(s) for s in (*then, *orelse)):
        name = ctx.fresh("taken")
        scope = ctx.loops[-1].name if ctx.loops else None
        ctx.arrays[name] = ArrayInfo(name, "int", INT, Storage.PRIVATE, None, None, scope)
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
    for test, body in zip(tests, (then, orelse), strict=True):
        with ctx.within(ctx.domain.inexact()):
            inner = nodes(ctx, body, owner) if body else ()
        if inner:
            result.append(Predicate(test, inner))
    return result


def _test(ctx: Context, condition: CExpr, holds: bool) -> Expr:
    test = values.value(ctx, condition)
    return test if holds else Unary("!", test, "int")
