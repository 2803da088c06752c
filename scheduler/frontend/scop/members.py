"""Members of structures that pointers lead to: as integers that a nest does not change, and as places in memory."""

from __future__ import annotations

import re
from dataclasses import replace

from scheduler.frontend.analysis.dereferenceable import dereferenced_before
from scheduler.frontend.analysis.poly import Poly
from scheduler.frontend.c_ast.aggregates import leaves
from scheduler.frontend.c_ast.arith import bits
from scheduler.frontend.c_ast.csyntax import Bin, CExpr, CStmt, CType, Index, Lit, Member, Ref, Un, Variable, strip
from scheduler.frontend.c_ast.csyntax import all_expressions as expressions_of
from scheduler.frontend.c_ast.reject import Reject
from scheduler.frontend.c_ast.scalars import changed_paths
from scheduler.frontend.scop.context import Context, Dimension, Inside, Root
from scheduler.ir.affine import Affine, FloorDiv
from scheduler.ir.nest import Binary, Constraint, Expr, Literal

_MOST_MEMBERS = 512  # whose places are named in written code
_ADVICE = "use a structure of numbers, pointers, arrays and other such structures"


# ----------------------------------------------------------------------------------- fixed places


def path_of(ctx: Context, expr: CExpr) -> Root | None:
    """The object, where nothing in the region changes which one it is: `s->n`, `g->level[2].u`."""
    expr = strip(expr)
    if isinstance(expr, Ref):
        variable = expr.var
        moving = (
            variable in ctx.region.written or variable in ctx.scope.inside or variable in ctx.accesses.substitutions
        )
        if moving or variable.ctype.is_volatile or ctx.active(variable) is not None:
            return None
        return Root(variable)
    if isinstance(expr, Member):
        base = path_of(ctx, expr.base)
        if base is None:
            return None
        if not expr.arrow and base.path and base.path[-1][0] == "[0]":  # s[0].n and (*s).n are s->n
            return Root(base.variable, (*base.path[:-1], (expr.name, True)))
        return Root(base.variable, (*base.path, (expr.name, expr.arrow)))
    if isinstance(expr, Index) or (isinstance(expr, Un) and expr.op == "*"):
        base = path_of(ctx, expr.base if isinstance(expr, Index) else expr.operand)
        index = _fixed(ctx, expr.index) if isinstance(expr, Index) else "0"
        return None if base is None or index is None else Root(base.variable, (*base.path, (f"[{index}]", False)))
    return None


def _fixed(ctx: Context, expr: CExpr) -> str | None:
    """C text of a subscript that the region does not change."""
    expr = strip(expr)
    if isinstance(expr, Lit) and isinstance(expr.value, int):
        return str(expr.value)
    if isinstance(expr, Bin) and expr.op in ("+", "-"):
        left, right = _fixed(ctx, expr.left), strip(expr.right)
        number = isinstance(right, Lit) and isinstance(right.value, int) and right.value >= 0
        return f"{left} {expr.op} {right.value}" if left is not None and isinstance(right, Lit) and number else None
    if isinstance(expr, Ref) and expr.ctype.kind == "int" and path_of(ctx, expr) is not None:
        exposed = expr.var.storage in ("global", "static") or expr.var.address_taken
        return None if exposed and not expr.var.ctype.is_const else expr.var.text
    return None


def note_indexed(ctx: Context, region: tuple[CStmt, ...]) -> None:
    """Remembers the pointers to structures that the region uses as arrays: `s->x` is then `s[0].x`.

    And the tables of pointers out of which it picks others in other iterations.
    """
    for stmt in region:
        for expr in expressions_of(stmt):
            if isinstance(expr, Index | Un) and expr.ctype.kind == "pointer" and path_of(ctx, expr) is None:
                table: CExpr = expr
                while isinstance(table := _below(table), Index | Un) and path_of(ctx, table) is None:
                    pass
                if (root := path_of(ctx, table)) is not None:
                    ctx.accesses.tables.add(root)
            base: CExpr | None = None
            if isinstance(expr, Index):
                base = expr.base
            elif isinstance(expr, Bin) and expr.op in ("+", "-") and expr.ctype.kind == "pointer":
                base = expr.left if expr.left.ctype.kind in ("pointer", "array") else expr.right
            if base is None or base.ctype.element is None or base.ctype.element.kind != "record":
                continue
            root = path_of(ctx, base)
            if root is not None:
                ctx.accesses.indexed.add(root)


def _below(expr: CExpr) -> CExpr:
    """The pointer or array that an element is picked out of."""
    expr = strip(expr.base if isinstance(expr, Index) else expr.operand if isinstance(expr, Un) else expr)
    while isinstance(expr, Bin) and expr.op in ("+", "-"):
        expr = strip(expr.left if expr.left.ctype.kind in ("pointer", "array") else expr.right)
    return expr


