"""Whether generated loops run every instance of every statement, and none twice.

isl 0.28 loses iterations of some loops over blocks of loops that are skewed by blocks of others: what it makes is
held against the domains it was made from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import islpy as isl

from scheduler.codegen.tree.nodes import (
    Bind,
    Branch,
    CNode,
    For,
    Instance,
    IntExpr,
    IntOp,
    Let,
    children,
    walk,
)
from scheduler.codegen.tree.polytree import PolyTree
from scheduler.ir.affine import Affine, FloorDiv
from scheduler.polyhedral.model import QuotaExceeded, isl_name

_OPERATIONS = 3_000_000  # of isl: half a second for tiles of three skewed loops
_MOST_PIECES = 64  # places where a statement stands


class NoText(Exception):
    """An expression that isl has no words for."""


@dataclass(frozen=True, slots=True)
class Path:
    """What holds where a node stands: conditions in isl's words, and the names of variables there."""

    variables: tuple[str, ...] = ()
    names: Mapping[str, str] | None = None
    conditions: tuple[str, ...] = ()

    def text(self, expr: IntExpr) -> str:
        """Raises NoText."""
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
        raise NoText(expr.op)

    def condition(self, expr: IntExpr) -> str:
        """Raises NoText."""
        if isinstance(expr, IntOp) and expr.op in ("&&", "||"):
            word = " and " if expr.op == "&&" else " or "
            return "(" + word.join(self.condition(arg) for arg in expr.args) + ")"
        if isinstance(expr, IntOp) and expr.op in ("==", "<=", "<", ">=", ">"):
            left, right = map(self.text, expr.args)
            return f"({left} {'=' if expr.op == '==' else expr.op} {right})"
        raise NoText(str(expr))

    def _affine(self, expr: Affine) -> str:
        parts = [str(expr.const)]
        for atom, factor in expr.terms:
            if isinstance(atom, FloorDiv):
                parts.append(f"{factor}*floor(({self._affine(atom.numerator)})/{atom.denominator})")
            else:
                parts.append(f"{factor}*{(self.names or {}).get(atom) or isl_name(atom)}")
        return " + ".join(parts)

    def within(self, name: str, conditions: tuple[str, ...]) -> Path:
        """One more variable; `{}` in the conditions is its name in isl."""
        new = f"__c{len(self.variables)}"
        names = {**(self.names or {}), name: new}
        added = tuple(c.replace("{}", new) for c in conditions)
        return Path((*self.variables, new), names, (*self.conditions, *added))

    def holding(self, condition: str) -> Path:
        return replace(self, conditions=(*self.conditions, condition))


def uncovered(nodes: tuple[CNode, ...], poly: PolyTree) -> str | None:
    """What the code leaves out or does twice, in words; empty where it does all, None where that could not be decided.

    `nodes` as they come from isl, before anything of them is exchanged.
    """
    if poly.opaque or any(isinstance(node, Let) for node in walk(nodes)):
        return None
    found: dict[str, list[tuple[Path, Instance]]] = {name: [] for name in poly.model.placed}
    try:
        for path, instance in _instances(nodes, Path()):
            found[instance.statement].append((path, instance))
        if max(map(len, found.values()), default=0) > _MOST_PIECES:
            return None
        with poly.model.quota(_OPERATIONS):
            return next(filter(None, (_problem(name, places, poly) for name, places in found.items())), "")
    except (NoText, QuotaExceeded, isl.Error):
        return None


def _instances(nodes: tuple[CNode, ...], path: Path) -> Iterator[tuple[Path, Instance]]:
    """Every statement with the path to it. Raises NoText."""
    for node in nodes:
        if isinstance(node, Bind):
            path = path.within(node.name, (f"{{}} = {path.text(node.value)}",))
        elif isinstance(node, Instance):
            yield path, node
        elif isinstance(node, Branch):
            for body, inner in zip((node.then, node.orelse), inside(node, path), strict=True):
                yield from _instances(body, inner)
        else:
            yield from _instances(children(node), inside(node, path)[0])


def inside(node: CNode, path: Path) -> tuple[Path, ...]:
    """The paths to the node's bodies. Raises NoText."""
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


def _problem(statement: str, places: list[tuple[Path, Instance]], poly: PolyTree) -> str:
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
