"""`for` headers: iterator, start, exclusive stop, step.

Long, because there is one way to count beside the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from scheduler.frontend import conditions, integers, values
from scheduler.frontend.arith import bits, is_integer, is_unsigned, value_range
from scheduler.frontend.context import Context, Refuse
from scheduler.frontend.csyntax import (
    INT,
    TOO_DEEP,
    Bin,
    CExpr,
    Conv,
    DeclStmt,
    ExprStmt,
    ForStmt,
    Lit,
    OtherStmt,
    Ref,
    Set,
    Step,
    Strange,
    Variable,
    all_expressions,
    statements,
    strip,
)
from scheduler.frontend.fold import fold
from scheduler.frontend.integers import NotAffine
from scheduler.frontend.iterations import Counted, around, passages, range_of, reaches_far, takes_values
from scheduler.frontend.scalars import occurs_in, target_variable
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Binary, Bound, Cast, Expr, Literal
from scheduler.ir.types import common_type

_FLIP = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!="}
NO_STEP = "the loop does not advance by a constant"
_STEP_ADVICE = "write it as for (i = start; i < stop; i += constant)"


@dataclass(slots=True)
class Header:
    variable: Variable
    start: Bound
    stop: Bound
    step: int


_WRAPS = "the iterator '{}' may leave the range of a type and come back"
_WRAP_ADVICE = "use one wide, signed type for the iterator and its limits"


def header(ctx: Context, loop: ForStmt) -> Header:
    """The bounds of a loop, read in the context around it. Raises Refuse."""
    if loop.foreign:
        raise Refuse(loop.begin, "the loop header comes from a macro", "write the for loop out")
    if loop.positive is not None and not _known(
        ctx, loop.positive, lambda step: ctx.facts.require(step - 1, ctx.domain)
    ):
        raise Refuse(loop.begin, NO_STEP, _STEP_ADVICE)
    if loop.left_at is not None and ctx.unit.dialect.wraps and not _known(ctx, loop.left_at):
        raise Refuse(loop.begin, _WRAPS.format(_init(loop)[0].name.removesuffix("_round")), _WRAP_ADVICE)
    variable, start_expr = _init(loop)
    if variable.ctype.kind != "int" or variable.ctype.name == "_Bool":
        reason = f"the loop counts with '{variable.name}' of type '{variable.ctype.name}'"
        raise Refuse(loop.begin, reason, "use an integer")
    if variable.ctype.is_volatile:
        raise Refuse(loop.begin, f"'{variable.name}' is volatile", "use an ordinary variable")
    if variable.storage in ("global", "static") or variable.address_taken:
        _check_depth(loop)
        what = "accessed through a pointer" if variable.storage not in ("global", "static") else "not local"
        raise Refuse(loop.begin, f"the iterator '{variable.name}' is {what}", "declare it in the loop header")
    step = step_of(loop, variable)
    if loop.condition is None:
        raise Refuse(loop.begin, "the loop has no condition", _STEP_ADVICE)
    conditions = list(_conjuncts(loop.condition))
    decremented = _decrement_test(loop.condition, variable) if loop.increment is None else None
    if decremented is not None:
        return _counting_down(ctx, loop, variable, start_expr, decremented)
    if step is None:
        raise Refuse(loop.begin, "the loop has no increment", _STEP_ADVICE)
    start = _start(ctx, start_expr, step, variable)
    stops: list[Affine] = []
    opaque: Expr | None = None
    for condition in conditions:
        found = _stop(ctx, loop, (variable, start, start_expr, step), condition, len(conditions) == 1)
        if isinstance(found, tuple):
            stops.extend(found)
        elif len(conditions) > 1:
            raise Refuse(condition.at, "the loop has a condition that depends on data", _STEP_ADVICE)
        else:
            opaque = found
    if abs(step) > 1 and isinstance(start, tuple) and len(start) > 1:
        raise Refuse(loop.begin, "the start of a strided loop is a minimum or maximum", "compute it before the loop")
    return Header(variable, start, tuple(dict.fromkeys(stops)) if opaque is None else opaque, step)


def counts(loop: ForStmt) -> bool:
    """Whether a header looks like one that counts, whatever its bounds are."""
    try:
        variable, _ = _init(loop)
        step = step_of(loop, variable)
    except Refuse:
        return False
    if loop.condition is None:
        return False
    if step is None:
        return _decrement_test(loop.condition, variable) is not None
    tests = [strip(test) for test in _conjuncts(loop.condition)]
    return all(
        isinstance(t, Bin) and t.op in _FLIP and any(around(side, variable) is not None for side in (t.left, t.right))
        for t in tests
    )


def _check_depth(loop: ForStmt) -> None:
    """Raises Refuse where it is only the code left unread that might change the iterator."""
    deep = [s.begin for s in statements(loop) if isinstance(s, OtherStmt) and s.what == "too deep"]
    deep += [e.at for e in all_expressions(loop) if isinstance(e, Strange) and e.what == TOO_DEEP]
    if deep:
        raise Refuse(deep[0], "the code is nested too deeply", "split it into functions")


def _init(loop: ForStmt) -> tuple[Variable, CExpr]:
    init = loop.init
    if isinstance(init, DeclStmt) and len(init.variables) == 1 and init.variables[0].init is not None:
        return init.variables[0], init.variables[0].init
    assignment = init.expr if isinstance(init, ExprStmt) else None
    if isinstance(assignment, Set) and assignment.op == "=" and isinstance(assignment.left, Ref):
        return assignment.left.var, assignment.right
    if init is None:
        raise Refuse(loop.begin, "the loop header does not set its iterator", "set it there: for (i = ...; ...)")
    raise Refuse(loop.begin, "the loop header sets more than one variable", "keep one iterator in the header")


def step_of(loop: ForStmt, variable: Variable) -> int | None:
    """What the header adds to the variable in each iteration; None where it does nothing. Raises Refuse."""
    increment = loop.increment
    if increment is None:
        return None
    if target_variable(increment) is not variable:
        raise Refuse(increment.at, "the loop increment does not change just its iterator", _STEP_ADVICE)
    found = step_by(increment, variable)
    amount = None if found is None else fold(found[0])
    if found is None or not amount:
        raise Refuse(increment.at, NO_STEP, _STEP_ADVICE)
    half = 2 ** (bits(variable.ctype.name) - 1) if is_integer(variable.ctype.name) else 2**63
    return ((-amount if found[1] else amount) + half) % (2 * half) - half  # `i += (size_t)-1` is i -= 1


def step_by(expr: CExpr, variable: Variable) -> tuple[CExpr, bool] | None:
    """(what is added or taken, whether it is taken) of `v += c` and its like."""
    if isinstance(expr, Step):
        return Lit("1", 1, INT, expr.at), expr.op == "--"
    if isinstance(expr, Set) and expr.op in ("+=", "-="):
        return expr.right, expr.op == "-="
    if isinstance(expr, Set) and expr.op == "=":
        right = strip(expr.right)
        if isinstance(right, Bin) and right.op in ("+", "-"):
            left, other = strip(right.left), right.right
            if right.op == "+" and not (isinstance(left, Ref) and left.var is variable):
                left, other = strip(right.right), right.left
            if isinstance(left, Ref) and left.var is variable:
                return other, right.op == "-"
    return None


def _overflows(increment: CExpr | None, variable: Variable) -> bool:
    """Whether a step that leaves the range of the iterator's type is made in that type, and not converted to it."""
    own = variable.ctype.name
    return not isinstance(increment, Set) or common_type(own, strip(increment.right).ctype.name) == own


