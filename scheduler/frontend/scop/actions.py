"""Loop-free statements and declarations to the actions and arrays of the IR.

Long, because what leaves a loop early is a statement, too.
"""

from __future__ import annotations

from dataclasses import replace

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
    Items,
    JumpStmt,
    Leave,
    Lit,
    OtherStmt,
    Ref,
    ReturnStmt,
    Set,
    Step,
    Unmodelled,
    Variable,
    statements,
    strip,
)
from scheduler.frontend.c_ast.reject import BREAK_ADVICE, RETURN, RETURN_ADVICE, Reject
from scheduler.frontend.c_ast.scalars import has_effect
from scheduler.frontend.scop import values
from scheduler.frontend.scop.arrays import innermost, shape_of
from scheduler.frontend.scop.checks import check
from scheduler.frontend.scop.context import Context
from scheduler.frontend.scop.forward import pointer_for, substitution_for, window
from scheduler.ir.affine import Affine
from scheduler.ir.nest import (
    Access,
    Action,
    Assign,
    Expr,
    If,
    Literal,
    Loop,
    Node,
    Statement,
    Unary,
)

BREAK = If(Literal("1", "int"), (), (), "break")


def early_exit(actions: list[Action]) -> list[Action]:
    """With `if (c) { …; break; }` as one action that leaves the loop."""
    result: list[Action] = []
    for action in actions:
        if isinstance(action, If) and not action.flow:
            then, orelse = early_exit(list(action.then)), early_exit(list(action.orelse))
            if _is_break(then[-1:]):
                result.append(If(action.condition, tuple(then[:-1]), (), "break"))
                result += orelse
                continue
            if _is_break(orelse[-1:]):
                result.append(If(Unary("!", action.condition, "int"), tuple(orelse[:-1]), (), "break"))
                result += then
                continue
            action = replace(action, then=tuple(then), orelse=tuple(orelse))
        result.append(action)
        if _is_break([action]):
            break
    return result


def _is_break(actions: list[Action]) -> bool:
    """`break` on its own."""
    return bool(actions) and actions[0] == BREAK


EXCHANGES = "the loop changes a pointer"
EXCHANGE_ADVICE = (
    "index the arrays with integers; buffers may be exchanged in every iteration (tmp = a; a = b; b = tmp)"
)
WHILE_ADVICE = "write it as a for loop with a known number of iterations"


def refuse_statement(stmt: CStmt) -> None:
    """Raises Reject for a statement that nothing can be done with."""
    at = stmt.begin
    match stmt:
        case ReturnStmt():
            raise Reject(at, RETURN, RETURN_ADVICE)
        case JumpStmt(what=what):
            advice = {
                "break": BREAK_ADVICE,
                "continue": "turn it into an if around the rest of the body",
            }.get(what, "use structured loops")
            raise Reject(at, f"the loop contains {what}", advice)
        case OtherStmt(what="null"):
            return
        case OtherStmt(what="while" | "do" | "for" as what):
            raise Reject(at, f"the loop contains a {what} loop", WHILE_ADVICE)
        case OtherStmt(what="asm"):
            raise Reject(at, "the loop contains inline assembly", "write it in C")
        case OtherStmt(what="pragma"):
            raise Reject(at, "the loop already has a pragma on it", "remove the pragma to let the loop be tuned")
        case OtherStmt(what="too deep"):
            raise Reject(at, "the code is nested too deeply", "split it into functions")
        case OtherStmt(what=what):
            raise Reject(at, f"the loop contains a {what}", "use if and for only")
        case _:
            raise AssertionError(stmt)


# -------------------------------------------------------------------------------------- statements


def statement(ctx: Context, body: tuple[CStmt, ...], whole: CStmt) -> Statement:
    return ctx.statement(tuple(actions(ctx, body)), whole.begin, whole.end)


