"""What a nest as a whole is asked: whether one of its loops can be run in parallel, whether it may trap, and whether
all its numbers are some that `long` can count with.

Where signed arithmetic that overflows ends the program, nests that compute such values are left alone.

Affine subscripts, bounds and conditions are read under the condition that nothing overflows in them (`integers`). The
rest would have to overflow in the transformed loops where, and only where, it does in the original ones.
"""

from __future__ import annotations

from collections.abc import Iterator

from scheduler.errors import SchedulerError
from scheduler.frontend.c_ast.arith import bits, is_integer, is_unsigned
from scheduler.frontend.c_ast.reject import Reject
from scheduler.ir.affine import Affine, FloorDiv
from scheduler.ir.nest import Access, Action, Assign, Binary, Expr, Guard, Loop, LoopNest, Predicate, Read, Unary
from scheduler.ir.tree import tree_loops
from scheduler.ir.walk import assignments, children, placed_statements, uses
from scheduler.polyhedral.model import QuotaExceeded
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


def any_parallel(nest: LoopNest) -> bool:
    """False also where that is too hard to find out."""
    try:
        replayer = Replayer(nest)
        loops = tree_loops(replayer.tree(()))
        return any(isinstance(replayer.replay((Parallelize(loop.name),)), ScheduledNest) for loop in loops)
    except (SchedulerError, QuotaExceeded):
        return False