def _conjuncts(expr: CExpr) -> tuple[CExpr, ...]:
    expr = strip(expr)
    if isinstance(expr, Bin) and expr.op == "&&":
        return (*_conjuncts(expr.left), *_conjuncts(expr.right))
    return (expr,)


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
    if not isinstance(condition, Bin) or condition.op not in _FLIP:
        raise Refuse(condition.at, "the loop condition is not a comparison of its iterator", _STEP_ADVICE)
    op, own, limit = condition.op, condition.left, condition.right
    if around(own, variable) is None:
        op, own, limit = _FLIP[op], condition.right, condition.left
    if around(own, variable) is not None and not is_integer(limit.ctype.name):
        raise Refuse(condition.at, "the loop limit is not an integer", "compute an integer limit before the loop")
    through = passages(own, variable, ctx.unit.dialect.wraps or not _overflows(loop.increment, variable))
    if through is None:
        raise Refuse(condition.at, "the loop condition is not a comparison of its iterator", _STEP_ADVICE)
    offset = through[-1].offset
    if occurs_in(variable, limit):
        raise Refuse(condition.at, "the loop compares its iterator with something that depends on it", _STEP_ADVICE)
    if is_unsigned(variable.ctype.name) and step == -1 and op in ("<", "<=", "!=") and len(through) == 1:
        found = _wrapping(ctx, op, own, limit, start, variable)
        if found is not None:
            return found
    if (step > 0) != (op in ("<", "<=")) and op != "!=":
        raise Refuse(condition.at, "the loop does not count towards its limit", "check the direction of the step")
    floor = is_unsigned(own.ctype.name) and step < 0 and op == ">="
    if floor and not _known(ctx, limit, lambda value: ctx.facts.proves(value - 1, ctx.domain)):
        raise Refuse(condition.at, "an unsigned iterator is always >= 0", "count with a signed iterator")
    closed = {"<=": 1, ">=": -1}.get(op, 0)
    try:
        kind, found_stop = conditions.minmax(ctx, limit)
        if kind not in ("one", "min" if step > 0 else "max"):
            raise NotAffine
        stop: Bound = tuple(s + closed - offset for s in found_stop)
    except NotAffine:
        if op == "!=":
            reason = "a loop with != has a limit that depends on data"
            raise Refuse(condition.at, reason, "use < instead of !=") from None
        opaque = values.value(ctx, limit)
        if offset:
            stop = _shifted(_in_long(opaque), closed - offset, "long")
        else:  # `n + 1` where C compares with `<= n`: it overflows only where the loop has no end
            stop = _shifted(opaque, closed, limit.ctype.name)
    counted = Counted(variable.name, start, stop, step, start_expr, limit, closed - offset)
    if not takes_values(ctx, counted, through, alone) or reaches_far(counted, variable, loop.body):
        raise Refuse(condition.at, _WRAPS.format(variable.name), _WRAP_ADVICE)
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
        raise Refuse(condition.at, "a loop with != may step over its limit", "use < instead of !=")
    distance = stop[0] - start[0] if step > 0 else start[0] - stop[0]
    if not ctx.facts.require(distance, ctx.domain):
        raise Refuse(condition.at, "a loop with != may start behind its limit", "use < instead of !=")


