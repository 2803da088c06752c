"""Loops with data-dependent bounds that may have no iteration.

isl takes for granted that they run, as its conditions would stand where these bounds are not known yet: what runs
outside of such a loop gets them here, and so does a loop that was inside of one, which may have any number of
iterations where that has none.
"""

from __future__ import annotations

from scheduler.codegen.tree.coverage import NoText, Path, inside
from scheduler.codegen.tree.node_algebra import names_in
from scheduler.codegen.tree.nodes import (
    Bind,
    Block,
    Branch,
    CNode,
    For,
    Instance,
    IntExpr,
    IntOp,
    Packed,
    Scope,
    When,
    walk,
    with_bodies,
)
from scheduler.codegen.tree.opaque import may_be_read, written_arrays
from scheduler.codegen.tree.polytree import PolyTree, expression_names
from scheduler.errors import CodegenUnsupported
from scheduler.ir.affine import Affine
from scheduler.ir.walk import reads


def only_where_loops_run(nodes: tuple[CNode, ...], poly: PolyTree) -> tuple[CNode, ...]:
    """Whatever runs once where a data-dependent loop has no iteration at all is put under the condition that it has.

    Raises CodegenUnsupported.
    """
    if not poly.opaque:
        return nodes
    none: frozenset[str] = frozenset()
    return _with_inner_conditions(_conditional(nodes, Path(), poly, none, none)[0], poly, written_arrays(poly), none)


def _with_inner_conditions(
    nodes: tuple[CNode, ...], poly: PolyTree, written: frozenset[str], outside: frozenset[str]
) -> tuple[CNode, ...]:
    """Loops that were inside of data-dependent ones run only where these do; `outside`: those that stand around."""
    result: list[CNode] = []
    for node in nodes:
        around = outside | {name for name in poly.opaque if {f"__lo_{name}", f"__hi_{name}"} & names_in(node)}
        if isinstance(node, For):
            inner = [name for name in poly.opaque if name not in around and _holds_up(node, name, poly, written)]
        else:
            inner = []
        if isinstance(node, For | Scope | Branch):

            def change(body: tuple[CNode, ...], around: frozenset[str] = around | {*inner}) -> tuple[CNode, ...]:
                return _with_inner_conditions(body, poly, written, around)

            node = with_bodies(node, change)
        for name in reversed(inner):
            node = Branch(_has_iterations(name, poly), (node,))
        result.append(node)
    return tuple(result)


def _holds_up(node: For, name: str, poly: PolyTree, written: frozenset[str]) -> bool:
    """Whether `name` has all that the loop runs, which was inside of it, and bounds that are known in front of it."""
    iterators = {n.statement: poly.model.iterators(n.statement) for n in walk((node,)) if isinstance(n, Instance)}
    if not iterators or any(name not in names for names in iterators.values()):
        return False
    rows = {s: row.names() for s, row in poly.by_name[node.loop].loop.rows if s in iterators}
    if not any(set(names[names.index(name) + 1 :]) & rows.get(s, frozenset()) for s, names in iterators.items()):
        return False
    ends = (poly.opaque[name].start, poly.opaque[name].stop)
    bounds = [end for end in ends if not isinstance(end, tuple)]
    needed = {n for end in ends if isinstance(end, tuple) for part in end for n in part.names()}
    needed |= {n for bound in bounds for n in expression_names(bound)}
    if needed & {n for names in iterators.values() for n in names}:
        return False
    if any(use.access.array in written for bound in bounds for use in reads(bound)):
        return False
    return may_be_read(name, bounds, poly)


def _has_iterations(name: str, poly: PolyTree) -> IntExpr:
    low, high = Affine.of(f"__lo_{name}"), Affine.of(f"__hi_{name}")
    return IntOp("<" if poly.opaque[name].step > 0 else ">", (low, high))


def _conditional(
    nodes: tuple[CNode, ...], path: Path | None, poly: PolyTree, above: frozenset[str], never: frozenset[str]
) -> tuple[tuple[CNode, ...], set[str]]:
    """The nodes, and those of the loops `above` whose conditions are to stand above all of them; of those in `never`
    they may not stand here.

    `path`: None where isl has no words for what holds.
    """
    result: list[CNode] = []
    left: set[str] = set()
    for node in nodes:
        if isinstance(node, Instance):
            found = {name for name, value in node.values if name in poly.opaque and _may_stray(name, value, path, poly)}
        else:
            node, path, found = _conditional_inside(node, path, poly, above, never)
        left |= found & above
        for name in reversed([name for name in poly.opaque if name in found - above]):
            if name in never:
                raise CodegenUnsupported(f"a block holds more than what loop {name} runs, which may be empty")
            node = Branch(_has_iterations(name, poly), (node,))
        result.append(node)
    return tuple(result), left


def _conditional_inside(
    node: CNode, path: Path | None, poly: PolyTree, above: frozenset[str], never: frozenset[str]
) -> tuple[CNode, Path | None, set[str]]:
    """The node, the path behind it, and the loops whose conditions are to stand above it."""
    found: set[str] = set()
    inner: tuple[Path | None, ...] = (None, None)
    try:
        if path is not None and isinstance(node, Bind):
            path = path.within(node.name, (f"{{}} = {path.text(node.value)}",))
        elif path is not None:
            inner = inside(node, path)
    except NoText:
        path = None if isinstance(node, Bind) else path
    paths = iter(inner)
    if isinstance(node, Block | Packed | When):  # what these are made of reads data, too
        iterators = [poly.model.iterators(n.statement) for n in walk((node,)) if isinstance(n, Instance)]
        above = frozenset(name for name in poly.opaque if all(name in names for names in iterators))
        if isinstance(node, Block):
            never |= poly.opaque.keys()
        elif isinstance(node, Packed):
            never |= {name for name in poly.opaque if {f"__lo_{name}", f"__hi_{name}"} & names_in(node)}

    def change(body: tuple[CNode, ...]) -> tuple[CNode, ...]:
        new, more = _conditional(body, next(paths), poly, above, never)
        found.update(more)
        return new

    return with_bodies(node, change), path, found


def _may_stray(name: str, value: IntExpr, path: Path | None, poly: PolyTree) -> bool:
    """Whether the value may lie outside of the data-dependent loop as far as `path` tells."""
    if path is None:
        return True
    try:
        text = path.text(value)
    except NoText:
        return True
    if poly.opaque[name].step > 0:
        inside = f"__lo_{name} <= {text} and {text} < __hi_{name}"
    else:
        inside = f"__hi_{name} < {text} and {text} <= __lo_{name}"
    where = " and ".join((poly.model.context_text(), *path.conditions, f"not ({inside})"))
    return not poly.read_set(f"{{ [{', '.join(path.variables)}] : {where} }}").is_empty()
