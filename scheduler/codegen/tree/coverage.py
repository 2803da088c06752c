"""Whether generated loops run every instance of every statement, and none twice.

isl 0.28 loses iterations of some loops over blocks of loops that are skewed by blocks of others: what it makes is
held against the domains it was made from. Of loops with data-dependent bounds it takes for granted that they run, as
its conditions would stand where these bounds are not known yet: what runs outside of such a loop gets them here, and
so does a loop that was inside of one, which may have any number of iterations where that has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import islpy as isl

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
    Let,
    Packed,
    Scope,
    When,
    children,
    walk,
    with_bodies,
)
from scheduler.codegen.tree.opaque import condition_around, is_total, plain_variables, written_arrays
from scheduler.codegen.tree.polytree import PolyTree, expression_names
from scheduler.errors import CodegenUnsupported
from scheduler.ir.affine import Affine, FloorDiv
from scheduler.ir.walk import reads
from scheduler.polyhedral.model import QuotaExceeded, isl_name

_OPERATIONS = 3_000_000  # of isl: half a second for tiles of three skewed loops
_MOST_PIECES = 64  # places where a statement stands


class _NoText(Exception):
    """An expression that isl has no words for."""


@dataclass(frozen=True, slots=True)
class _Path:
    """What holds where a node stands: conditions in isl's words, and the names of variables there."""

    variables: tuple[str, ...] = ()
    names: Mapping[str, str] | None = None
    conditions: tuple[str, ...] = ()

    def text(self, expr: IntExpr) -> str:
        """Raises _NoText."""
        if isinstance(expr, Affine):
            return self._affine(expr)
        args = [str(a.const) if isinstance(a, Affine) and a.is_constant else f"({self.text(a)})" for a in expr.args]
        if expr.op in ("min", "max"):
            text = args[0]
            for arg in args[1:]:
                text = f"{expr.op}({text}, {arg})"
            return text
        if expr.op in ("/", "floord"):
            return f"floor({args[0]}/{args[1]})"
        if expr.op == "%":
            return f"({args[0]} mod {args[1]})"
        if expr.op == "+":
            return " + ".join(args)
        if expr.op == "*":
            return "*".join(args)
        if expr.op == "neg":
            return f"-{args[0]}"
        if expr.op == "?:":
            return f"({args[0]} ? {args[1]} : {args[2]})"
        raise _NoText(expr.op)

    def condition(self, expr: IntExpr) -> str:
        """Raises _NoText."""
        if isinstance(expr, IntOp) and expr.op in ("&&", "||"):
            word = " and " if expr.op == "&&" else " or "
            return "(" + word.join(self.condition(arg) for arg in expr.args) + ")"
        if isinstance(expr, IntOp) and expr.op in ("==", "<=", "<", ">=", ">"):
            left, right = map(self.text, expr.args)
            return f"({left} {'=' if expr.op == '==' else expr.op} {right})"
        raise _NoText(str(expr))

    def _affine(self, expr: Affine) -> str:
        parts = [str(expr.const)]
        for atom, factor in expr.terms:
            if isinstance(atom, FloorDiv):
                parts.append(f"{factor}*floor(({self._affine(atom.numerator)})/{atom.denominator})")
            else:
                parts.append(f"{factor}*{(self.names or {}).get(atom) or isl_name(atom)}")
        return " + ".join(parts)

    def within(self, name: str, conditions: tuple[str, ...]) -> _Path:
        """One more variable; `{}` in the conditions is its name in isl."""
        new = f"__c{len(self.variables)}"
        names = {**(self.names or {}), name: new}
        added = tuple(c.replace("{}", new) for c in conditions)
        return _Path((*self.variables, new), names, (*self.conditions, *added))

    def holding(self, condition: str) -> _Path:
        return replace(self, conditions=(*self.conditions, condition))


def uncovered(nodes: tuple[CNode, ...], poly: PolyTree) -> str | None:
    """What the code leaves out or does twice, in words; empty where it does all, None where that could not be decided.

    `nodes` as they come from isl, before anything of them is exchanged.
    """
    if poly.opaque or any(isinstance(node, Let) for node in walk(nodes)):
        return None
    found: dict[str, list[tuple[_Path, Instance]]] = {name: [] for name in poly.model.placed}
    try:
        for path, instance in _instances(nodes, _Path()):
            found[instance.statement].append((path, instance))
        if max(map(len, found.values()), default=0) > _MOST_PIECES:
            return None
        with poly.model.quota(_OPERATIONS):
            return next(filter(None, (_problem(name, places, poly) for name, places in found.items())), "")
    except (_NoText, QuotaExceeded, isl.Error):
        return None


def _instances(nodes: tuple[CNode, ...], path: _Path) -> Iterator[tuple[_Path, Instance]]:
    """Every statement with the path to it. Raises _NoText."""
    for node in nodes:
        if isinstance(node, Bind):
            path = path.within(node.name, (f"{{}} = {path.text(node.value)}",))
        elif isinstance(node, Instance):
            yield path, node
        elif isinstance(node, Branch):
            for body, inner in zip((node.then, node.orelse), _inside(node, path), strict=True):
                yield from _instances(body, inner)
        else:
            yield from _instances(children(node), _inside(node, path)[0])


