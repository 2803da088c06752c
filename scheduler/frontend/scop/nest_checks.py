"""What a nest as a whole is asked: whether one of its loops can be run in parallel, whether it may trap, and whether
all its numbers are some that `long` can count with.

Where signed arithmetic that overflows ends the program, nests that compute such values are left alone.

Affine subscripts, bounds and conditions are read under the condition that nothing overflows in them (`integers`). The
rest would have to overflow in the transformed loops where, and only where, it does in the original ones.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from scheduler.errors import SchedulerError
from scheduler.frontend.c_ast.arith import bits, is_integer, is_unsigned
from scheduler.frontend.c_ast.reject import Reject
from scheduler.ir.affine import Affine, FloorDiv
from scheduler.ir.nest import Access, Action, Assign, Binary, Expr, Guard, Loop, LoopNest, Predicate, Read, Unary
from scheduler.ir.tree import tree_loops
from scheduler.ir.walk import AccessUse, assignments, children, placed_statements, uses
from scheduler.polyhedral.dependences import earlier_text
from scheduler.polyhedral.model import Model, QuotaExceeded
from scheduler.replay import Replayer, ScheduledNest
from scheduler.transform import Parallelize

_MAY_OVERFLOW = ("+", "-", "*", "/", "<<")
_FAR = 2**62


def check_numbers(nest: LoopNest, at: int) -> None:
    """That no bound, condition or subscript has a number so large that `long` wraps where C's own type does not, as
    (uint64_t)-3 is. Raises Reject.
    """
    for affine in _affines(nest):
        for number in _numbers(affine):
            if abs(number) >= _FAR:
                raise Reject(at, f"counts with the number {number}", "use numbers between -2**62 and 2**62")


def _affines(nest: LoopNest) -> Iterator[Affine]:
    for placed in placed_statements(nest):
        for node in placed.ancestors:
            if isinstance(node, Loop):
                for bound in (node.start, node.stop):
                    yield from bound if isinstance(bound, tuple) else ()
            elif isinstance(node, Guard):
                yield from (c.affine for conjunction in node.condition for c in conjunction)
        for use in uses(placed):
            yield from (s for s in use.access.subscripts if isinstance(s, Affine))


def _numbers(affine: Affine) -> Iterator[int]:
    yield affine.const
    for atom, coefficient in affine.terms:
        yield coefficient
        if isinstance(atom, FloorDiv):
            yield from _numbers(atom.numerator)


def check_traps(nest: LoopNest, at: int) -> None:
    """Raises Reject."""
    for expr in _values(nest):
        op = expr.op if isinstance(expr, Binary | Unary) else ""
        if op in _MAY_OVERFLOW and _signed(expr.ctype):
            raise _refusal(at, op)
    arrays = {array.name: array.ctype for array in nest.arrays}
    for placed in placed_statements(nest):
        for action in assignments(placed.statement.body):
            op = action.op.removesuffix("=")
            if op in _MAY_OVERFLOW and _signed(arrays[action.target.array]):
                raise _refusal(at, op)


def _refusal(at: int, op: str) -> Reject:
    reason = f"computes a signed integer with '{op}', and where that overflows the program ends (-ftrapv, -fsanitize)"
    return Reject(at, reason, "compile it without that flag, or use unsigned integers")


def _signed(ctype: str) -> bool:
    return is_integer(ctype) and not (is_unsigned(ctype) and bits(ctype) >= 32)


def _values(nest: LoopNest) -> Iterator[Expr]:
    """Every expression that is no affine one, with its parts."""
    pending: list[Expr] = []
    for placed in placed_statements(nest):
        for node in placed.ancestors:
            if isinstance(node, Loop):
                pending += [b for b in (node.start, node.stop) if not isinstance(b, tuple)]
            elif isinstance(node, Predicate):
                pending.append(node.condition)
        pending += _of_actions(placed.statement.body)
    while pending:
        expr = pending.pop()
        yield expr
        pending += _subscripts(expr.access) if isinstance(expr, Read) else children(expr)


def _of_actions(actions: tuple[Action, ...]) -> Iterator[Expr]:
    for action in actions:
        if isinstance(action, Assign):
            yield action.value
            yield from _subscripts(action.target)
        else:
            yield action.condition
            yield from _of_actions(action.then)
            yield from _of_actions(action.orelse)


def _subscripts(access: Access) -> list[Expr]:
    return [s for s in access.subscripts if not isinstance(s, Affine)]


def builds_up(nest: LoopNest, at: int) -> bool:
    """Whether each iteration of the outermost loop around an offset goes on from what those before it made elsewhere,
    in another loop or at other iterations of the loops inside, as a step over time does.

    Not so where it does the same again, or adds to what it did. False also where data decide what is read of that, or
    it is too hard to find out.
    """
    outer = next((n for n in nest.body if isinstance(n, Loop) and n.span is not None and at < n.span.end), None)
    if outer is None:
        return False
    model = Model(nest)
    names = [name for name in model.placed if model.iterators(name)[:1] == (outer.name,)]
    writes = [(name, use) for name in names for use in model.uses(name) if use.is_write]
    written = {use.access.array for _, use in writes}
    reads = [(n, u.access) for n in names for u in model.uses(n) if not u.is_write and u.access.array in written]
    if not all(access.is_affine for access in (*(a for _, a in reads), *(u.access for _, u in writes))):
        return False
    try:
        with model.quota():
            return any(_from_before(model, outer.step > 0, writes, *read) for read in reads)
    except QuotaExceeded:
        return False


def _from_before(model: Model, upward: bool, writes: list[tuple[str, AccessUse]], reader: str, access: Access) -> bool:
    """Whether a read gets what an earlier iteration of the outermost loop wrote elsewhere."""
    carried: list[tuple[str, isl.Map]] = []
    fresh: isl.Set | None = None  # instances that read what their own iteration wrote
    for writer, use in writes:
        text = earlier_text(model, writer, use.access, reader, access) if use.access.array == access.array else None
        if text is None:
            continue
        relation = isl.Map.read_from_str(model.context, text)
        source, sink = isl.dim_type.in_, isl.dim_type.out
        earlier = relation.order_lt(source, 0, sink, 0) if upward else relation.order_gt(source, 0, sink, 0)
        carried.append((writer, earlier))
        if use.must:
            own = relation.equate(source, 0, sink, 0).range()
            fresh = own if fresh is None else fresh.union(own)
    for writer, relation in carried:
        left = relation if fresh is None else relation.subtract_range(fresh)
        common = model.common_loops(writer, reader)
        elsewhere = (left.subtract(left.equate(isl.dim_type.in_, k, isl.dim_type.out, k)) for k in range(1, common))
        if not left.is_empty() and (common == 1 or any(not other.is_empty() for other in elsewhere)):
            return True
    return False


def any_parallel(nest: LoopNest) -> bool:
    """False also where that is too hard to find out."""
    try:
        replayer = Replayer(nest)
        loops = tree_loops(replayer.tree(()))
        return any(isinstance(replayer.replay((Parallelize(loop.name),)), ScheduledNest) for loop in loops)
    except (SchedulerError, QuotaExceeded):
        return False
