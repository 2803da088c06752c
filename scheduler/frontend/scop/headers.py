"""`for` headers: iterator, start, exclusive stop, step.

Long, because there is one way to count beside the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from scheduler.frontend.c_ast.arith import bits, is_integer, is_unsigned, value_range
from scheduler.frontend.c_ast.csyntax import (
    TOO_DEEP,
    Bin,
    CExpr,
    Conv,
    ForStmt,
    OtherStmt,
    Set,
    Step,
    Unmodelled,
    Variable,
    all_expressions,
    statements,
    strip,
)
from scheduler.frontend.c_ast.folding import fold
from scheduler.frontend.c_ast.loop_header import (
    FLIP,
    NO_STEP,
    STEP_ADVICE,
    around,
    conjuncts,
    decrement_test,
    start_of,
    step_of,
)
from scheduler.frontend.c_ast.reject import Reject
from scheduler.frontend.c_ast.scalars import occurs_in
from scheduler.frontend.scop import conditions, integers, values
from scheduler.frontend.scop.context import Context
from scheduler.frontend.scop.integers import NotAffine
from scheduler.frontend.scop.iterations import Counted, passages, range_of, reaches_far, takes_values
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Binary, Bound, Cast, Expr, Literal
from scheduler.ir.types import common_type


@dataclass(slots=True)
class Header:
    variable: Variable
    start: Bound
    stop: Bound
    step: int


_WRAPS = "the iterator '{}' may leave the range of a type and come back"
_WRAP_ADVICE = "use one wide, signed type for the iterator and its limits"


def header(ctx: Context, loop: ForStmt) -> Header:
    """The bounds of a loop, read in the context around it. Raises Reject."""
    if loop.foreign:
        raise Reject(loop.begin, "the loop header comes from a macro", "write the for loop out")
    if loop.positive is not None and not _known(
        ctx, loop.positive, lambda step: ctx.assumed.facts.require(step - 1, ctx.domain)
    ):
        raise Reject(loop.begin, NO_STEP, STEP_ADVICE)
    if loop.left_at is not None and ctx.unit.dialect.wraps and not _known(ctx, loop.left_at):
        raise Reject(loop.begin, _WRAPS.format(start_of(loop)[0].name.removesuffix("_round")), _WRAP_ADVICE)
    variable, start_expr = start_of(loop)
    if variable.ctype.kind != "int" or variable.ctype.name == "_Bool":
        reason = f"the loop counts with '{variable.name}' of type '{variable.ctype.name}'"
        raise Reject(loop.begin, reason, "use an integer")
    if variable.ctype.is_volatile:
        raise Reject(loop.begin, f"'{variable.name}' is volatile", "use an ordinary variable")
    if variable.storage in ("global", "static") or variable.address_taken:
        _check_depth(loop)
        what = "accessed through a pointer" if variable.storage not in ("global", "static") else "not local"
        raise Reject(loop.begin, f"the iterator '{variable.name}' is {what}", "declare it in the loop header")
    step = step_of(loop, variable)
    if loop.condition is None:
        raise Reject(loop.begin, "the loop has no condition", STEP_ADVICE)
    conditions = list(conjuncts(loop.condition))
    decremented = decrement_test(loop.condition, variable) if loop.increment is None else None
    if decremented is not None:
        return _counting_down(ctx, loop, variable, start_expr, decremented)
    if step is None:
        raise Reject(loop.begin, "the loop has no increment", STEP_ADVICE)
    start = _start(ctx, start_expr, step, variable)
    stops: list[Affine] = []
    opaque: Expr | None = None
    for condition in conditions:
        found = _stop(ctx, loop, (variable, start, start_expr, step), condition, len(conditions) == 1)
        if isinstance(found, tuple):
            stops.extend(found)
        elif len(conditions) > 1:
            raise Reject(condition.at, "the loop has a condition that depends on data", STEP_ADVICE)
        else:
            opaque = found
    if abs(step) > 1 and isinstance(start, tuple) and len(start) > 1:
        raise Reject(loop.begin, "the start of a strided loop is a minimum or maximum", "compute it before the loop")
    return Header(variable, start, tuple(dict.fromkeys(stops)) if opaque is None else opaque, step)


def _check_depth(loop: ForStmt) -> None:
    """Raises Reject where it is only the code left unread that might change the iterator."""
    deep = [s.begin for s in statements(loop) if isinstance(s, OtherStmt) and s.what == "too deep"]
    deep += [e.at for e in all_expressions(loop) if isinstance(e, Unmodelled) and e.what == TOO_DEEP]
    if deep:
        raise Reject(deep[0], "the code is nested too deeply", "split it into functions")


def _overflows(increment: CExpr | None, variable: Variable) -> bool:
    """Whether a step that leaves the range of the iterator's type is made in that type, and not converted to it."""
    own = variable.ctype.name
    return not isinstance(increment, Set) or common_type(own, strip(increment.right).ctype.name) == own


