"""Data-dependent bounds and predicates in the C AST: bound expressions in place of isl's parameters, hoisting.

Long, because whoever moves a bound has to know what conditions it is read under.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Set
from dataclasses import replace

from scheduler.codegen.runtime_checks.integers import includes, integer
from scheduler.codegen.tree.node_algebra import extreme, names_in, names_of, rename, substitute
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
    Scope,
    Values,
    When,
    add,
    walk,
    with_bodies,
)
from scheduler.codegen.tree.polytree import PolyTree, expression_names
from scheduler.errors import CodegenUnsupported
from scheduler.ir.affine import Affine
from scheduler.ir.names import free_name
from scheduler.ir.nest import Binary, Bound, Cast, Conditional, Expr, Literal, Loop, Name, Predicate, Read, Unary
from scheduler.ir.types import known_type
from scheduler.ir.walk import children, reads

_FAR = 2**62  # where `pe_clip` ends: of a loop that does not run one bound is there, the other one opposite to it


def bound_text(bound: Expr, text: str) -> str:
    """C text of a data-dependent bound as a `long`, of its text in the type that C computes it in.

    A start or limit of 64 bits may be any number, also an unsigned one that `long` does not hold, and is clipped to
    [-2**62, 2**62]; where both depend on data they are compared first (`compared`). Theorem: the iterations stay the
    same, but for those of iterators beyond, which the front end (`iterations.reaches_far`) shows not to exist or to
    do nothing; and no difference of two bounds, nor a multiple of a tile near one, overflows.
    """
    if _near(bound):
        return text
    return f"pe_clip{'' if known_type(bound.ctype).signed else 'u'}({text})"


def compared(loop: Loop) -> tuple[Expr, Expr] | None:
    """Start and limit, both 0 where C has no iteration; None where `bound_text` of each does.

    What is unsigned is compared so, and then congruent numbers count as well: -3 stands for the largest but two.
    """
    start, stop = loop.start, loop.stop
    if isinstance(start, tuple) or isinstance(stop, tuple) or (_near(start) and _near(stop)):
        return None
    unsigned = any(known_type(e.ctype).bits == 64 and not known_type(e.ctype).signed for e in (start, stop))
    first, last = (Cast("unsigned long" if unsigned else "long", e) for e in (start, stop))
    runs = Binary("<" if loop.step > 0 else ">", first, last, "int")
    none = Literal("0l", "long")
    return (
        Conditional(runs, Cast("long", start), none, "long"),
        Conditional(runs, Cast("long", stop), none, "long"),
    )


def split(bound: Expr) -> tuple[Expr, int]:
    """A bound as what `bound_text` clips and a number that is added then: before, the sum might overflow."""
    if not _near(bound) and isinstance(bound, Binary) and bound.ctype == "long" and bound.op in ("+", "-"):
        more = bound.right.text if isinstance(bound.right, Literal) else ""
        if re.fullmatch("[1-9][0-9]*", more):
            return bound.left, int(f"{bound.op}{more}")
    return bound, 0


def _near(bound: Expr) -> bool:
    """It has 32 bits, or is the sum of such a number and a constant."""
    if isinstance(bound, Binary) and bound.op in ("+", "-") and isinstance(bound.right, Literal):
        return _near(bound.left) and known_type(bound.ctype).signed
    if isinstance(bound, Cast) and bound.ctype == "long":
        return known_type(bound.operand.ctype).bits < 64
    return known_type(bound.ctype).bits < 64


def check_typed(loop: Loop, bound: Expr) -> None:
    """The only door to `bound_text`: refuses a bound of which nothing says that the iterator takes just that value.

    Raises CodegenUnsupported.
    """
    started = bound
    if bound.ctype == "long" and isinstance(bound, Binary) and isinstance(bound.right, Literal):  # `i-- > 0`
        started = bound.left.operand if isinstance(bound.left, Cast) else bound.left
    if integer(bound.ctype) is None or (bound is loop.start and not includes(loop.ctype, started.ctype)):
        raise CodegenUnsupported(f"loop {loop.name} counts in {loop.ctype}, a bound of it is of type {bound.ctype}")


def written_arrays(poly: PolyTree) -> frozenset[str]:
    model = poly.model
    return frozenset(u.access.array for s in model.placed for u in model.uses(s) if u.is_write)


class BoundResolver:
    """Replaces `__lo_p` and `__hi_p` by `const long p_lo = …;` where the outer iterators are known."""

    def __init__(self, poly: PolyTree, variables: dict[str, str], reserved: frozenset[str] = frozenset()) -> None:
        self.poly = poly
        self.variables = variables
        self.written = written_arrays(poly)
        self.parameters = {f"__{side}_{p}": (p, side) for p in poly.opaque for side in ("lo", "hi")}
        nest = poly.model.nest
        self.taken = {
            *reserved,
            *(p.name for p in nest.parameters),
            *(a.name for a in nest.arrays),
            *variables.values(),
        }
        self.conditions = {name: condition_around(name, poly) for name in poly.opaque}
        self.names: dict[tuple[str, Values], str] = {}
        self._owner: dict[str, str] = {}

    def resolve(self, nodes: tuple[CNode, ...]) -> tuple[CNode, ...]:
        if not self.parameters:
            return nodes
        kept, floating = self._body(nodes, None, frozenset())
        assert not floating
        return kept

    def _body(
        self, nodes: tuple[CNode, ...], parent: CNode | None, scope: frozenset[str]
    ) -> tuple[tuple[CNode, ...], list[Let]]:
        """The body with its bounds resolved, and the declarations that may stand before `parent`."""
        result: list[CNode] = []
        up: list[Let] = []
        for node in nodes:
            lets: list[Let] = []
            used = [n for n in self.parameters if n in names_in(node)]
            if used:
                found, values = self._bind(used, node, scope)
                lets += [let for let in found if let.name not in scope]
                node = rename(node, values)
            inner = scope | ({node.var} if isinstance(node, For) else frozenset()) | {let.name for let in lets}
            inner |= {n.name for n in result if isinstance(n, Let)}
            if isinstance(node, Scope):
                inner |= {self.variables[node.loop]}
            below: list[Let] = []

            def change(
                body: tuple[CNode, ...], node: CNode = node, inner: frozenset[str] = inner, below: list[Let] = below
            ) -> tuple[CNode, ...]:
                new, floating = self._body(body, node, inner)
                below += floating
                return new

            node = with_bodies(node, change)
            for let in (*lets, *below):
                target = up if self._may_climb(let, parent) else result
                if let not in target:
                    target.append(let)
            result.append(node)
        return tuple(result), up

    def _may_climb(self, let: Let, parent: CNode | None) -> bool:
        """Past a loop the bound does not depend on, if the source reads the bound whether or not that loop runs.

        That the loop runs may be all that says that the source comes to the bound at all.
        """
        if not isinstance(parent, For | Scope) or self.variables[parent.loop] in names_in(let):
            return False
        if _read(let) & self.written:
            return False
        opaque = self._owner[let.name]
        if isinstance(parent, For) and _runs(parent) and not may_be_read(opaque, (let.value,), self.poly):
            return False
        for statement, row in self.poly.by_name[parent.loop].loop.rows:
            iterators = self.poly.model.iterators(statement)
            if opaque not in iterators or row.names() & set(iterators[: iterators.index(opaque)]):
                return False
        return True

    def _bind(self, used: list[str], node: CNode, scope: frozenset[str]) -> tuple[list[Let], dict[str, IntExpr]]:
        lets: list[Let] = []
        values: dict[str, IntExpr] = {}
        for name in used:
            opaque, side = self.parameters[name]
            loop = self.poly.opaque[opaque]
            bound = loop.start if side == "lo" else loop.stop
            if not isinstance(bound, tuple):
                check_typed(loop, bound)
                both = compared(loop)
                bound, more = split(bound) if both is None else (both[side == "hi"], 0)
            condition = self.conditions[opaque]
            outer = self._outer_values(opaque, bound, condition, node, scope)
            if isinstance(bound, tuple):
                op = ("max" if loop.step > 0 else "min") if side == "lo" else ("min" if loop.step > 0 else "max")
                values[name] = extreme(op, tuple(substitute(b, dict(outer)) for b in bound))
                continue
            key = (name, outer)
            if key not in self.names:
                new = free_name(f"{opaque}_{side}", self.taken, "")
                self.taken.add(new)
                self.names[key] = new
                self._owner[new] = opaque
            none = _FAR if (side == "lo") == (loop.step > 0) else -_FAR
            let = Let(self.names[key], bound, outer, condition, none)
            self._check_unwritten(opaque, let, node)
            lets.append(let)
            values[name] = Affine.of(self.names[key]) + more
        return lets, values

    def _check_unwritten(self, opaque: str, let: Let, node: CNode) -> None:
        """What the bound reads is not written in the node, in front of which it stands, before the loop begins."""
        read = _read(let) & self.written
        others = {n.statement for n in walk((node,)) if isinstance(n, Instance)} if read else set()
        for statement in others:
            uses = self.poly.model.uses(statement)
            if opaque not in self.poly.model.iterators(statement) and any(
                u.is_write and u.access.array in read for u in uses
            ):
                raise CodegenUnsupported(f"what the bounds of loop {opaque} are read from is written beside the loop")

    def _outer_values(
        self, opaque: str, bound: Bound, condition: Expr | None, node: CNode, scope: frozenset[str]
    ) -> Values:
        needed = {n for b in bound for n in b.names()} if isinstance(bound, tuple) else set(expression_names(bound))
        if condition is not None and not isinstance(bound, tuple):
            needed |= set(expression_names(condition))
        found: Values | None = None
        for instance in walk((node,)):
            if not isinstance(instance, Instance):
                continue
            iterators = self.poly.model.iterators(instance.statement)
            if opaque not in iterators:
                continue
            outer = set(iterators[: iterators.index(opaque)]) & needed
            values = tuple(v for v in instance.values if v[0] in outer)
            if found is not None and found != values:
                raise CodegenUnsupported(f"the bounds of loop {opaque} differ between statements that run together")
            found = values
        known = scope | set(self.poly.model.parameter_names())
        for _, value in found or ():
            if not names_of(value) <= known:
                raise CodegenUnsupported(f"the bounds of loop {opaque} are needed before their outer loops are known")
        return found or ()


def _read(let: Let) -> frozenset[str]:
    """The arrays that a bound and its condition read."""
    expressions = (let.value,) if let.condition is None else (let.value, let.condition)
    return frozenset(use.access.array for e in expressions for use in reads(e))


def condition_around(name: str, poly: PolyTree) -> Expr | None:
    """Under which C reads the bounds of a loop, as far as it depends on data."""
    ancestors = next(p.ancestors for p in poly.model.placed.values() if any(loop.name == name for loop in p.loops))
    condition: Expr | None = None
    for node in itertools.takewhile(lambda node: not (isinstance(node, Loop) and node.name == name), ancestors):
        if isinstance(node, Predicate):
            condition = node.condition if condition is None else Binary("&&", condition, node.condition, "int")
    return condition


def may_be_read(name: str, bounds: Iterable[Expr], poly: PolyTree) -> bool:
    """Whether bounds of a data-dependent loop can be read in front of all loops: nothing stands around it, or they are
    of variables alone."""
    ancestors = next(p.ancestors for p in poly.model.placed.values() if any(loop.name == name for loop in p.loops))
    if isinstance(ancestors[0], Loop) and ancestors[0].name == name:
        return True
    variables = plain_variables(poly)
    return condition_around(name, poly) is None and all(is_total(bound, variables) for bound in bounds)


def hoist_predicates(nodes: tuple[CNode, ...], poly: PolyTree) -> tuple[CNode, ...]:
    """Merges neighbours under the same predicate and moves predicates out of loops they do not depend on."""
    variables = plain_variables(poly)
    written_by = {s: frozenset(u.access.array for u in poly.model.uses(s) if u.is_write) for s in poly.model.placed}

    def writes(body: tuple[CNode, ...]) -> frozenset[str]:
        return frozenset(a for n in walk(body) if isinstance(n, Instance) for a in written_by[n.statement])

    def independent(when: When, body: tuple[CNode, ...]) -> bool:
        return not {use.access.array for use in reads(when.condition)} & writes(body)

    def bare(when: When) -> bool:
        """Whether it can stand anywhere."""
        total = is_total(when.condition, variables) and independent(when, when.body)
        return total and not when.values and not when.guards

    def without(when: When) -> Callable[[tuple[CNode, ...]], tuple[CNode, ...]]:
        return lambda body: when.body if body else ()

    def visit(body: tuple[CNode, ...]) -> tuple[CNode, ...]:
        result: list[CNode] = []
        for node in body:
            node = with_bodies(node, visit)
            last = result[-1] if result else None
            if (
                isinstance(node, When)
                and isinstance(last, When)
                and (node.condition, node.values, node.guards) == (last.condition, last.values, last.guards)
                and independent(last, last.body)
            ):
                result[-1] = replace(last, body=visit((*last.body, *node.body)))
                continue
            if isinstance(node, For) and len(node.body) == 1 and isinstance(node.body[0], When):
                inner = node.body[0]
                names = frozenset(n for _, v in inner.values for n in names_of(v))
                names |= frozenset(n for g in inner.guards for n in names_of(g))
                if node.var not in names and independent(inner, inner.body):
                    guards = () if is_total(inner.condition, variables) else _runs(node) + inner.guards
                    node = replace(inner, body=(replace(node, body=inner.body),), guards=guards)
                elif independent(inner, inner.body) and (evaluated := _evaluated(inner, node, poly)) is not None:
                    node = replace(inner, body=(replace(node, body=inner.body),), guards=evaluated)
            if isinstance(node, Block | Branch):
                held = (*node.then, *node.orelse) if isinstance(node, Branch) else node.body
                if len(held) == 1 and isinstance(held[0], When) and bare(held[0]):
                    node = replace(held[0], body=(with_bodies(node, without(held[0])),))
            result.append(node)
        return tuple(result)

    return visit(nodes)


def _evaluated(when: When, loop: For, poly: PolyTree) -> tuple[IntExpr, ...] | None:
    """That the user's code evaluates the predicate: that the loops around it there have the iteration. Then it can be
    in front of the loop, which need not have one itself; None where the loop counts what is around the predicate, too.
    """
    moving = {n.var if isinstance(n, For) else n.name for n in walk((loop,)) if isinstance(n, For | Bind)}
    found: set[tuple[tuple[Loop, ...], Values]] = set()
    for instance in walk(when.body):
        if isinstance(instance, Instance):
            around: list[Loop] = []
            for ancestor in poly.model.placed[instance.statement].ancestors:
                if isinstance(ancestor, Predicate) and ancestor.condition == when.condition:
                    break
                if not isinstance(ancestor, Loop) or ancestor.is_opaque or abs(ancestor.step) != 1:
                    return None
                around.append(ancestor)
            names = {a.name for a in around}
            found.add((tuple(around), tuple(v for v in instance.values if v[0] in names)))
    if len(found) != 1:
        return None
    ((loops, values),) = found
    if any(names_of(value) & moving for _, value in values):
        return None
    here = dict(values)
    conditions: list[IntExpr] = []
    for one in loops:
        assert isinstance(one.start, tuple) and isinstance(one.stop, tuple)
        value = here[one.name]
        first, last = (one.start, one.stop) if one.step > 0 else (one.stop, one.start)
        nearest = 1 if one.step > 0 else 0  # `start <= i < stop`, `stop < i <= start`
        conditions += [IntOp("<", (add(substitute(e, here), Affine.constant(-nearest)), value)) for e in first]
        conditions += [IntOp("<", (value, add(substitute(e, here), Affine.constant(1 - nearest)))) for e in last]
    return tuple(conditions)


def plain_variables(poly: PolyTree) -> frozenset[str]:
    """Variables of the program, which can be read anywhere."""
    arrays = poly.model.nest.arrays
    return frozenset(a.name for a in arrays if not a.shape and (a.base is None or a.base.isidentifier()))


def is_total(e: Expr, variables: Set[str]) -> bool:
    """Whether it can be computed anywhere: of integer variables alone, and nothing overflows."""
    if isinstance(e, Read):
        return e.access.array in variables and integer(e.ctype) is not None
    if not isinstance(e, Literal | Name | Cast | Unary | Binary) or integer(e.ctype) is None:
        return False
    if isinstance(e, Unary | Binary) and e.op not in ("<", "<=", ">", ">=", "==", "!=", "&&", "||", "!"):
        ctype = known_type(e.ctype)
        if e.op in ("/", "%", "<<", ">>") or ctype.signed or ctype.bits < 32:
            return False
    return all(is_total(child, variables) for child in children(e))


def _runs(loop: For) -> tuple[IntExpr, ...]:
    """That the loop runs at all, unless it obviously does."""
    first, last = (loop.start, loop.stop) if loop.step > 0 else (loop.stop, loop.start)
    if isinstance(first, Affine) and isinstance(last, Affine):
        extent = last - first
        if extent.is_constant and extent.const > 0:
            return ()
    return (IntOp("<", (first, last)),)


def drop_scopes(nodes: tuple[CNode, ...]) -> tuple[CNode, ...]:
    """Degenerate loops without declarations dissolve into what they hold."""
    result: list[CNode] = []
    for node in nodes:
        node = with_bodies(node, drop_scopes)
        if isinstance(node, Scope) and all(isinstance(n, For | Branch | When | Instance) for n in node.body):
            result += node.body
        else:
            result.append(node)
    return tuple(result)
