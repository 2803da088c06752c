"""(ScheduledNest, Model) -> our C AST, by way of isl's AST generation."""

from __future__ import annotations

from collections.abc import Callable

import islpy as isl

from scheduler.codegen.tree.node_algebra import extreme
from scheduler.codegen.tree.nodes import (
    Bind,
    Branch,
    CNode,
    For,
    Instance,
    IntExpr,
    IntOp,
    Scope,
    When,
    add,
    scale,
    walk,
    with_bodies,
)
from scheduler.codegen.tree.polytree import UNIT, PolyTree, expression_names
from scheduler.errors import CodegenUnsupported
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Loop, Predicate
from scheduler.ir.tree import TreeLoop

_COMPARE = {"eq": "==", "le": "<=", "lt": "<", "ge": ">=", "gt": ">"}
_LOGIC = {"and_": "&&", "and_then": "&&", "or_": "||", "or_else": "||"}


def _by_value(kind: object) -> dict[object, str]:
    return {getattr(kind, k): k for k in dir(kind) if not k.startswith("_")}


_OPS = _by_value(isl.ast_expr_op_type)
_NODES = _by_value(isl.ast_node_type)
_EXPRS = _by_value(isl.ast_expr_type)

Env = dict[str, IntExpr]
UnitMaker = Callable[[str, tuple[IntExpr, ...]], tuple[CNode, ...]]


