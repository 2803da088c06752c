"""Which array an lvalue is part of, and its subscripts."""

from __future__ import annotations

from scheduler.frontend import integers, values
from scheduler.frontend.context import ArrayInfo, Context, Dimension, Pending, Pointer, Refuse, Root
from scheduler.frontend.csyntax import Bin, CExpr, Conv, CType, Index, Member, Ref, Un, Variable
from scheduler.frontend.integers import NotAffine
from scheduler.frontend.poly import Poly
from scheduler.ir.nest import Access, Binary, Literal, Read, Storage, Unary

ZERO = Dimension(Poly(), Literal("0", "int"))


def dimension(ctx: Context, expr: CExpr) -> Dimension:
    """A subscript expression, as a polynomial where possible."""
    try:
        found: Poly | None = integers.exact_poly(ctx, expr)
    except NotAffine:
        found = None
    return Dimension(found, values.value(ctx, expr))


def _plus(left: Dimension, right: Dimension, op: str = "+") -> Dimension:
    both = None
    if left.poly is not None and right.poly is not None:
        both = left.poly + right.poly if op == "+" else left.poly - right.poly
    if isinstance(left.expr, Literal) and left.expr.text == "0":
        return Dimension(both, right.expr if op == "+" else Unary("-", right.expr, "long"))
    if isinstance(right.expr, Literal) and right.expr.text == "0":
        return Dimension(both, left.expr)
    return Dimension(both, Binary(op, left.expr, right.expr, "long"))


def lvalue(ctx: Context, expr: CExpr) -> tuple[Root, tuple[Dimension, ...], CType]:
    """The object an expression designates. Raises Refuse."""
    match expr:
        case Ref(var=var):
            return Root(var), (), var.ctype
        case Member():
            root, indices, _ = _member(ctx, expr)
            return root, indices, expr.ctype
        case Index(base=base, index=index):
            place = pointer(ctx, base)
            moved = _plus(place.indices[-1], dimension(ctx, index))
            return place.root, (*place.indices[:-1], moved), place.target
        case Un(op="*", operand=operand):
            place = pointer(ctx, operand)
            return place.root, place.indices, place.target
        case Conv(operand=operand) if not expr.explicit:
            return lvalue(ctx, operand)
    raise Refuse(expr.at, "assigns to or reads something that is not a variable or array element", "use plain arrays")


def _member(ctx: Context, expr: Member) -> tuple[Root, tuple[Dimension, ...], CType]:
    base = expr.base
    while isinstance(base, Conv) and not base.explicit:
        base = base.operand
    if isinstance(base, Ref):
        root = Root(base.var)
    elif isinstance(base, Member):
        root, indices, _ = _member(ctx, base)
        if indices:
            raise Refuse(expr.at, "uses an array of structures", "use one array per field")
    elif isinstance(base, Un) and base.op == "*" and isinstance(base.operand, Ref):
        root = Root(base.operand.var)
        expr = Member(base.operand, expr.name, True, expr.ctype, expr.at)
    else:
        raise Refuse(expr.at, "uses an array of structures", "use one array per field")
    if base.ctype.kind == "pointer" and isinstance(base, Member):
        raise Refuse(expr.at, "follows a pointer inside a structure", "copy the pointer to a local variable first")
    if root.variable in ctx.written or root.variable in ctx.inside:
        raise Refuse(expr.at, f"uses a member of '{root.variable.name}', which the loop changes", "use plain arrays")
    member = Root(root.variable, (*root.path, (expr.name, expr.arrow)))
    ctx.member_types[member] = expr.ctype
    return member, (), expr.ctype


def pointer(ctx: Context, expr: CExpr) -> Pointer:
    """A pointer value. Raises Refuse."""
    if isinstance(expr, Bin) and expr.op in ("+", "-") and "pointer" in _kinds(expr):
        left, right = expr.left, expr.right
        if left.ctype.kind not in ("pointer", "array"):
            left, right = right, left
        place = pointer(ctx, left)
        moved = _plus(place.indices[-1], dimension(ctx, right), expr.op)
        return Pointer(place.root, (*place.indices[:-1], moved), place.target)
    if isinstance(expr, Un) and expr.op == "&":
        root, indices, ctype = lvalue(ctx, expr.operand)
        if not indices:
            raise Refuse(expr.at, f"takes the address of '{root.text}'", "use the variable itself")
        return Pointer(root, indices, ctype)
    if isinstance(expr, Conv):
        place = pointer(ctx, expr.operand)
        element = expr.ctype.element
        if element is None or bare(element) != bare(place.target):
            raise Refuse(expr.at, "converts a pointer to another type", "declare the array with one type")
        return place
    if isinstance(expr, Ref) and expr.var in ctx.substitutions:
        substituted = ctx.substitutions[expr.var].pointer
        if substituted is not None:
            return substituted
    if isinstance(expr, Ref | Member | Index | Un):
        root, indices, ctype = lvalue(ctx, expr)
        if ctype.element is None:
            raise Refuse(expr.at, "uses a pointer that is not understood", "use plain arrays")
        if ctype.kind == "pointer" and indices:
            raise Refuse(expr.at, "follows pointers stored in memory", "use a flat or two-dimensional array")
        return Pointer(root, (*indices, ZERO), ctype.element)
    raise Refuse(expr.at, "computes a pointer in a way that is not understood", "index the array directly")