# ----------------------------------------------------------------------------------- as parameters


def parameter(ctx: Context, expr: Member) -> str | None:
    """The name of a parameter with the value of an integer member; None where it is not fixed, or cannot be read."""
    root = path_of(ctx, expr)
    if root is None or expr.ctype.kind != "int" or expr.ctype.name == "_Bool" or expr.ctype.is_volatile:
        return None
    known = ctx.assumed.member_variables.get(root)
    if known is not None:
        return ctx.parameter(known)
    if any(_meets(root, path) for path in _changed(ctx)):
        return None
    made = stand_in(ctx, root, expr.ctype, root.text, root.text)
    if made is None:
        return None
    ctx.assumed.member_variables[root] = made
    ctx.accesses.member_types[root] = expr.ctype
    return ctx.parameter(made)


def stand_in(ctx: Context, root: Root, ctype: CType, name: str, text: str) -> Variable | None:
    """A variable for what the C text says of an object that the nest does not change; None where it cannot be read."""
    followed = _followed(root)
    condition = _readable(ctx, followed)
    if condition is None:
        return None
    made = Variable(ctx.fresh(re.sub(r"\W+", "_", name).strip("_")), replace(ctype, is_const=False), "local", -1)
    made.base = text
    ctx.assumed.conditions[made] = condition
    made.address_taken = bool(followed) or root.variable.address_taken or root.variable.storage != "local"
    ctx.scope.taken.add(root.variable.name)
    return made


def _changed(ctx: Context) -> list[tuple[Variable, tuple[str, ...]]]:
    return [path for stmt in ctx.region.stmts for path in changed_paths(stmt, ctx.work.changes)]


def _meets(root: Root, path: tuple[Variable, tuple[str, ...]]) -> bool:
    """An assignment to the path may change the member."""
    own = tuple(name for name, _ in root.path if not name.startswith("["))
    shared = min(len(own), len(path[1]))
    return path[0] is root.variable and own[:shared] == path[1][:shared]


def _followed(root: Root) -> tuple[Root, ...]:
    """The pointers that are followed on the way, outermost first."""
    found = []
    for position, (name, arrow) in enumerate(root.path):
        if arrow or name.startswith("["):
            found.append(Root(root.variable, root.path[:position]))
    return tuple(found)


def is_followed(ctx: Context, array: str) -> bool:
    """The pointers that lead to an array, if any, are certainly followed by the nest or in front of it."""
    roots = [root for (root, _), name in ctx.accesses.by_root.items() if name == array]
    before = dereferenced_before(ctx.function, ctx.region.stmts[0].begin)
    return all(
        pointer in ctx.accesses.dereferenceable or (not pointer.path and pointer.variable in before)
        for root in roots
        for pointer in _followed(root)
    )


def _readable(ctx: Context, followed: tuple[Root, ...]) -> str | None:
    """C text of a condition under which the pointers can be followed in front of the nest, "" where they always can."""
    if all(root in ctx.accesses.dereferenceable for root in followed):
        return " && ".join(dict.fromkeys(c for root in followed if (c := ctx.accesses.dereferenceable[root])))
    before = dereferenced_before(ctx.function, ctx.region.stmts[0].begin) if ctx.region.stmts else frozenset()
    if all(root in ctx.accesses.dereferenceable or (not root.path and root.variable in before) for root in followed):
        for root in followed:
            ctx.accesses.dereferenceable.setdefault(root, "")
        return _readable(ctx, followed)
    if not ctx.domain.exact or ctx.reading.inspected:
        return None
    condition = ""
    if ctx.scope.loops:
        found = _runs(ctx)
        if found is None:
            return None
        condition, constraints = found
        ctx.assumed.facts.assumptions.extend(c for c in constraints if c not in ctx.assumed.facts.assumptions)
    for root in followed:
        ctx.accesses.dereferenceable.setdefault(root, condition)
    return condition


def _runs(ctx: Context) -> tuple[str, list[Constraint]] | None:
    """That the loops around have an iteration, as C text and as constraints; None where limits depend on each other.

    They have those of the domain only where what was assumed so far holds, as that `i < n` lets a loop down begin.
    """
    lows: dict[str, list[Affine]] = {loop.name: [] for loop in ctx.scope.loops}
    highs: dict[str, list[Affine]] = {loop.name: [] for loop in ctx.scope.loops}
    needed = list(ctx.assumed.facts.assumptions)
    for constraint in ctx.domain.constraints:
        around = constraint.affine.names() & lows.keys()
        if constraint.kind != ">=" or len(around) > 1:
            return None
        if not around:
            needed.append(constraint)
            continue
        (iterator,) = around
        coefficient = constraint.affine.coefficient(iterator)
        rest = constraint.affine - Affine.of(iterator) * coefficient
        if abs(coefficient) != 1 or iterator in rest.names():
            return None
        (lows if coefficient == 1 else highs)[iterator].append(rest * -coefficient)
    if not all(lows.values()) or not all(highs.values()):
        return None
    needed += [Constraint(high - low) for name in lows for low in lows[name] for high in highs[name]]
    needed = [c for c in dict.fromkeys(needed) if not (c.affine.is_constant and c.affine.const >= 0)]
    texts = [_text(ctx, c) for c in needed]
    if any(t is None for t in texts):
        return None
    return " && ".join(dict.fromkeys(part for text in texts if text for part in text)), needed


