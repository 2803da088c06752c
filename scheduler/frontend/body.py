"""Statements to loops, guards and statements of the IR."""

from __future__ import annotations

from scheduler.frontend import headers, integers, places, values
from scheduler.frontend.context import Active, ArrayInfo, Context, Frame, Pointer, Refuse, Substitution
from scheduler.frontend.csyntax import (
    INT,
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
    Lit,
    Member,
    OtherStmt,
    Ref,
    ReturnStmt,
    Set,
    Step,
    Strange,
    Variable,
    all_expressions,
    statements,
    strip,
    subexpressions,
)
from scheduler.frontend.forward import substitution_for
from scheduler.frontend.integers import NotAffine
from scheduler.frontend.scalars import access_path, dead_after, flatten, stored_variables
from scheduler.ir.affine import Affine
from scheduler.ir.nest import (
    Access,
    Action,
    Assign,
    Binary,
    Expr,
    Guard,
    If,
    Literal,
    Loop,
    Name,
    Node,
    Predicate,
    Read,
    Span,
    Statement,
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
            return _declaration(ctx, stmt, rest)
        case ExprStmt(expr=expr):
            if isinstance(expr, Set) and expr.op == "=" and isinstance(expr.left, Ref):
                found = substitution_for(ctx, expr.left.var, expr.right, stmt, rest)
                if found is not None:
                    ctx.substitutions[expr.left.var] = found
                    return []
            return [statement(ctx, (stmt,), stmt)] if _effect(expr) else []
        case _:
            refuse_statement(stmt)
    return []


def refuse_statement(stmt: CStmt) -> None:
    """Raises Refuse for a statement that nothing can be done with."""
    at = stmt.begin
    match stmt:
        case ReturnStmt():
            raise Refuse(at, "the loop returns from the function", "set a flag or a result and return behind the loop")
        case JumpStmt(what=what):
            advice = {
                "break": "give the loop a fixed number of iterations",
                "continue": "turn it into an if around the rest of the body",
            }.get(what, "use structured loops")
            raise Refuse(at, f"the loop contains {what}", advice)
        case OtherStmt(what="null"):
            return
        case OtherStmt(what="while" | "do" as what):
            raise Refuse(at, f"the loop contains a {what} loop", "write it as a for loop with a known number of iterations")
        case OtherStmt(what="asm"):
            raise Refuse(at, "the loop contains inline assembly", "write it in C")
        case OtherStmt(what="pragma"):
            raise Refuse(at, "the loop already has a pragma on it", "remove the pragma to let the loop be tuned")
        case OtherStmt(what="too deep"):
            raise Refuse(at, "the code is nested too deeply", "split it into functions")
        case OtherStmt(what=what):
            raise Refuse(at, f"the loop contains a {what}", "use if and for only")


# ------------------------------------------------------------------------------------------ loops


def loop(ctx: Context, stmt: ForStmt) -> Loop:
    """Raises Refuse."""
    if len(ctx.loops) >= _MAX_LOOP_DEPTH:
        raise Refuse(stmt.begin, "the loops are nested too deeply", "split them into functions")
    found = headers.header(ctx, stmt)
    variable = found.variable
    if ctx.active(variable) is not None or variable in ctx.written:
        at = ctx.changes.get(variable, stmt.begin)
        raise Refuse(at, f"the iterator '{variable.name}' is changed inside the loop", "change it in the loop header only")
    if not isinstance(stmt.init, DeclStmt) and not dead_after(variable, ctx.frames, ctx.function):
        raise Refuse(
            stmt.begin,
            f"the iterator '{variable.name}' is used behind the loop",
            "declare it in the loop header, or set it again before it is used",
        )
    ctx.work.spend(50, stmt.begin)
    name = ctx.fresh(variable.name)
    _check_bound_reads(ctx, stmt)
    domain = ctx.domain.enter(name, headers.domain_constraints(name, found))
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
        return _guard(ctx, integers.condition(ctx, stmt.condition, False), rest, owner)
    except NotAffine:
        pass
    if not _has_loops(rest):
        found = actions(ctx, rest)
        test = _test(ctx, stmt.condition, False)
        return [ctx.statement((If(test, tuple(found)),), stmt.begin, rest[-1].end)] if found else []
    return _predicates(ctx, stmt, (), rest, owner)


def _branch(ctx: Context, stmt: IfStmt) -> list[Node]:
    then = flatten((stmt.then,))
    orelse = flatten((stmt.orelse,)) if stmt.orelse is not None else ()
    try:
        holds, fails = integers.condition(ctx, stmt.condition), integers.condition(ctx, stmt.condition, False)
    except NotAffine:
        if not _has_loops((stmt,)):
            return [statement(ctx, (stmt,), stmt)]
        return _predicates(ctx, stmt, then, orelse, stmt)
    return [*_guard(ctx, holds, then, stmt), *_guard(ctx, fails, orelse, stmt)]


def _has_loops(body: tuple[CStmt, ...]) -> bool:
    return any(isinstance(s, ForStmt) for b in body for s in statements(b))


def _guard(ctx: Context, dnf: integers.Dnf, body: tuple[CStmt, ...], owner: CStmt) -> list[Node]:
    """An affine condition around statements."""
    if not body:
        return []
    if any(not conjunction for conjunction in dnf):
        return list(nodes(ctx, body, owner))
    with ctx.within(ctx.domain.where(dnf[0]) if len(dnf) == 1 else ctx.domain):
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
        condition = stmt.condition
        before = [ctx.statement((Assign(Access(name), "=", test),), condition.at, condition.at + 1)]
        flag = Read(Access(name), "int")
        tests: tuple[Expr, Expr] = (flag, Unary("!", flag, "int"))
    else:
        tests = (_test(ctx, stmt.condition, True), _test(ctx, stmt.condition, False))
    result = before
    for test, body in zip(tests, (then, orelse), strict=True):
        inner = nodes(ctx, body, owner) if body else ()
        if inner:
            result.append(Predicate(test, inner))
    return result


def _test(ctx: Context, condition: CExpr, holds: bool) -> Expr:
    test = values.value(ctx, condition)
    return test if holds else Unary("!", test, "int")


# -------------------------------------------------------------------------------------- statements


def _effect(expr: CExpr) -> bool:
    """False for a statement without effect, like `(void)x`."""
    expr = strip(expr)
    if isinstance(expr, Conv) and expr.ctype.kind == "void":
        return any(isinstance(e, Set | Step | CCall | Strange) for e in subexpressions(expr))
    return True


def statement(ctx: Context, body: tuple[CStmt, ...], whole: CStmt) -> Statement:
    return ctx.statement(tuple(actions(ctx, body)), whole.begin, whole.end)


def actions(ctx: Context, body: tuple[CStmt, ...]) -> list[Action]:
    """The actions of loop-free statements."""
    result: list[Action] = []
    for position, stmt in enumerate(body):
        match stmt:
            case ExprStmt(expr=expr):
                if _effect(expr):
                    result.extend(effects(ctx, expr))
            case Compound(body=inner):
                result.extend(actions(ctx, inner))
            case IfStmt():
                with ctx.hoisting() as before:
                    test = values.value(ctx, stmt.condition)
                result.extend(before)
                then = actions(ctx, (stmt.then,))
                orelse = actions(ctx, (stmt.orelse,)) if stmt.orelse is not None else []
                if then or orelse:
                    if then:
                        result.append(If(test, tuple(then), tuple(orelse)))
                    else:
                        result.append(If(Unary("!", test, "int"), tuple(orelse)))
            case DeclStmt():
                for found in _declaration(ctx, stmt, body[position + 1 :]):
                    if not isinstance(found, Statement):
                        raise Refuse(stmt.begin, "declares an array inside a branch", "declare it in the loop body")
                    result.extend(found.body)
                    ctx.statement_count -= 1
            case _:
                refuse_statement(stmt)
    return result


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
                raise Refuse(expr.at, "the loop moves a pointer", "index the array with integers instead")
            target = _target(ctx, expr.operand)
            one = Literal("1", "int")
            return [*before, Assign(target, "+=" if expr.op == "++" else "-=", one)]
        if isinstance(expr, Set):
            if expr.left.ctype.kind == "pointer":
                raise Refuse(
                    expr.at,
                    "the loop changes a pointer",
                    "index the arrays with integers; where two arrays are swapped every step, do two steps an iteration",
                )
            first: list[Action] = []
            right = expr.right
            chained = strip(right)
            if isinstance(chained, Set):
                first = effects(ctx, chained)
                right = chained.left
                value: Expr = values.value(ctx, right)
                if right.ctype.name != expr.right.ctype.name and expr.op != "=":
                    raise Refuse(expr.at, "chains compound assignments", "write one assignment per statement")
            elif expr.op == "=":
                value = values.assigned(ctx, right)
            else:
                value = values.updated(ctx, expr.op, expr.left.ctype.name, right)
            target = _target(ctx, expr.left)
            return [*first, *before, Assign(target, expr.op, value)]
    if isinstance(expr, CCall):
        values.value(ctx, expr)  # says what is wrong with it
        raise Refuse(expr.at, f"calls '{expr.name}' without using its result", "remove the call")
    if isinstance(expr, Strange):
        values.value(ctx, expr)
    raise Refuse(expr.at, "a statement without effect", "remove it")


def _target(ctx: Context, expr: CExpr) -> Access:
    if isinstance(expr, Ref) and ctx.active(expr.var) is not None:
        raise Refuse(expr.at, f"the loop changes its iterator '{expr.var.name}'", "change it in the loop header only")
    return places.access(ctx, expr, True)


# ------------------------------------------------------------------------------------ declarations


def _declaration(ctx: Context, stmt: DeclStmt, rest: tuple[CStmt, ...]) -> list[Node]:
    result: list[Node] = []
    for variable in stmt.variables:
        result.extend(_declared(ctx, variable, stmt, rest))
    return result


def _declared(ctx: Context, variable: Variable, stmt: DeclStmt, rest: tuple[CStmt, ...]) -> list[Node]:
    if variable.storage == "static":
        raise Refuse(stmt.begin, f"'{variable.name}' is static inside the loop", "declare it outside the function")
    if variable.ctype.is_volatile:
        raise Refuse(stmt.begin, f"'{variable.name}' is volatile", "use an ordinary variable")
    if variable.ctype.kind == "pointer":
        if variable.init is None or variable.writes or variable.address_taken:
            at = ctx.changes.get(variable, stmt.begin)
            raise Refuse(at, f"the pointer '{variable.name}' moves inside the loop", "index the array with integers")
        place = places.pointer(ctx, variable.init)
        element = variable.ctype.element
        if element is None or places.bare(element) != places.bare(place.target):
            raise Refuse(stmt.begin, "converts a pointer to another type", "declare the array with one type")
        ctx.substitutions[variable] = Substitution(None, None, Pointer(place.root, place.indices, place.target))
        return []
    if variable.init is not None and variable.ctype.is_scalar:
        found = substitution_for(ctx, variable, variable.init, stmt, rest)
        if found is not None:
            ctx.substitutions[variable] = found
            return []
    innermost = variable.ctype
    while innermost.kind == "array" and innermost.element is not None:
        innermost = innermost.element
    if not innermost.is_scalar:
        raise Refuse(stmt.begin, f"declares '{variable.name}' of type '{variable.ctype.name}'", "use int, float or double")
    name = ctx.fresh(variable.name)
    ctx.locals_[variable] = name
    scope = ctx.loops[-1].name if ctx.loops else None
    shape = places.shape_of(variable.ctype)
    ctx.arrays[name] = ArrayInfo(
        name, innermost.name, variable.ctype, Storage.PRIVATE, variable, None, scope, False, shape
    )
    if variable.init is None:
        return []
    if variable.ctype.kind == "array":
        return _filled(ctx, variable, name, stmt)
    with ctx.hoisting() as before:
        value = values.assigned(ctx, variable.init)
    return [ctx.statement((*before, Assign(Access(name), "=", value)), stmt.begin, stmt.end)]


def _filled(ctx: Context, variable: Variable, name: str, stmt: DeclStmt) -> list[Node]:
    """A local array with an initializer: zeros by loops, then the listed elements."""
    init = variable.init
    extents: list[int] = []
    for extent in places.shape_of(variable.ctype):
        if not isinstance(extent, int):
            raise Refuse(stmt.begin, f"the initializer of '{variable.name}' is not understood", "assign its elements")
        extents.append(extent)
    if not isinstance(init, Items):
        raise Refuse(stmt.begin, f"the initializer of '{variable.name}' is not understood", "assign its elements")
    listed: list[tuple[tuple[int, ...], CExpr]] = []
    _listed(init, (), len(extents), listed, stmt)
    element = ctx.arrays[name].ctype
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
            raise Refuse(stmt.begin, f"'{variable.name}' has a long initializer", "make it a static const array")
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
            raise Refuse(stmt.begin, "an initializer is not understood", "assign the elements one by one")