def actions(ctx: Context, body: tuple[CStmt, ...]) -> list[Action]:
    """The actions of loop-free statements."""
    result: list[Action] = []
    for position, stmt in enumerate(body):
        match stmt:
            case ExprStmt(expr=expr):
                if has_effect(expr) and not window(ctx, stmt, body[position + 1 :]):
                    result.extend(effects(ctx, expr))
            case Compound(body=inner):
                result.extend(actions(ctx, inner))
            case IfStmt(then=Leave()):
                result.extend(checked(ctx, stmt))
            case IfStmt():
                with ctx.hoisting() as before:
                    test = values.value(ctx, stmt.condition)
                result.extend(actions(ctx, tuple(before)))
                with ctx.within(ctx.domain.inexact()):
                    then = actions(ctx, (stmt.then,))
                    orelse = actions(ctx, (stmt.orelse,)) if stmt.orelse is not None else []
                if then or orelse:
                    if then:
                        result.append(If(test, tuple(then), tuple(orelse)))
                    else:
                        result.append(If(Unary("!", test, "int"), tuple(orelse)))
            case DeclStmt():
                for found in declaration(ctx, stmt, body[position + 1 :]):
                    if not isinstance(found, Statement):
                        raise Reject(stmt.begin, "declares an array inside a branch", "declare it in the loop body")
                    result.extend(found.body)
                    ctx.reading.statement_count -= 1
            case OtherStmt(what="while" | "do" | "for") if ctx.scope.loops:
                result.append(_repeated(ctx, stmt))
            case JumpStmt(what="break") if ctx.reading.may_leave:
                result.append(BREAK)
            case _:
                refuse_statement(stmt)
    return result


def checked(ctx: Context, stmt: IfStmt) -> list[Action]:
    """A branch that leaves: nothing where no iteration takes it. Raises Reject."""
    found = check(ctx, stmt)
    return [] if found is None else [*actions(ctx, found[0]), found[1]]


def _repeated(ctx: Context, stmt: OtherStmt) -> If:
    """A loop that stays as it is inside a statement."""
    if stmt.foreign:
        raise Reject(stmt.begin, f"the {stmt.what} loop comes from a macro", "write the loop out")
    inner = next((s for b in stmt.body for s in statements(b) if isinstance(s, ForStmt)), None)
    if inner is not None:
        raise Reject(inner.begin, f"there is a loop inside a {stmt.what} loop", WHILE_ADVICE)
    saved, ctx.reading.may_leave = ctx.reading.may_leave, True
    try:
        with ctx.conditional():
            test = values.value(ctx, stmt.exprs[0]) if stmt.exprs else Literal("1", "int")
        with ctx.within(ctx.domain.inexact()):
            body = actions(ctx, stmt.body)
    finally:
        ctx.reading.may_leave = saved
    if stmt.what == "do":
        body.append(If(Unary("!", test, "int"), (), (), "break"))
        test = Literal("1", "int")
    return If(test, tuple(early_exit(body)), (), "while")


def effects(ctx: Context, expr: CExpr) -> list[Action]:
    """The assignments an expression statement makes."""
    expr = strip(expr)
    if isinstance(expr, Bin) and expr.op == ",":
        return [*effects(ctx, expr.left), *effects(ctx, expr.right)]
    if isinstance(expr, Conv) and expr.ctype.kind == "void":
        return effects(ctx, expr.operand)
    with ctx.hoisting() as before:
        if isinstance(expr, Step):
            if expr.ctype.kind == "pointer":
                raise Reject(expr.at, "the loop moves a pointer", "index the array with integers instead")
            target = _target(ctx, expr.operand)
            one = Literal("1", "int")
            added = Assign(target, "+=" if expr.op == "++" else "-=", one)
            return [*actions(ctx, tuple(before)), added]
        if isinstance(expr, Set):
            if expr.left.ctype.kind == "pointer":
                raise Reject(expr.at, EXCHANGES, EXCHANGE_ADVICE)
            values.check_scalar(expr.left)
            first: list[Action] = []
            right = expr.right
            chained = strip(right)
            if isinstance(chained, Set):
                first = effects(ctx, chained)
                right = chained.left
                value: Expr = values.value(ctx, right)
                if right.ctype.name != expr.right.ctype.name and expr.op != "=":
                    raise Reject(expr.at, "chains compound assignments", "write one assignment per statement")
            elif expr.op == "=":
                value = values.assigned(ctx, right)
            else:
                value = values.updated(ctx, expr.op, expr.left.ctype.name, right)
            target = _target(ctx, expr.left)
            return [*first, *actions(ctx, tuple(before)), Assign(target, expr.op, value)]
    if isinstance(expr, CCall):
        values.value(ctx, expr)  # says what is wrong with it
        raise Reject(expr.at, f"calls '{expr.name}' without using its result", "remove the call")
    if isinstance(expr, Unmodelled):
        values.value(ctx, expr)
    raise Reject(expr.at, "a statement without effect", "remove it")


def _target(ctx: Context, expr: CExpr) -> Access:
    if isinstance(expr, Ref) and ctx.active(expr.var) is not None:
        raise Reject(expr.at, f"the loop changes its iterator '{expr.var.name}'", "change it in the loop header only")
    return values.access(ctx, expr, True)


# ------------------------------------------------------------------------------------ declarations