def _wrapping(
    ctx: Context, op: str, own: CExpr, limit: CExpr, start: Bound, variable: Variable
) -> tuple[Affine, ...] | None:
    """`for (size_t i = n - 1; i < n; i--)`: counts down to 0 and ends by wrapping around."""
    if not isinstance(start, tuple) or len(start) != 1:
        return None
    if op == "!=":
        last = value_range(variable.ctype.name)[1]
        below = -start[0] + last - 1
        ends = fold(limit) == last and (last >= 2**62 or ctx.facts.require(below, ctx.domain))
        return (Affine.constant(-1),) if ends else None
    try:
        stop = integers.exact(ctx, limit)
    except NotAffine:
        return None
    below = stop - start[0] - (1 if op == "<" else 0)
    return (Affine.constant(-1),) if ctx.facts.require(below, ctx.domain) else None


def _decrement_test(condition: CExpr, variable: Variable) -> Step | None:
    """The `i--` of `i-- > 0`, `i-- != 0` or plain `i--` as a loop condition."""
    step = counting_test(condition)
    return step if step is not None and target_variable(step) is variable else None


def counting_test(condition: CExpr) -> Step | None:
    """As `_decrement_test`, of any variable."""
    expr = strip(condition)
    if isinstance(expr, Bin) and expr.op in (">", "!=") and fold(expr.right) == 0:
        expr = strip(expr.left)
    return expr if isinstance(expr, Step) and expr.op == "--" and not expr.prefix else None


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
            and not all(ctx.facts.require(s - (lowest + 1), ctx.domain) for s in start)
        ):
            raise Refuse(test.at, _WRAPS.format(variable.name), _WRAP_ADVICE)
        if signed_equal and not all(ctx.facts.require(s, ctx.domain) for s in start):
            raise Refuse(test.at, "the loop may start below 0 and never end", "use i-- > 0")
        first: Bound = tuple(s - 1 for s in start)
    else:
        wraps = bits(variable.ctype.name) < 32 or ctx.unit.dialect.wraps  # else it overflows, if it starts below 0
        if signed_equal and wraps and range_of(start_expr)[0] < 0:
            raise Refuse(test.at, _WRAPS.format(variable.name), _WRAP_ADVICE)
        first = _shifted(_in_long(start), -1, "long")
    return Header(variable, first, (Affine.constant(-1),), -1)


def require_iteration(ctx: Context, loop: ForStmt, found: Header) -> None:
    """Raises Refuse where the condition might not hold at first, which this loop does not ask."""
    if isinstance(found.start, tuple) and isinstance(found.stop, tuple):
        sign = 1 if found.step > 0 else -1
        distances = [(stop - start) * sign - 1 for start in found.start for stop in found.stop]
        if all(ctx.facts.require(distance, ctx.domain) for distance in distances):
            return
    reason = "the loop runs once even where its condition does not hold at first"
    raise Refuse(loop.begin, reason, "test the condition at the top: for (i = start; i < stop; i++)")