class Walker:
    """Turns isl AST nodes into ours. `variables` maps tree loops to the C names of their variables."""

    def __init__(self, poly: PolyTree, variables: dict[str, str], unit: UnitMaker | None = None) -> None:
        self.poly = poly
        self.variables = variables
        self.unit = unit  # makes the code of a unit from the times of its loops

    def nodes(self, node: isl.AstNode, env: Env) -> tuple[CNode, ...]:
        return self._node(node, env, None)

    # ----------------------------------------------------------------------------- statements

    def _node(self, node: isl.AstNode, env: Env, loop: TreeLoop | None) -> tuple[CNode, ...]:
        kind = _NODES[node.get_type()]
        if kind == "block":
            children = node.block_get_children()
            count = children.n_ast_node()
            return tuple(n for k in range(count) for n in self._node(children.get_ast_node(k), env, loop))
        if kind == "mark":
            name = node.mark_get_id().get_name()
            return _scoped(self._node(node.mark_get_node(), env, self.poly.by_name[name].loop), name)
        if kind == "if_":
            otherwise = self._node(node.if_get_else_node(), env, loop) if node.if_has_else_node() else ()
            condition = self.expr(node.if_get_cond(), env)
            return _guarded(condition, self._node(node.if_get_then_node(), env, loop), otherwise)
        if kind == "for_":
            if loop is None:
                raise CodegenUnsupported("isl made a loop outside the schedule's loops")
            return self._for(node, env, loop)
        if kind == "user":
            call = node.user_get_expr()
            name = call.op_get_arg(0).id_get_id().get_name()
            if name.startswith(UNIT):
                assert self.unit is not None
                times = tuple(self.expr(call.op_get_arg(k), env) for k in range(1, call.op_get_n_arg()))
                return self.unit(name.removeprefix(UNIT), times)
            return (self._instance(call, env),)
        raise CodegenUnsupported("isl's AST has a node of an unknown kind")

    def _for(self, node: isl.AstNode, env: Env, loop: TreeLoop) -> tuple[CNode, ...]:
        iterator = node.for_get_iterator().get_id().get_name()
        start = self.expr(node.for_get_init(), env)
        name, grain = self.variables[loop.name], self.poly.grains.get(loop.name, 1)
        if node.for_is_degenerate():
            value: IntExpr = start
            before: tuple[CNode, ...] = ()
            if isinstance(start, IntOp) or not start.is_linear:
                value, before = Affine.of(name), (Bind(name, start),)
            body = self._node(node.for_get_body(), env | {iterator: value}, None)
            return (Scope(loop.name, scale(value, grain), (*before, *body)),)
        step = self.expr(node.for_get_inc(), env)
        if not isinstance(step, Affine) or not step.is_constant:
            raise CodegenUnsupported(f"loop {loop.name} has a step that is no constant")
        stop = self._stop(node.for_get_cond(), iterator, env)
        variable: IntExpr = Affine.of(name)
        time, stride = variable, step.const
        if _runs_down(loop, self.poly):
            time, stride = scale(variable, -1), -stride
            start, stop = scale(start, -1), scale(stop, -1)
        body = self._node(node.for_get_body(), env | {iterator: time}, None)
        return (For(loop.name, name, start, stop, stride, scale(time, grain), body),)

    def _stop(self, condition: isl.AstExpr, iterator: str, env: Env) -> IntExpr:
        """The exclusive upper bound in `c0 < n` or `c0 <= n`."""
        op = _OPS[condition.op_get_type()] if _EXPRS[condition.get_type()] == "op" else ""
        if op not in ("lt", "le"):
            raise CodegenUnsupported("isl made a loop condition that is no upper bound")
        left = condition.op_get_arg(0)
        if _EXPRS[left.get_type()] != "id" or left.id_get_id().get_name() != iterator:
            raise CodegenUnsupported("isl made a loop condition that is no upper bound")
        bound = self.expr(condition.op_get_arg(1), env)
        return bound if op == "lt" else add(bound, Affine.constant(1))

    def _instance(self, call: isl.AstExpr, env: Env) -> CNode:
        statement = call.op_get_arg(0).id_get_id().get_name()
        names = self.poly.model.iterators(statement)
        values = tuple((n, self.expr(call.op_get_arg(k + 1), env)) for k, n in enumerate(names))
        node: CNode = Instance(statement, values)
        around: list[str] = [a.name for a in self.poly.model.placed[statement].ancestors if isinstance(a, Loop)]
        for ancestor in reversed(self.poly.model.placed[statement].ancestors):
            if isinstance(ancestor, Loop):
                around.pop()
            elif isinstance(ancestor, Predicate):
                used = set(expression_names(ancestor.condition)) & set(around)
                node = When(ancestor.condition, tuple(v for v in values if v[0] in used), (node,))
        return node

    # ---------------------------------------------------------------------------- expressions

    def expr(self, expr: isl.AstExpr, env: Env) -> IntExpr:
        kind = _EXPRS[expr.get_type()]
        if kind == "id":
            name = expr.id_get_id().get_name()
            return env.get(name, Affine.of(self.poly.names.get(name, name)))
        if kind == "int":
            return Affine.constant(expr.int_get_val().to_python())
        op = _OPS[expr.op_get_type()]
        args = tuple(self.expr(expr.op_get_arg(k), env) for k in range(expr.op_get_n_arg()))
        if op in ("add", "sub"):
            return add(args[0], args[1] if op == "add" else scale(args[1], -1))
        if op == "minus":
            return scale(args[0], -1)
        if op == "mul":
            for factor, other in (args, args[::-1]):
                if isinstance(factor, Affine) and factor.is_constant:
                    return scale(other, factor.const)
        if op in ("min", "max"):
            return extreme(op, args)
        if op in ("fdiv_q", "pdiv_q", "div"):
            return _quotient(op, args[0], args[1])
        if op in ("pdiv_r", "zdiv_r"):
            return IntOp("%", args)
        if op in _COMPARE:
            return IntOp(_COMPARE[op], args)
        if op in _LOGIC:
            return IntOp(_LOGIC[op], args)
        if op in ("cond", "select"):
            return _choice(args[0], args[1], args[2])
        raise CodegenUnsupported(f"isl's AST has an operation {op}")


def _scoped(nodes: tuple[CNode, ...], loop: str) -> tuple[CNode, ...]:
    """What isl made of a loop, with its eliminated iterations in Scopes."""

    def has_piece(node: CNode) -> bool:
        return any(isinstance(n, For | Scope) and n.loop == loop for n in walk((node,)))

    result: list[CNode] = []
    run: list[CNode] = []
    for node in nodes:
        if not has_piece(node):
            run.append(node)
            continue
        if run:
            result.append(Scope(loop, None, tuple(run)))
            run = []
        if isinstance(node, Branch):
            node = with_bodies(node, lambda body: _scoped(body, loop))
        result.append(node)
    if run:
        result.append(Scope(loop, None, tuple(run)))
    return tuple(result)


