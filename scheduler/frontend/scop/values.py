"""C expressions to expression trees that evaluate to the same bits.

Long, because values and places of C are defined by each other.
"""

from __future__ import annotations

from dataclasses import replace

from scheduler.frontend.analysis.poly import Poly
from scheduler.frontend.analysis.prove import Domain
from scheduler.frontend.c_ast.arith import is_float, is_integer, literal_text, value_range
from scheduler.frontend.c_ast.csyntax import (
    ASSERTIONS,
    BUILTINS,
    Bin,
    CCall,
    CExpr,
    Cond,
    Conv,
    CType,
    Index,
    Items,
    Lit,
    Member,
    Ref,
    Set,
    Step,
    Un,
    Unmodelled,
    Variable,
    subexpressions,
)
from scheduler.frontend.c_ast.folding import explicit, fold, set_once
from scheduler.frontend.c_ast.reject import ASSERT_ADVICE, INDEX_ADVICE, MEMBERS_ADVICE, Reject, unmodelled
from scheduler.frontend.scop import integers, members, pure_calls
from scheduler.frontend.scop.arrays import array_name, has_rows
from scheduler.frontend.scop.context import ZERO, Context, Dimension, Pending, Place, Pointer, Root
from scheduler.frontend.scop.integers import NotAffine
from scheduler.frontend.scop.null_tests import tested
from scheduler.ir.nest import Access, Binary, Call, Cast, Conditional, Expr, Literal, Name, Read, Unary
from scheduler.ir.types import FUNCTIONS, common_type, literal_type, promoted

_COMPARE = ("<", ">", "<=", ">=", "==", "!=")
_ARITHMETIC = ("+", "-", "*", "/", "%", "&", "|", "^")


def value(ctx: Context, expr: CExpr) -> Expr:
    """Raises Reject."""
    ctx.work.spend(1, expr.at)
    expr = tested(ctx, expr)
    ctype = expr.ctype.name
    match expr:
        case Lit():
            if expr.value is None:
                raise Reject(expr.at, "uses a string", "move it out of the loop")
            check_scalar(expr)
            return literal(expr)
        case Ref():
            return _reference(ctx, expr)
        case Index() | Member() | Un(op="*"):
            return _read(ctx, expr)
        case Un(op="-" | "+" | "~", operand=operand):
            check_scalar(expr)
            return Unary(expr.op, value(ctx, _promoted(operand)), ctype)  # type: ignore[arg-type]
        case Un(op="!", operand=operand):
            check_scalar(operand)
            return Unary("!", value(ctx, operand), ctype)
        case Bin():
            return _binary(ctx, expr)
        case Cond():
            check_scalar(expr)
            if isinstance(expr.condition, Lit):  # of a pointer that is NULL, or is none
                return value(ctx, explicit(expr.then if expr.condition.value else expr.orelse, expr.ctype))
            condition = value(ctx, expr.condition)
            left, right = _balanced(expr.then, expr.orelse)
            with ctx.conditional():
                return Conditional(condition, value(ctx, left), value(ctx, right), ctype)
        case Conv():
            return _conversion(ctx, expr)
        case CCall():
            return _call(ctx, expr)
        case Set() | Step():
            raise Reject(expr.at, "changes a variable inside an expression", "make it a statement of its own")
        case Unmodelled():
            raise unmodelled(expr.what, expr.at)
        case Un() | Items():
            raise Reject(expr.at, "uses an address as a value", INDEX_ADVICE)
    raise AssertionError(expr)


def literal(expr: Lit) -> Expr:
    """A literal node; negative constants are the negation of one."""
    ctype = expr.ctype.name
    if isinstance(expr.value, int) and expr.value < 0:
        if expr.value == value_range(ctype)[0]:
            below = Literal(literal_text(-expr.value - 1, ctype), ctype)
            return Binary("-", Unary("-", below, ctype), Literal("1", "int"), ctype)
        return Unary("-", Literal(literal_text(-expr.value, ctype), ctype), ctype)
    if isinstance(expr.value, int) and literal_type(expr.text) not in (None, ctype):
        return Literal(literal_text(expr.value, ctype), ctype)
    return Literal(expr.text, ctype)