def _text(ctx: Context, constraint: Constraint) -> list[str] | None:
    """Conditions in C: where its variables can be read, then the constraint itself; None where it has no text."""
    if constraint.kind not in (">=", "=="):
        return None
    parts, readable = [str(constraint.affine.const)], []
    for atom, coefficient in constraint.affine.terms:
        variable = None if isinstance(atom, FloorDiv) else ctx.assumed.maybe_parameters.get(atom)
        if variable is None:
            return None
        if condition := ctx.assumed.conditions.get(variable):
            readable.append(condition)
        parts.append(f"{coefficient} * (__int128)({variable.text})")  # whatever they are, this is exact
    return [*readable, f"__extension__ ({' + '.join(parts)}) {constraint.kind} 0"]


# ------------------------------------------------------------------------------- places in structures


def size_of(ctx: Context, ctype: CType) -> int | None:
    """In bytes."""
    if ctype.is_scalar:
        return max(8, bits(ctype.name)) // 8
    if ctype.kind == "pointer":
        return 8
    if ctype.kind == "array" and ctype.element is not None and isinstance(ctype.extent, int):
        below = size_of(ctx, ctype.element)
        return None if below is None else below * ctype.extent
    record = ctx.unit.records.get(ctype.name) if ctype.kind == "record" else None
    return None if record is None or record.problem else record.size


def enter(ctx: Context, inside: Inside | None, whole: CType, name: str, at: int) -> tuple[Inside, CType]:
    """The member of a structure that is an element of an array. Raises Reject."""
    record = ctx.unit.records.get(whole.name)
    if record is None or record.problem:
        problem = record.problem if record is not None else "a structure that is not defined here"
        raise Reject(at, f"uses an array whose elements are each {problem}", _ADVICE)
    field = next((f for f in record.fields if f.name == name), None)
    if field is None:
        raise Reject(at, f"uses the member '{name}' of a structure that is not understood", _ADVICE)
    before = inside or Inside(whole, 0, (), ())
    moved = Inside(before.record, before.offset + field.offset, before.parts, (*before.steps, name))
    volatile = whole.is_volatile or field.ctype.is_volatile
    constant = whole.is_const or field.ctype.is_const
    return moved, replace(field.ctype, is_volatile=volatile, is_const=constant)


def element(ctx: Context, inside: Inside, target: CType, moved: Dimension, at: int) -> Inside:
    """The element of an array inside a structure. Raises Reject."""
    size = size_of(ctx, target)
    if size is None:
        raise Reject(at, f"uses an array of '{target.name}' inside a structure", _ADVICE)
    return replace(inside, parts=(*inside.parts, (size, moved)))


def last_dimension(ctx: Context, inside: Inside, ctype: CType, at: int) -> tuple[Dimension, int]:
    """Where a number is in its structure, counted in numbers of its size; and how many there is room for."""
    size, whole = size_of(ctx, ctype), size_of(ctx, inside.record)
    steps = [stride for stride, _ in inside.parts]
    if not size or not whole or any(n % size for n in (whole, inside.offset, *steps)):
        raise Reject(at, "uses a packed structure", _ADVICE)
    poly: Poly | None = Poly.of(Affine.constant(inside.offset // size))
    expr: Expr = Literal(str(inside.offset // size), "long")
    for stride, dimension in inside.parts:
        factor = stride // size
        poly = None if poly is None or dimension.poly is None else poly + dimension.poly.scale(factor)
        scaled = Binary("*", Literal(str(factor), "long"), dimension.expr, "long") if factor > 1 else dimension.expr
        expr = Binary("+", expr, scaled, "long")
    return Dimension(poly, expr), whole // size


def member_texts(ctx: Context, record: CType, ctype: CType) -> tuple[str, ...]:
    """For each number of a type that has room in a structure, how C names it; "" for what is something else."""
    size, whole = size_of(ctx, ctype) or 1, size_of(ctx, record) or 1
    texts = [""] * (whole // size)
    for leaf in leaves(ctx.unit, record, _MOST_MEMBERS) or ():
        if leaf.ctype.name == ctype.name:
            texts[leaf.offset // size] = leaf.text
    return tuple(texts)
