"""Arrays of a nest: their names, shapes as declared, and storage."""

from __future__ import annotations

import re

from scheduler.frontend.c_ast.csyntax import CExpr, CType, Variable
from scheduler.frontend.c_ast.reject import Reject
from scheduler.frontend.scop.context import ArrayInfo, Context, Inside, Root
from scheduler.frontend.scop.members import member_texts
from scheduler.ir.nest import Storage


def array_name(ctx: Context, root: Root, ctype: CType, at: int, inside: Inside | None = None) -> str:
    """The IR name of the array, registered on first sight: of structures, one for each type of number in them."""
    variable = root.variable
    if not root.path:
        name = ctx.scope.locals_.get(variable) or ctx.private_name(variable)
        if name is not None:
            return name
    key = (root, ctype.name if inside is not None else "")
    known = ctx.accesses.by_root.get(key)
    if known is None:
        known = ctx.accesses.by_root[key] = _register(ctx, root, ctype, at, inside)
    return known


def _register(ctx: Context, root: Root, ctype: CType, at: int, inside: Inside | None) -> str:
    variable = root.variable
    if variable.storage == "other":
        raise Reject(at, f"'{root.text}' is not a variable", "use plain arrays")
    declared = variable.ctype
    if root.path:
        declared = ctx.accesses.member_types[root]
        name = ctx.fresh(re.sub(r"\W+", "_", root.text).strip("_"))
    elif (
        inside is not None
        and (root, "") not in ctx.accesses.by_root
        and any(r == root for r, _ in ctx.accesses.by_root)
    ):
        name = ctx.fresh(f"{variable.name}_{ctype.name.replace(' ', '_')}")
    else:
        name = variable.name
        owner = ctx.scope.outside.get(name)
        if owner is not variable and name in ctx.scope.taken:
            raise Reject(at, f"two variables named '{name}' meet in this loop", "rename one of them")
        ctx.scope.outside[name] = variable
        ctx.scope.taken.add(name)
    texts = member_texts(ctx, inside.record, ctype) if inside is not None else ()
    rows = tables_of(declared)
    ctx.accesses.arrays[name] = ArrayInfo(
        name,
        ctype.name,
        declared,
        Storage.POINTER if rows else _storage(variable, declared, bool(root.path)),
        variable,
        root.text if root.path or variable.base or texts else None,
        None,
        ctype.is_const,
        (*shape_of(declared), len(texts)) if texts else shape_of(declared),
        bool(root.path),
        texts,
        rows,
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


MOST_TABLES = 2  # of which the run-time test reads pointers


def shape_of(declared: CType) -> tuple[CExpr | int | None, ...]:
    """Extents, outermost first; None for what a pointer points to."""
    extents: list[CExpr | int | None] = []
    inner: CType | None = declared
    while inner is not None and inner.kind in ("pointer", "array"):
        extents.append(inner.extent if inner.kind == "array" else None)
        inner = inner.element
    return tuple(extents)


def tables_of(declared: CType) -> int:
    """How many subscripts pick a pointer out of a table of pointers: 1 of `double **a` and `double *a[8]`."""
    found, inner = 0, declared.element if declared.kind in ("pointer", "array") else None
    while inner is not None and inner.kind == "pointer":
        found, inner = found + 1, inner.element
    return found


def has_rows(declared: CType) -> bool:
    """Whether the elements of such an array are reached through tables of pointers that are understood."""
    rows, inner = tables_of(declared), declared
    for _ in range(rows + 1):
        assert inner.element is not None
        inner = inner.element
    while inner.kind == "array" and inner.element is not None:
        if not isinstance(inner.extent, int):
            return False
        inner = inner.element
    return 0 < rows <= MOST_TABLES and inner.kind != "pointer"


def innermost(declared: CType) -> CType:
    """The type of an array's elements, of one that is none itself."""
    while declared.kind == "array" and declared.element is not None:
        declared = declared.element
    return declared