def check_scalar(expr: CExpr) -> None:
    """Raises Reject for anything but an integer, a float or a double."""
    if not expr.ctype.is_scalar:
        raise Reject(expr.at, f"uses a value of type '{expr.ctype.name}'", _scalar_advice(expr.ctype))


def _scalar_advice(ctype: CType) -> str:
    if ctype.kind in ("pointer", "array", "function"):
        return INDEX_ADVICE
    return MEMBERS_ADVICE if ctype.kind == "record" else "use int, float or double"


def _reference(ctx: Context, expr: Ref) -> Expr:
    variable = expr.var
    active = ctx.active(variable)
    if active is not None:
        return Name(active.name, active.ctype)
    substitution = ctx.accesses.substitutions.get(variable)
    if substitution is not None and substitution.expr is not None:
        return substitution.expr
    if variable.ctype.is_volatile:
        raise Reject(expr.at, f"'{variable.name}' is volatile", "copy it to an ordinary variable outside the loop")
    check_scalar(expr)
    if variable.ctype.kind == "int" and variable not in ctx.region.written and variable not in ctx.scope.inside:
        constant = fold(expr)
        if constant is not None:
            return literal(Lit(literal_text(constant, expr.ctype.name), constant, expr.ctype, expr.at))
        return Name(ctx.parameter(variable, used=False), variable.ctype.name)
    return _read(ctx, expr)


def _promoted(operand: CExpr) -> CExpr:
    """Without a conversion that C's integer promotion makes anyway."""
    if isinstance(operand, Conv) and not operand.explicit:
        inner = operand.operand
        if is_integer(inner.ctype.name) and promoted(inner.ctype.name) == operand.ctype.name:
            return inner
    return operand


def _bare(expr: CExpr) -> CExpr:
    """Without one implied conversion around it."""
    return expr.operand if isinstance(expr, Conv) and not expr.explicit else expr


def _balanced(left: CExpr, right: CExpr) -> tuple[CExpr, CExpr]:
    """Both operands without conversions that the usual arithmetic conversions make anyway."""
    bare_left, bare_right = _bare(left), _bare(right)
    wanted = left.ctype.name
    if right.ctype.name == wanted:
        for a, b in ((bare_left, bare_right), (bare_left, right), (left, bare_right)):
            if a.ctype.is_scalar and b.ctype.is_scalar and common_type(a.ctype.name, b.ctype.name) == wanted:
                return a, b
    return left, right


def _binary(ctx: Context, expr: Bin) -> Expr:
    op = expr.op
    if op == ",":
        raise Reject(expr.at, "uses the comma operator", "make it two statements")
    check_scalar(expr)
    check_scalar(expr.left)
    check_scalar(expr.right)
    if op in ("&&", "||"):
        left = value(ctx, expr.left)
        with ctx.conditional():
            return Binary(op, left, value(ctx, expr.right), expr.ctype.name)
    if op in ("<<", ">>"):
        a, b = _promoted(expr.left), _promoted(expr.right)
    elif op in _ARITHMETIC or op in _COMPARE:
        a, b = _balanced(expr.left, expr.right)
    else:
        raise Reject(expr.at, f"uses the operator '{op}'", "write it in plain C")
    return Binary(op, value(ctx, a), value(ctx, b), expr.ctype.name)


def _conversion(ctx: Context, expr: Conv) -> Expr:
    check_scalar(expr)
    operand = expr.operand
    if not operand.ctype.is_scalar:
        raise Reject(expr.at, f"converts a value of type '{operand.ctype.name}'", _scalar_advice(operand.ctype))
    if isinstance(operand, Lit) and isinstance(operand.value, int) and not expr.explicit and abs(operand.value) < 2**24:
        target = expr.ctype.name
        if is_float(target):
            return Literal(f"{operand.value}.0" + ("f" if target == "float" else ""), target)
    return Cast(expr.ctype.name, value(ctx, operand))