def _start(ctx: Context, expr: CExpr, step: int, variable: Variable) -> Bound:
    """Where the iterator starts: the value after the conversion to its type."""
    own = variable.ctype
    whole = expr if expr.ctype.name == own.name else Conv(expr, False, own, expr.at)
    try:
        kind, found = conditions.minmax(ctx, whole)
        if kind in ("one", "max" if step > 0 else "min"):
            return found
    except NotAffine:
        pass
    inner = whole.operand if isinstance(whole, Conv) and not whole.explicit else whole
    if is_integer(inner.ctype.name):
        (low, high), (least, greatest) = value_range(own.name), range_of(inner)
        if low <= least and greatest <= high:
            return values.value(ctx, inner)
    return values.value(ctx, whole)


def _stop(
    ctx: Context, loop: ForStmt, counting: tuple[Variable, Bound, CExpr, int], condition: CExpr, alone: bool
) -> tuple[Affine, ...] | Expr:
    """Where a condition, perhaps the only one, ends a loop that counts with a variable from a start by a step."""
    variable, start, start_expr, step = counting
    condition = strip(condition)
    if not isinstance(condition, Bin) or condition.op not in FLIP:
        raise Reject(condition.at, "the loop condition is not a comparison of its iterator", STEP_ADVICE)
    op, own, limit = condition.op, condition.left, condition.right
    if around(own, variable) is None:
        op, own, limit = FLIP[op], condition.right, condition.left
    if around(own, variable) is not None and not is_integer(limit.ctype.name):
        raise Reject(condition.at, "the loop limit is not an integer", "compute an integer limit before the loop")
    through = passages(own, variable, ctx.unit.dialect.wraps or not _overflows(loop.increment, variable))
    if through is None:
        raise Reject(condition.at, "the loop condition is not a comparison of its iterator", STEP_ADVICE)
    offset = through[-1].offset
    if occurs_in(variable, limit):
        raise Reject(condition.at, "the loop compares its iterator with something that depends on it", STEP_ADVICE)
    if is_unsigned(variable.ctype.name) and step == -1 and op in ("<", "<=", "!=") and len(through) == 1:
        found = _wrapping(ctx, op, own, limit, start, variable)
        if found is not None:
            return found
    if (step > 0) != (op in ("<", "<=")) and op != "!=":
        raise Reject(condition.at, "the loop does not count towards its limit", "check the direction of the step")
    floor = is_unsigned(own.ctype.name) and step < 0 and op == ">="
    if floor and not _known(ctx, limit, lambda value: ctx.assumed.facts.proves(value - 1, ctx.domain)):
        raise Reject(condition.at, "an unsigned iterator is always >= 0", "count with a signed iterator")
    closed = {"<=": 1, ">=": -1}.get(op, 0)
    try:
        kind, found_stop = conditions.minmax(ctx, limit)
        if kind not in ("one", "min" if step > 0 else "max"):
            raise NotAffine
        stop: Bound = tuple(s + closed - offset for s in found_stop)
    except NotAffine:
        if op == "!=":
            reason = "a loop with != has a limit that depends on data"
            raise Reject(condition.at, reason, "use < instead of !=") from None
        opaque = values.value(ctx, limit)
        if offset:
            stop = _shifted(_in_long(opaque), closed - offset, "long")
        else:  # `n + 1` where C compares with `<= n`: it overflows only where the loop has no end
            stop = _shifted(opaque, closed, limit.ctype.name)
    counted = Counted(variable.name, start, stop, step, start_expr, limit, closed - offset)
    if not takes_values(ctx, counted, through, alone) or reaches_far(counted, variable, loop.body):
        raise Reject(condition.at, _WRAPS.format(variable.name), _WRAP_ADVICE)
    if op == "!=":
        assert isinstance(stop, tuple)
        _reaches(ctx, condition, start, stop, step)
    return stop