def _guarded(condition: IntExpr, then: tuple[CNode, ...], otherwise: tuple[CNode, ...]) -> tuple[CNode, ...]:
    """`if (condition) then`, without what the bounds of a loop that is all of `then` test by themselves."""
    if otherwise or len(then) != 1 or not isinstance(then[0], For):
        return (Branch(condition, then, otherwise),)
    first, last = (then[0].start, then[0].stop) if then[0].step > 0 else (then[0].stop, then[0].start)
    runs = [b - a - 1 for a in _parts(first, "max") for b in _parts(last, "min")]  # it has iterations: all are >= 0
    left = [c for c in _terms(condition, "&&") if not any(_follows(c, margin) for margin in runs)]
    for term in left[1:]:
        left[0] = IntOp("&&", (left[0], term))
    return (Branch(left[0], then),) if left else then


def _follows(condition: IntExpr, margin: Affine) -> bool:
    """The condition holds where margin >= 0."""
    if not isinstance(condition, IntOp) or condition.op not in (">=", ">", "<=", "<"):
        return False
    p, q = condition.args if condition.op in (">=", ">") else condition.args[::-1]
    if not isinstance(p, Affine) or not isinstance(q, Affine):
        return False
    gap = p - q - (1 if condition.op in (">", "<") else 0) - margin
    return gap.is_constant and gap.const >= 0


def _parts(bound: IntExpr, op: str) -> list[Affine]:
    return [e for e in _terms(bound, op) if isinstance(e, Affine)]


def _terms(expr: IntExpr, op: str) -> list[IntExpr]:
    if isinstance(expr, IntOp) and expr.op == op:
        return [t for arg in expr.args for t in _terms(arg, op)]
    return [expr]


def _choice(condition: IntExpr, then: IntExpr, orelse: IntExpr) -> IntExpr:
    """`p >= q ? b : c`; as min or max where it is one."""
    if isinstance(condition, IntOp) and condition.op in (">=", ">", "<=", "<"):
        p, q = condition.args if condition.op in (">=", ">") else condition.args[::-1]
        strict = condition.op in (">", "<")
        if all(isinstance(e, Affine) for e in (p, q, then, orelse)):
            assert isinstance(p, Affine) and isinstance(q, Affine)
            assert isinstance(then, Affine) and isinstance(orelse, Affine)
            margin = p - q - (1 if strict else 0)  # the condition is margin >= 0
            for op, gap in (("min", orelse - then - margin), ("max", then - orelse - margin)):
                if gap.is_constant and gap.const in (0, 1):
                    return extreme(op, (then, orelse))
    return IntOp("?:", (condition, then, orelse))


def _quotient(op: str, numerator: IntExpr, denominator: IntExpr) -> IntExpr:
    if isinstance(numerator, Affine) and isinstance(denominator, Affine) and denominator.is_constant:
        divided = numerator.floordiv(denominator.const)
        if op == "fdiv_q" or divided.is_linear:
            return divided
    return IntOp("floord" if op == "fdiv_q" else "/", (numerator, denominator))


def _runs_down(loop: TreeLoop, poly: PolyTree) -> bool:
    """A reversed loop: in every row the iterators count down."""
    if loop.tile or loop.opaque:
        return False
    for statement, row in loop.rows:
        signs = [c < 0 for atom, c in row.terms if atom in poly.model.iterators(statement)]
        if not row.is_linear or not signs or not all(signs):
            return False
    return True


def variable_names(poly: PolyTree, reserved: frozenset[str] = frozenset()) -> dict[str, str]:
    """C names of the loop variables: the tree loops' own, unless the name is `reserved`, or the nest's for another."""
    nest = poly.model.nest
    taken = reserved | {p.name for p in nest.parameters} | {a.name for a in nest.arrays}
    names: dict[str, str] = {}
    for name in poly.by_name:
        new = name
        while new in taken:
            new += "_"
        taken |= {new}
        names[name] = new
    return names