def assigned(ctx: Context, expr: CExpr) -> Expr:
    """The right side of `=`: the assignment converts to the target's type by itself."""
    if isinstance(expr, Conv) and not expr.explicit and expr.operand.ctype.is_scalar:
        return value(ctx, expr.operand)
    return value(ctx, expr)


def updated(ctx: Context, op: str, target: str, expr: CExpr) -> Expr:
    """The right side of a compound assignment."""
    if isinstance(expr, Conv) and not expr.explicit and expr.operand.ctype.is_scalar:
        inner = expr.operand
        same = (
            promoted(inner.ctype.name) == expr.ctype.name
            if op in ("<<=", ">>=")
            else (common_type(target, inner.ctype.name) == common_type(target, expr.ctype.name))
        )
        if same:
            return value(ctx, inner)
    return value(ctx, expr)


def _call(ctx: Context, expr: CCall) -> Expr:
    name = expr.library
    if expr.is_pure and name in BUILTINS:
        return _builtin(ctx, name, expr)
    expansion = pure_calls.expand(ctx, expr)
    if expansion is None:
        if name in FUNCTIONS and expr.ctype.is_scalar:
            ctx.assumed.called.add(expr.name)
            return Call(name, tuple(value(ctx, a) for a in expr.arguments), expr.ctype.name)
        if name.removesuffix(".") in FUNCTIONS:
            reason = f"{expr.text}, which may be a function of the program's own (-fno-builtin)"
            raise Reject(expr.at, reason, f"call __builtin_{expr.function}")
        if name in ASSERTIONS:
            raise Reject(expr.at, f"{expr.text}, which may end the program", ASSERT_ADVICE)
        raise Reject(
            expr.at,
            f"{expr.text}, which may have side effects",
            "move the call out of the loop; of library functions only pure mathematical ones can be tuned",
        )
    if expansion.before:
        if not ctx.reading.may_hoist:
            reason = f"{expr.text} where only an expression can stand"
            raise Reject(expr.at, reason, "call it in a statement of its own")
        ctx.hoist(expansion.before)
    return value(ctx, expansion.result)


def _builtin(ctx: Context, name: str, expr: CCall) -> Expr:
    """One of `BUILTINS`, as an expression."""
    if name.startswith("nan"):
        if not (isinstance(expr.arguments[0], Lit) and expr.arguments[0].text in ("", '""')):
            raise Reject(expr.at, f"{expr.text} with a tag", "write NAN")
        return Literal("NAN", expr.ctype.name)
    if not name.startswith("is"):
        return _infinity(expr.ctype.name)
    operand = value(ctx, expr.arguments[0])
    assert operand.ctype in ("float", "double"), operand
    infinity = _infinity(operand.ctype)
    if name == "isnan":
        return Binary("!=", operand, operand, "int")
    below = Unary("-", infinity, operand.ctype)
    if name == "isfinite":
        number = Binary("&&", Binary("==", operand, operand, "int"), Binary("!=", operand, infinity, "int"), "int")
        return Binary("&&", number, Binary("!=", operand, below, "int"), "int")
    return Binary("-", Binary("==", operand, infinity, "int"), Binary("==", operand, below, "int"), "int")


def _infinity(ctype: str) -> Literal:
    return Literal("1e999f" if ctype == "float" else "1e999", ctype)


# ----------------------------------------------------------------------------------------- places

FOLLOWED_ADVICE = "use an array, or a table of pointers to rows (double **a)"