def _inside(node: CNode, path: _Path) -> tuple[_Path, ...]:
    """The paths to the node's bodies. Raises _NoText."""
    if isinstance(node, For):
        first, last, up = (">=", "<", True) if node.step > 0 else ("<=", ">", False)
        bounds = [f"{{}} {first} {path.text(part)}" for part in _parts(node.start, "max" if up else "min")]
        bounds += [f"{{}} {last} {path.text(part)}" for part in _parts(node.stop, "min" if up else "max")]
        if abs(node.step) > 1:
            bounds.append(f"({{}} - ({path.text(node.start)})) mod {abs(node.step)} = 0")
        return (path.within(node.var, tuple(bounds)),)
    if isinstance(node, Branch):
        condition = path.condition(node.condition)
        return path.holding(condition), path.holding(f"not {condition}")
    return (path,)


def _parts(bound: IntExpr, op: str) -> tuple[IntExpr, ...]:
    """The expressions that a bound is the greatest or the least of."""
    return bound.args if isinstance(bound, IntOp) and bound.op == op else (bound,)


def _problem(statement: str, places: list[tuple[_Path, Instance]], poly: PolyTree) -> str:
    domain = poly.domain(statement)
    runs: list[isl.Set] = []
    for path, instance in places:
        values = [path.text(value) for _, value in instance.values]
        iterators = [f"__i{k}" for k in range(len(values))]
        equal = [f"{name} = {value}" for name, value in zip(iterators, values, strict=True)]
        where = " and ".join((*path.conditions, *equal)) or "0 = 0"
        made = poly.read_map(f"{{ {statement}[{', '.join(iterators)}] -> [{', '.join(path.variables)}] : {where} }}")
        made = made.intersect_params(poly.context())
        if not made.is_single_valued():
            return f"{statement} runs twice"
        runs.append(made.domain())
    if any(not one.intersect(other).is_empty() for one, other in combinations(runs, 2)):
        return f"{statement} runs twice"
    total = isl.Set.empty(domain.get_space())
    for one in runs:
        total = total.union(one)
    domain = domain.intersect_params(poly.context())
    if not domain.is_subset(total):
        return f"some of {statement} would not run"
    return "" if total.is_subset(domain) else f"{statement} would run outside its loops"


def only_where_loops_run(nodes: tuple[CNode, ...], poly: PolyTree) -> tuple[CNode, ...]:
    """Whatever runs once where a data-dependent loop has no iteration at all is put under the condition that it has.

    Raises CodegenUnsupported.
    """
    if not poly.opaque:
        return nodes
    none: frozenset[str] = frozenset()
    return _with_inner_conditions(_conditional(nodes, _Path(), poly, none, none)[0], poly, written_arrays(poly), none)


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
    bounds = [b for b in (poly.opaque[name].start, poly.opaque[name].stop) if not isinstance(b, tuple)]
    needed = {n for bound in bounds for n in expression_names(bound)}
    needed |= {n for b in (poly.opaque[name].start, poly.opaque[name].stop) if isinstance(b, tuple) for part in b
               for n in part.names()}  # fmt: skip
    if needed & {n for names in iterators.values() for n in names} or condition_around(name, poly) is not None:
        return False
    if any(use.access.array in written for bound in bounds for use in reads(bound)):
        return False
    outermost = all(names[0] == name for names in iterators.values())
    return outermost or all(is_total(bound, plain_variables(poly)) for bound in bounds)


def _has_iterations(name: str, poly: PolyTree) -> IntExpr:
    low, high = Affine.of(f"__lo_{name}"), Affine.of(f"__hi_{name}")
    return IntOp("<" if poly.opaque[name].step > 0 else ">", (low, high))


def _conditional(
    nodes: tuple[CNode, ...], path: _Path | None, poly: PolyTree, above: frozenset[str], never: frozenset[str]
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
    node: CNode, path: _Path | None, poly: PolyTree, above: frozenset[str], never: frozenset[str]
) -> tuple[CNode, _Path | None, set[str]]:
    """The node, the path behind it, and the loops whose conditions are to stand above it."""
    found: set[str] = set()
    inner: tuple[_Path | None, ...] = (None, None)
    try:
        if path is not None and isinstance(node, Bind):
            path = path.within(node.name, (f"{{}} = {path.text(node.value)}",))
        elif path is not None:
            inner = _inside(node, path)
    except _NoText:
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


def _may_stray(name: str, value: IntExpr, path: _Path | None, poly: PolyTree) -> bool:
    """Whether the value may lie outside of the data-dependent loop as far as `path` tells."""
    if path is None:
        return True
    try:
        text = path.text(value)
    except _NoText:
        return True
    if poly.opaque[name].step > 0:
        inside = f"__lo_{name} <= {text} and {text} < __hi_{name}"
    else:
        inside = f"__hi_{name} < {text} and {text} <= __lo_{name}"
    where = " and ".join((poly.model.context_text(), *path.conditions, f"not ({inside})"))
    return not poly.read_set(f"{{ [{', '.join(path.variables)}] : {where} }}").is_empty()