def _kinds(expr: Bin) -> set[str]:
    return {"pointer" if e.ctype.kind == "array" else e.ctype.kind for e in (expr.left, expr.right)}


def bare(ctype: CType) -> str:
    return ctype.name.replace("const ", "").replace("volatile ", "").replace(" *const", " *")


def access(ctx: Context, expr: CExpr, write: bool) -> Access:
    """One reference to a scalar or an array element; its subscripts are decided later. Raises Refuse."""
    root, indices, ctype = lvalue(ctx, expr)
    if ctype.is_volatile or expr.ctype.is_volatile or root.variable.ctype.is_volatile:
        raise Refuse(expr.at, f"'{root.text}' is volatile", "copy it to an ordinary variable outside the loop")
    if ctype.kind == "pointer":
        what = "changes" if write else "uses the value of"
        raise Refuse(expr.at, f"{what} the pointer '{root.text}'", "index arrays with integers instead of moving pointers")
    if not ctype.is_scalar:
        raise Refuse(expr.at, f"uses a value of type '{ctype.name}'", "use int, float or double")
    name = array_name(ctx, root, indices, ctype, expr.at)
    ctx.pending.append(Pending(name, indices, ctx.domain, write))
    return Access(f"@{len(ctx.pending) - 1}")


def read(ctx: Context, expr: CExpr) -> Read:
    return Read(access(ctx, expr, False), expr.ctype.name)


def array_name(ctx: Context, root: Root, indices: tuple[Dimension, ...], ctype: CType, at: int) -> str:
    """The IR name of the array, registered on first sight."""
    variable = root.variable
    if not root.path:
        name = ctx.locals_.get(variable) or ctx.private_name(variable)
        if name is not None:
            return name
    known = ctx.by_root.get(root)
    if known is None:
        known = ctx.by_root[root] = _register(ctx, root, indices, ctype, at)
    return known


def _register(ctx: Context, root: Root, indices: tuple[Dimension, ...], ctype: CType, at: int) -> str:
    variable = root.variable
    if variable.storage == "other":
        raise Refuse(at, f"'{root.text}' is not a variable", "use plain arrays")
    declared = variable.ctype
    if root.path:
        declared = ctx.member_types[root]
        name = ctx.fresh(root.text.replace("->", "_").replace(".", "_"))
    else:
        name = variable.name
        owner = ctx.outside.get(name)
        if owner is not variable and name in ctx.taken:
            raise Refuse(at, f"two variables named '{name}' meet in this loop", "rename one of them")
        ctx.outside[name] = variable
        ctx.taken.add(name)
    ctx.arrays[name] = ArrayInfo(
        name,
        ctype.name,
        declared,
        _storage(variable, declared, bool(root.path)),
        variable,
        root.text if root.path else None,
        None,
        ctype.is_const,
        shape_of(declared),
    )
    return name


def _storage(variable: Variable, declared: CType, member: bool) -> Storage:
    if member:
        if declared.kind == "pointer" or variable.ctype.kind == "pointer":
            return Storage.POINTER
        return Storage.GLOBAL if variable.storage in ("global", "static") else Storage.LOCAL
    if declared.kind == "pointer" or (declared.kind == "array" and variable.storage == "param"):
        return Storage.RESTRICT if declared.is_restrict else Storage.POINTER
    if variable.storage in ("global", "static"):
        return Storage.GLOBAL
    return Storage.GLOBAL if declared.is_scalar and variable.address_taken else Storage.LOCAL


def shape_of(declared: CType) -> tuple[CExpr | int | None, ...]:
    """Extents, outermost first; None for what a pointer points to."""
    extents: list[CExpr | int | None] = []
    inner: CType | None = declared
    if declared.kind == "pointer":
        extents.append(None)
        inner = declared.element
    while inner is not None and inner.kind == "array":
        extents.append(inner.extent)
        inner = inner.element
    return tuple(extents)