def dimension(ctx: Context, expr: CExpr) -> Dimension:
    """A subscript expression, as a polynomial where possible."""
    try:
        found: Poly | None = integers.exact_poly(ctx, expr)
    except NotAffine:
        found = None
    return Dimension(found, value(ctx, expr))


def _plus(left: Dimension, right: Dimension, op: str = "+") -> Dimension:
    both = None
    if left.poly is not None and right.poly is not None:
        both = left.poly + right.poly if op == "+" else left.poly - right.poly
    if isinstance(left.expr, Literal) and left.expr.text == "0":
        return Dimension(both, right.expr if op == "+" else Unary("-", right.expr, "long"))
    if isinstance(right.expr, Literal) and right.expr.text == "0":
        return Dimension(both, left.expr)
    return Dimension(both, Binary(op, left.expr, right.expr, "long"))


def lvalue(ctx: Context, expr: CExpr) -> Place:
    """The object an expression designates. Raises Reject."""
    match expr:
        case Ref(var=var):
            return Place(Root(var), (), var.ctype)
        case Member():
            return _member(ctx, expr)
        case Index(base=base, index=index):
            aim, distance = pointer(ctx, base), dimension(ctx, index)
            place = None if distance.poly is None else distance.poly.constant
            extent = base.ctype.extent
            if aim.inside is not None and isinstance(extent, int) and place is not None and not 0 <= place < extent:
                reason = f"a subscript of '{aim.root.text}' leaves its dimension"
                raise Reject(expr.at, reason, "use the array with its declared dimensions")
            return _at(_moved(ctx, aim, distance, "+", expr.at))
        case Un(op="*", operand=operand):
            return _at(pointer(ctx, operand))
        case Conv(operand=operand) if not expr.explicit:
            return lvalue(ctx, operand)
    if isinstance(expr, Unmodelled):
        raise unmodelled(expr.what, expr.at)
    raise Reject(expr.at, "assigns to or reads something that is not a variable or array element", "use plain arrays")


def _at(place: Pointer) -> Place:
    """What a pointer points to."""
    return Place(place.root, place.indices, place.target, place.inside)


def _moved(ctx: Context, place: Pointer, distance: Dimension, op: str, at: int) -> Pointer:
    """Pointer arithmetic."""
    if place.inside is not None:
        if op == "-":
            negative = None if distance.poly is None else distance.poly.scale(-1)
            distance = Dimension(negative, Unary("-", distance.expr, "long"))
        return replace(place, inside=members.element(ctx, place.inside, place.target, distance, at))
    return replace(place, indices=(*place.indices[:-1], _plus(place.indices[-1], distance, op)))


def _member(ctx: Context, expr: Member) -> Place:
    base = expr.base
    while isinstance(base, Conv) and not base.explicit:
        base = base.operand
    if expr.arrow:
        aim = pointer(ctx, base)
        whole = _at(aim)
        first = aim.inside is None and all(d is ZERO for d in aim.indices)
        single = first and aim.root not in ctx.accesses.indexed and _type_of(ctx, aim.root).kind == "pointer"
    else:
        whole = lvalue(ctx, base)
        single = not whole.indices and whole.inside is None
        if isinstance(base, Un) and base.op == "*":  # (*s).n
            single = (
                all(d is ZERO for d in whole.indices)
                and whole.root not in ctx.accesses.indexed
                and whole.inside is None
            )
            single = single and _type_of(ctx, whole.root).kind == "pointer"
    root = whole.root
    if root.variable in ctx.region.written or root.variable in ctx.scope.inside:
        raise Reject(expr.at, f"uses a member of '{root.variable.name}', which the loop changes", "use plain arrays")
    if whole.ctype.kind != "record":
        raise Reject(expr.at, f"uses a member of a value of type '{whole.ctype.name}'", "use plain arrays")
    if not single:
        inside, ctype = members.enter(ctx, whole.inside, whole.ctype, expr.name, expr.at)
        return Place(root, whole.indices, ctype, inside)
    member = Root(root.variable, (*root.path, (expr.name, bool(whole.indices))))
    ctx.accesses.member_types[member] = expr.ctype
    return Place(member, (), expr.ctype)


