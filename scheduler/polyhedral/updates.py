"""Statements that update an element so that the order of their instances matters little, or not at all.

Which orders give the same bits:

- Integers: `+ - * & | ^` wrap, minima and maxima are one of the values, `x = 1` is the same whenever it happens:
  every order does. So it is with `&=` and `|=` of a _Bool; the other operators convert at every step.
- `if (x > m) m = x` on floating point: a NaN never wins, and a NaN that was there stays. But 0.0 and -0.0 are equal,
  so that the order decides which one is left. The same is true of what is noted beside (`index = i`) where values
  are equal. In order the updates are associative: threads may each do a part of them in order, starting from the
  old value, if of equal winners the one is kept that came first (`>`, `<`) or last (`>=`, `<=`) in the loop.
- `m = m > x ? m : x` takes a NaN and loses it again; `fmax` chooses among zeros and among NaNs as it likes; sums round:
  another order may give other bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from scheduler.ir.nest import Access, Action, Array, Assign, Binary, Call, Cast, Conditional, Expr, If, Literal, Read
from scheduler.ir.types import ScalarType, scalar_type
from scheduler.ir.walk import AccessUse, assignments, children, reads

_OPERATORS = {"+=": "+", "-=": "+", "*=": "*", "&=": "&", "|=": "|", "^=": "^"}
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_LARGEST = {"fmax": "max", "fmaxf": "max", "fmin": "min", "fminf": "min"}
_CONSTANTS = frozenset(map(str, range(128)))  # that every integer type holds


@dataclass(frozen=True, slots=True)
class Update:
    """What a statement does to `array`, at `accesses`, each time.

    `operator`: one of `+ * & | ^ min max`, or `=0`, `=1`, … where it is set to that constant. `exact`: every order
    gives the same bits; `loose`: every order does but for rounding, signs of zeros and NaNs. `choice` is there where
    threads may do parts of a loop in order.
    """

    array: str
    operator: str
    accesses: frozenset[Access]
    exact: bool
    loose: bool = True
    choice: Choice | None = None
    function: str | None = None  # `fmax`, … that updates it


@dataclass(frozen=True, slots=True)
class Choice:
    """`body` sets `target`, and `followers` with it, where a value beats it (`last`: or is equal)."""

    target: Access
    followers: tuple[Access, ...]
    last: bool
    body: tuple[Action, ...]


def update_of(
    body: tuple[Action, ...], uses: Iterable[AccessUse], array: str, arrays: Mapping[str, Array]
) -> Update | None:
    """How a statement updates an array; None where the order matters. `uses` are all accesses the statement makes."""
    kind = scalar_type(arrays[array].ctype)
    mine = [u for u in uses if u.access.array == array]
    if kind is None or not any(u.is_write for u in mine):
        return None
    writes = [a for a in assignments(body) if a.target.array == array]
    read = sum(not u.is_write for u in mine)
    for find in (_operation, _constant):
        found = find(array, writes, read, kind)
        if found is not None and all(u.access in found.accesses for u in mine):
            return found
    return _choice(body, list(uses), array, arrays)


def _operation(array: str, writes: list[Assign], read: int, kind: ScalarType) -> Update | None:
    """`x op= value` wherever it is written, by one operator."""
    operators: set[str] = set()
    for action in writes:
        op, value = (action.op, action.value) if action.op != "=" else _spelled_out(action)
        of = scalar_type(value.ctype)
        if op not in _OPERATORS or of is None or (of.kind == "floating" and kind.kind != "floating"):
            return None
        operators.add(_OPERATORS[op])
    if len(operators) != 1 or read != len(writes):  # its value is read elsewhere, too
        return None
    operator = operators.pop()
    if kind.kind == "bool" and operator not in "&|":
        return None
    if kind.kind == "floating" and operator not in "+*":
        return None
    return Update(array, operator, frozenset(a.target for a in writes), kind.kind != "floating")


def _spelled_out(action: Assign) -> tuple[str, Expr]:
    """(`+=`, b) of `x = x + b` or `x = b + x`; ("", …) of anything else."""
    value = _bare(action.value)
    if isinstance(value, Binary):
        if _is_read(value.left, action.target):
            return value.op + "=", value.right
        if value.op != "-" and _is_read(value.right, action.target):
            return value.op + "=", value.left
    return "", value


def _constant(array: str, writes: list[Assign], read: int, kind: ScalarType) -> Update | None:
    """`x = 1`, wherever it is written."""
    values = {a.value for a in writes}
    value = values.pop()
    if read or values or any(a.op != "=" for a in writes) or kind.kind == "floating":
        return None
    if not isinstance(value, Literal) or value.text not in _CONSTANTS:
        return None
    return Update(array, f"={int(value.text)}", frozenset(a.target for a in writes), True)


# --------------------------------------------------------------------------------- minima, maxima


def _choice(body: tuple[Action, ...], uses: list[AccessUse], array: str, arrays: Mapping[str, Array]) -> Update | None:
    """A minimum or maximum, or what is noted beside one."""
    if len(body) != 1:
        return None
    action = body[0]
    found = _branch(action, arrays) if isinstance(action, If) else _expression(action, arrays)
    if found is None and isinstance(action, If) and not (action.orelse or action.flow):
        inner = _choice(action.then, uses, array, arrays)
        if inner is None or inner.choice is None:
            return inner
        return replace(inner, choice=replace(inner.choice, body=(replace(action, then=inner.choice.body),)))
    if found is None:
        return None
    target, followers, expected, update = found
    if array not in (target.array, *(f.array for f in followers)):
        return None
    for place, count in ((target, expected), *((f, 0) for f in followers)):
        mine = [u for u in uses if u.access.array == place.array]
        if any(u.access != place for u in mine) or sum(not u.is_write for u in mine) != count:
            return None
    return replace(update, array=array, accesses=frozenset(a for a in (target, *followers) if a.array == array))


_Found = tuple[Access, tuple[Access, ...], int, Update]  # target, followers, expected reads of the target, the rest


def _branch(action: If, arrays: Mapping[str, Array]) -> _Found | None:
    """`if (value > x) { x = value; index = i; }`"""
    sets = [a for a in action.then if isinstance(a, Assign) and a.op == "="]
    distinct = len({a.target.array for a in sets}) == len(action.then) == len(sets)
    if action.orelse or action.flow or not distinct:
        return None
    tests = _conjuncts(action.condition)
    for position, test in enumerate(tests):
        for assign in sets:
            compared = _compared(test, assign.target, arrays)
            if compared is None or compared[1] != _bare(assign.value):
                continue
            others = [a for a in sets if a is not assign]
            evaluated = {u.access for t in tests[: position + 1] for u in reads(t) if u.must}
            more = (*tests[position + 1 :], *(a.value for a in others))
            if not all(_harmless(e, evaluated) for e in more):
                return None
            followers = tuple(a.target for a in others)
            return assign.target, followers, 1, _extreme(compared[0], assign.target, followers, (action,), arrays)
    return None


def _expression(action: Assign, arrays: Mapping[str, Array]) -> _Found | None:
    """`x = value > x ? value : x`, `x = fmax(x, value)`"""
    value, target = _bare(action.value), action.target
    if action.op != "=":
        return None
    if isinstance(value, Call) and value.function in _LARGEST and len(value.arguments) == 2:
        ctype = arrays[target.array].ctype
        own, other = value.arguments if _is_read(value.arguments[0], target) else reversed(value.arguments)
        same = _holds(ctype, _bare(other).ctype) and (value.function in ("fmax", "fmin") or _holds("float", ctype))
        if not _is_read(own, target) or not same or not _holds("long double", ctype):
            return None
        operator = _LARGEST[value.function]
        return target, (), 1, Update(target.array, operator, frozenset(), False, True, None, value.function)
    if not isinstance(value, Conditional):
        return None
    compared = _compared(value.condition, target, arrays)
    if compared is None:
        return None
    op, other = compared
    if _is_read(value.orelse, target) and _bare(value.then) == other:
        body = (If(value.condition, (Assign(target, "=", value.then),)),)
        return target, (), 2, _extreme(op, target, (), body, arrays)
    if _is_read(value.then, target) and _bare(value.orelse) == other:
        # It stays where it beats the value, so that the value wins otherwise: a NaN, too.
        operator = "min" if op.startswith(">") else "max"
        exact = _is_integer(arrays[target.array].ctype)
        return target, (), 2, Update(target.array, operator, frozenset(), exact)
    return None


def _extreme(
    op: str, target: Access, followers: tuple[Access, ...], body: tuple[Action, ...], arrays: Mapping[str, Array]
) -> Update:
    """`op`: how a value that wins compares with the target."""
    operator = "max" if op.startswith(">") else "min"
    exact = not followers and _is_integer(arrays[target.array].ctype)
    plain = all(_is_plain(a, arrays) for a in (target, *followers))
    choice = Choice(target, followers, op.endswith("="), body) if plain and not exact else None
    return Update(target.array, operator, frozenset(), exact, not followers, choice)


def _compared(test: Expr, target: Access, arrays: Mapping[str, Array]) -> tuple[str, Expr] | None:
    """(`>`, value) of `value > target` or `target < value`, where the target can hold the value."""
    if not isinstance(test, Binary) or test.op not in _FLIPPED:
        return None
    if _is_read(test.right, target):
        op, value = test.op, _bare(test.left)
    elif _is_read(test.left, target):
        op, value = _FLIPPED[test.op], _bare(test.right)
    else:
        return None
    return (op, value) if _holds(arrays[target.array].ctype, value.ctype) else None


def _conjuncts(test: Expr) -> tuple[Expr, ...]:
    if isinstance(test, Binary) and test.op == "&&":
        return (*_conjuncts(test.left), *_conjuncts(test.right))
    return (test,)


def _harmless(e: Expr, evaluated: set[Access]) -> bool:
    """Whether it can be computed where the source does not: nothing is read that might not be there to be read."""
    if isinstance(e, Read):
        return not e.access.subscripts or (e.access in evaluated)
    if isinstance(e, Binary) and e.op in ("/", "%") and _is_integer(e.ctype):
        return False
    return all(_harmless(child, evaluated) for child in children(e))


def _is_plain(access: Access, arrays: Mapping[str, Array]) -> bool:
    """A variable that is there whether or not the loop runs."""
    base = arrays[access.array].base
    return not access.subscripts and (base is None or base.isidentifier())


def _is_read(e: Expr, access: Access) -> bool:
    e = _bare(e)
    return isinstance(e, Read) and e.access == access


def _bare(e: Expr) -> Expr:
    """Without conversions that lose nothing."""
    while isinstance(e, Cast) and _holds(e.ctype, e.operand.ctype):
        e = e.operand
    return e


def _holds(ctype: str, other: str) -> bool:
    """Whether a type has all values of another one of its kind."""
    to, of = scalar_type(ctype), scalar_type(other)
    if to is None or of is None or to.kind != of.kind or to.kind == "bool":
        return False
    if to.kind == "floating":
        return to.bits >= of.bits
    if to.signed == of.signed:
        return to.bits >= of.bits
    return to.signed and to.bits > of.bits


def _is_integer(ctype: str) -> bool:
    kind = scalar_type(ctype)
    return kind is not None and kind.kind == "integer"