def _in_long(expr: Expr) -> Expr:
    return expr if expr.ctype == "long" else Cast("long", expr)


def _known(ctx: Context, expr: CExpr, holds: Callable[[Affine], bool] = lambda value: True) -> bool:
    """Whether the value is affine, in the range of its type (proved, or assumed and tested), and `holds`."""
    try:
        return holds(integers.exact(ctx, expr))
    except NotAffine:
        return False


def _shifted(expr: Expr, change: int, ctype: str) -> Expr:
    if change == 0:
        return expr
    return Binary("+" if change > 0 else "-", expr, Literal(str(abs(change)), "int"), ctype)


def _reaches(ctx: Context, condition: CExpr, start: Bound, stop: tuple[Affine, ...], step: int) -> None:
    """A loop with `!=` meets its limit."""
    if abs(step) != 1 or not isinstance(start, tuple) or len(start) != 1 or len(stop) != 1:
        raise Reject(condition.at, "a loop with != may step over its limit", "use < instead of !=")
    distance = stop[0] - start[0] if step > 0 else start[0] - stop[0]
    if not ctx.assumed.facts.require(distance, ctx.domain):
        raise Reject(condition.at, "a loop with != may start behind its limit", "use < instead of !=")


def _wrapping(
    ctx: Context, op: str, own: CExpr, limit: CExpr, start: Bound, variable: Variable
) -> tuple[Affine, ...] | None:
    """`for (size_t i = n - 1; i < n; i--)`: counts down to 0 and ends by wrapping around."""
    if not isinstance(start, tuple) or len(start) != 1:
        return None
    if op == "!=":
        last = value_range(variable.ctype.name)[1]
        below = -start[0] + last - 1
        ends = fold(limit) == last and (last >= 2**62 or ctx.assumed.facts.require(below, ctx.domain))
        return (Affine.constant(-1),) if ends else None
    try:
        stop = integers.exact(ctx, limit)
    except NotAffine:
        return None
    below = stop - start[0] - (1 if op == "<" else 0)
    return (Affine.constant(-1),) if ctx.assumed.facts.require(below, ctx.domain) else None


def _counting_down(ctx: Context, loop: ForStmt, variable: Variable, start_expr: CExpr, test: Step) -> Header:
    start = _start(ctx, start_expr, -1, variable)
    condition = strip(loop.condition) if loop.condition is not None else None
    above = isinstance(condition, Bin) and condition.op == ">" and not is_unsigned(condition.left.ctype.name)
    signed_equal = not is_unsigned(variable.ctype.name) and not above
    if isinstance(start, tuple):
        lowest = value_range(variable.ctype.name)[0]
        if (
            ctx.unit.dialect.wraps
            and lowest
            and not all(ctx.assumed.facts.require(s - (lowest + 1), ctx.domain) for s in start)
        ):
            raise Reject(test.at, _WRAPS.format(variable.name), _WRAP_ADVICE)
        if signed_equal and not all(ctx.assumed.facts.require(s, ctx.domain) for s in start):
            raise Reject(test.at, "the loop may start below 0 and never end", "use i-- > 0")
        first: Bound = tuple(s - 1 for s in start)
    else:
        wraps = bits(variable.ctype.name) < 32 or ctx.unit.dialect.wraps  # else it overflows, if it starts below 0
        if signed_equal and wraps and range_of(start_expr)[0] < 0:
            raise Reject(test.at, _WRAPS.format(variable.name), _WRAP_ADVICE)
        first = _shifted(_in_long(start), -1, "long")
    return Header(variable, first, (Affine.constant(-1),), -1)


def require_iteration(ctx: Context, loop: ForStmt, found: Header) -> None:
    """Raises Reject where the condition might not hold at first, which this loop does not ask."""
    if isinstance(found.start, tuple) and isinstance(found.stop, tuple):
        sign = 1 if found.step > 0 else -1
        distances = [(stop - start) * sign - 1 for start in found.start for stop in found.stop]
        if all(ctx.assumed.facts.require(distance, ctx.domain) for distance in distances):
            return
    reason = "the loop runs once even where its condition does not hold at first"
    raise Reject(loop.begin, reason, "test the condition at the top: for (i = start; i < stop; i++)")