def declaration(ctx: Context, stmt: DeclStmt, rest: tuple[CStmt, ...]) -> list[Node]:
    result: list[Node] = []
    for number, variable in enumerate(stmt.variables, 1):
        others = replace(stmt, variables=stmt.variables[number:])
        result.extend(_declared(ctx, variable, stmt, (others, *rest)))
    return result


def _declared(ctx: Context, variable: Variable, stmt: DeclStmt, rest: tuple[CStmt, ...]) -> list[Node]:
    if variable.storage == "static":
        raise Reject(stmt.begin, f"'{variable.name}' is static inside the loop", "declare it in front of the loop")
    if variable.ctype.is_volatile:
        raise Reject(stmt.begin, f"'{variable.name}' is volatile", "use an ordinary variable")
    if variable.oddity:
        raise Reject(stmt.begin, f"'{variable.name}' is {variable.oddity}", "use an ordinary variable")
    if variable.ctype.kind == "pointer":
        if variable.init is None and variable in ctx.region.written:
            return []  # `window` reads what it is set to
        if variable.init is None or variable in ctx.region.written or variable.address_taken:
            at = ctx.region.changes.get(variable, stmt.begin)
            raise Reject(at, f"the pointer '{variable.name}' moves inside the loop", "index the array with integers")
        ctx.accesses.substitutions[variable] = pointer_for(ctx, variable, variable.init, stmt.begin)
        return []
    if variable.init is not None and variable.ctype.is_scalar:
        found = substitution_for(ctx, variable, variable.init, stmt, rest)
        if found is not None:
            ctx.accesses.substitutions[variable] = found
            return []
    element = innermost(variable.ctype)
    if not element.is_scalar:
        reason = f"declares '{variable.name}' of type '{variable.ctype.name}'"
        raise Reject(stmt.begin, reason, "use int, float or double")
    name = ctx.private(variable, element.name, shape_of(variable.ctype))
    if variable.init is None:
        return []
    if variable.ctype.kind == "array":
        return _filled(ctx, variable, name, stmt)
    with ctx.hoisting() as before:
        value = values.assigned(ctx, variable.init)
    return [ctx.statement((*actions(ctx, tuple(before)), Assign(Access(name), "=", value)), stmt.begin, stmt.end)]


def _filled(ctx: Context, variable: Variable, name: str, stmt: DeclStmt) -> list[Node]:
    """A local array with an initializer: zeros by loops, then the listed elements."""
    init = variable.init
    extents: list[int] = []
    for extent in shape_of(variable.ctype):
        if not isinstance(extent, int):
            raise Reject(stmt.begin, f"the initializer of '{variable.name}' is not understood", "assign its elements")
        extents.append(extent)
    if not isinstance(init, Items):
        raise Reject(stmt.begin, f"the initializer of '{variable.name}' is not understood", "assign its elements")
    listed: list[tuple[tuple[int, ...], CExpr]] = []
    _listed(init, (), len(extents), listed, stmt)
    element = ctx.accesses.arrays[name].ctype
    total = 1
    for extent in extents:
        total *= extent
    result: list[Node] = []
    plain = all(isinstance(strip(e), Lit) and strip(e).value == 0 for _, e in listed)  # type: ignore[union-attr]
    if len(listed) < total or plain:
        names = [ctx.fresh(f"{name}_i") for _ in extents]
        target = Access(name, tuple(Affine.of(n) for n in names))
        zero = Literal({"float": "0.0f", "double": "0.0"}.get(element, "0"), element)
        inner: Node = ctx.statement((Assign(target, "=", zero),), stmt.begin, stmt.end)
        for loop_name, extent in reversed(list(zip(names, extents, strict=True))):
            inner = Loop(loop_name, "int", (Affine(),), (Affine.constant(extent),), 1, (inner,))
        result.append(inner)
    if not plain:
        if len(listed) > 64:
            raise Reject(
                stmt.begin, f"'{variable.name}' has a long initializer", "make it a const array in front of the loop"
            )
        for subscripts, expr in listed:
            target = Access(name, tuple(Affine.constant(s) for s in subscripts))
            value = values.assigned(ctx, expr)
            result.append(ctx.statement((Assign(target, "=", value),), stmt.begin, stmt.end))
    return result


def _listed(
    init: Items, prefix: tuple[int, ...], rank: int, found: list[tuple[tuple[int, ...], CExpr]], stmt: DeclStmt
) -> None:
    for position, item in enumerate(init.items):
        here = (*prefix, position)
        if isinstance(item, Items) and len(here) < rank:
            _listed(item, here, rank, found, stmt)
        elif len(here) == rank and item.ctype.is_scalar:
            found.append((here, item))
        else:
            raise Reject(stmt.begin, "an initializer is not understood", "assign the elements one by one")