def _type_of(ctx: Context, root: Root) -> CType:
    return ctx.accesses.member_types[root] if root.path else root.variable.ctype


def pointer(ctx: Context, expr: CExpr) -> Pointer:
    """A pointer value. Raises Reject."""
    if isinstance(expr, Bin) and expr.op in ("+", "-") and "pointer" in _kinds(expr):
        left, right = expr.left, expr.right
        if left.ctype.kind not in ("pointer", "array"):
            left, right = right, left
        return _moved(ctx, pointer(ctx, left), dimension(ctx, right), expr.op, expr.at)
    if isinstance(expr, Un) and expr.op == "&":
        place = lvalue(ctx, expr.operand)
        if not place.indices or (place.inside is not None and not place.inside.parts):
            raise Reject(expr.at, f"takes the address of '{place.root.text}'", "use the variable itself")
        return Pointer(place.root, place.indices, place.ctype, place.inside)
    if isinstance(expr, Conv):
        aim = pointer(ctx, expr.operand)
        element = expr.ctype.element
        if element is None or bare_type(element) != bare_type(aim.target):
            raise Reject(expr.at, "converts a pointer to another type", "declare the array with one type")
        return aim
    if isinstance(expr, Ref) and expr.var in ctx.accesses.substitutions:
        substituted = ctx.accesses.substitutions[expr.var].pointer
        if substituted is not None:
            return substituted
    if isinstance(expr, Ref) and expr.var.ctype.kind == "pointer":
        derived = _derived_pointer(ctx, expr.var)
        if derived is not None:
            return derived
    if isinstance(expr, Ref | Member | Index | Un):
        place = lvalue(ctx, expr)
        ctype = place.ctype
        if ctype.element is None:
            raise Reject(expr.at, "uses a pointer that is not understood", "use plain arrays")
        if ctype.kind == "pointer" and (place.indices or place.inside is not None):
            root = members.path_of(ctx, expr)
            if root is None or place.root in ctx.accesses.tables:
                return _row(ctx, place, expr.at)
            if ctype.is_volatile:
                raise Reject(expr.at, "follows pointers stored in memory", FOLLOWED_ADVICE)
            ctx.accesses.member_types[root] = ctype
            return Pointer(root, (ZERO,), ctype.element)
        if place.inside is not None:
            return Pointer(place.root, place.indices, ctype.element, place.inside)
        return Pointer(place.root, (*place.indices, ZERO), ctype.element)
    if isinstance(expr, Cond) and (chosen := fold(expr.condition)) is not None:
        return pointer(ctx, expr.then if chosen else expr.orelse)
    if isinstance(expr, Unmodelled):
        raise unmodelled(expr.what, expr.at)
    if isinstance(expr, Lit) and expr.value is None:
        raise Reject(expr.at, "uses a string", "move it out of the loop")
    raise Reject(expr.at, "computes a pointer in a way that is not understood", "index the array directly")


def _row(ctx: Context, place: Place, at: int) -> Pointer:
    """The row that a pointer in a table leads to, which is the next dimension of what `place` is an element of.

    Raises Reject.
    """
    inside = "a structure" if place.inside is not None else "an array of arrays"
    declared, element = _type_of(ctx, place.root), place.ctype.element
    if place.inside is not None or element is None or not has_rows(declared):
        raise Reject(at, f"follows pointers stored in {inside}", FOLLOWED_ADVICE)
    inner: CType | None = declared
    while inner is not None and inner.kind in ("pointer", "array"):
        if inner.is_volatile:
            raise Reject(at, f"'{place.root.text}' is volatile", "copy it to an ordinary variable outside the loop")
        inner = inner.element
    return Pointer(place.root, (*place.indices, ZERO), element)


