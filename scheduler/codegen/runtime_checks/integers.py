"""Types of integers, constants and steps in expressions of the IR, as intervals need them."""

from __future__ import annotations

from scheduler.ir.nest import Array, Assign, Cast, Expr, Literal, Storage
from scheduler.ir.types import ScalarType, promoted, scalar_type
from scheduler.ir.walk import reads

PLAIN = "char"


def integer(ctype: str) -> ScalarType | None:
    found = scalar_type(ctype)
    return found if found is not None and found.kind != "floating" else None


def tracked(array: Array) -> bool:
    """A number that the nest sets before it reads it."""
    private = array.storage is Storage.PRIVATE and len(array.shape) == array.expanded
    return private and integer(array.ctype) is not None


def limits(ctype: str) -> tuple[str, str]:
    """The least and the greatest number of a type, as C text; those of 64 bits have none."""
    found = integer(ctype)
    if found is None or found.bits == 64:
        return "pe_lo", "pe_hi"
    if found.kind == "bool":
        return "0", "1"
    if found.name == PLAIN:
        return "-128L", "255L"
    low = -(1 << (found.bits - 1)) if found.signed else 0
    high = (1 << (found.bits - int(found.signed))) - 1
    return f"{low}L", f"{high}L"


def includes(ctype: str, other: str) -> bool:
    """Whether a type holds all numbers of another; of char nobody knows whether it has a sign."""
    a, b = integer(ctype), integer(other)
    if a is None or b is None or a.kind == "bool" or a.name == PLAIN:
        return a is not None and a == b
    if b.name == PLAIN:
        return a.signed and a.bits > b.bits
    if a.signed == b.signed:
        return a.bits >= b.bits
    return a.signed and a.bits > b.bits


def common_type(first: str, second: str) -> str:
    """The type in which C computes with two others."""
    a, b = scalar_type(first), scalar_type(second)
    if a is None or b is None:
        return first
    if a.kind == "floating" or b.kind == "floating":
        return max((a, b), key=lambda t: t.rank).name
    x, y = scalar_type(promoted(first)), scalar_type(promoted(second))
    assert x is not None and y is not None
    if x.signed == y.signed:
        return max((x, y), key=lambda t: t.rank).name
    signed, unsigned = (x, y) if x.signed else (y, x)
    if unsigned.rank >= signed.rank:
        return unsigned.name
    if signed.bits > unsigned.bits:
        return signed.name
    return f"unsigned {signed.name}"


def constant_of(expr: Expr) -> int | None:
    if isinstance(expr, Cast):
        inner = constant_of(expr.operand)
        found = integer(expr.ctype)
        return inner if found is not None and inner is not None and 0 <= inner < 128 else None
    if not isinstance(expr, Literal):
        return None
    try:
        return int(expr.text.rstrip("uUlL"), 0)
    except ValueError:
        return None


def step_of(assign: Assign) -> int | None:
    """What is added each time."""
    step = constant_of(assign.value)
    if step is None or not -(1 << 20) < step < 1 << 20:
        return None
    return step if assign.op == "+=" else -step if assign.op == "-=" else None


def mentioned(expr: Expr) -> frozenset[str]:
    return frozenset(u.access.array for u in reads(expr))


def width_of(ctype: ScalarType) -> int:
    return max(1, ctype.bits // 8) * (1 if ctype.signed else -1)
