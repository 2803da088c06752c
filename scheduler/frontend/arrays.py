"""Arrays of a nest: their names, shapes as declared, and storage."""

from __future__ import annotations

from scheduler.frontend.context import ArrayInfo, Context, Refuse, Root
from scheduler.frontend.csyntax import CExpr, CType, Variable
from scheduler.ir.nest import Storage


def array_name(ctx: Context, root: Root, ctype: CType, at: int) -> str:
    """The IR name of the array, registered on first sight."""
    variable = root.variable
    if not root.path:
        name = ctx.locals_.get(variable) or ctx.private_name(variable)
        if name is not None:
            return name
    known = ctx.by_root.get(root)
    if known is None:
        known = ctx.by_root[root] = _register(ctx, root, ctype, at)
    return known


def _register(ctx: Context, root: Root, ctype: CType, at: int) -> str:
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


def innermost(declared: CType) -> CType:
    """The type of an array's elements, of one that is none itself."""
    while declared.kind == "array" and declared.element is not None:
        declared = declared.element
    return declared