def _derived_pointer(ctx: Context, variable: Variable) -> Pointer | None:
    """The `A + n` of `double *p = A + n;` in front of the nest, where neither changes."""
    if variable in ctx.accesses.derived_pointers:
        return ctx.accesses.derived_pointers[variable]
    ctx.accesses.derived_pointers[variable] = None
    init, element = variable.init, variable.ctype.element
    if init is None or element is None or variable.owner or variable.storage != "local" or not set_once(variable):
        return None
    addressed = {id(e.operand) for e in subexpressions(init) if isinstance(e, Un) and e.op == "&"}
    for part in subexpressions(init):
        if not isinstance(part, Lit | Ref | Conv | Bin | Un | Index):
            return None
        loaded = isinstance(part, Index) or (isinstance(part, Un) and part.op == "*")
        if loaded and part.ctype.kind != "array" and id(part) not in addressed:
            return None  # what it is read from may be gone
        if isinstance(part, Ref):
            array = part.var.ctype.kind == "array" and part.var.storage != "param" and ctx.visible(part.var)
            if not array and not integers.unchanging(ctx, part.var):
                return None
    assumed = len(ctx.assumed.facts.assumptions)
    try:
        with ctx.within(Domain()):
            place = pointer(ctx, init)
    except Reject:
        del ctx.assumed.facts.assumptions[assumed:]
        return None
    if bare_type(element) == bare_type(place.target) and place.root.variable.ctype.is_scalar is False:
        ctx.accesses.derived_pointers[variable] = place
    return ctx.accesses.derived_pointers[variable]


def _kinds(expr: Bin) -> set[str]:
    return {"pointer" if e.ctype.kind == "array" else e.ctype.kind for e in (expr.left, expr.right)}


def bare_type(ctype: CType) -> str:
    return ctype.name.replace("const ", "").replace("volatile ", "").replace(" *const", " *")


def access(ctx: Context, expr: CExpr, write: bool) -> Access:
    """One reference to a scalar or an array element; its subscripts are decided later. Raises Reject."""
    place = lvalue(ctx, expr)
    root, indices, ctype = place.root, place.indices, place.ctype
    if ctype.is_volatile or expr.ctype.is_volatile or root.variable.ctype.is_volatile:
        raise Reject(expr.at, f"'{root.text}' is volatile", "copy it to an ordinary variable outside the loop")
    if ctype.kind == "pointer":
        what = "changes" if write else "uses the value of"
        raise Reject(expr.at, f"{what} the pointer '{root.text}'", INDEX_ADVICE)
    if not ctype.is_scalar:
        raise Reject(expr.at, f"uses a value of type '{ctype.name}'", _scalar_advice(ctype))
    moved = len(indices) > 1 and _through_pointer(expr, root)
    if place.inside is not None:
        last, _ = members.last_dimension(ctx, place.inside, ctype, expr.at)
        indices = (*indices, last)
        ctx.accesses.placed[(root, place.inside.steps)] = (place.inside.offset, place.inside.record, ctype)
    name = array_name(ctx, root, ctype, expr.at, place.inside)
    ctx.accesses.pending.append(Pending(name, indices, ctx.domain, write, moved))
    return Access(f"@{len(ctx.accesses.pending) - 1}")


def _through_pointer(expr: CExpr, root: Root) -> bool:
    """An element of an array that is reached by a pointer to another element."""
    while isinstance(expr, Index | Conv | Bin) or (isinstance(expr, Un) and expr.op == "*"):
        if isinstance(expr, Bin):
            expr = expr.left if expr.left.ctype.kind in ("pointer", "array") else expr.right
        else:
            expr = expr.base if isinstance(expr, Index) else expr.operand
    return isinstance(expr, Un) or (isinstance(expr, Ref) and expr.var is not root.variable)


def _read(ctx: Context, expr: CExpr) -> Read:
    return Read(access(ctx, expr, False), expr.ctype.name)
