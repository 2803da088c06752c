"""C arithmetic on Python values, bit for bit (LP64, gcc): conversions, operators, library functions, literals.

Integers and `_Bool` are Python ints within range of their type, `float` and `double` Python floats (a float's
value representable in 32 bits), `long double` numpy.longdouble. Signed overflow wraps, as at -O0.
"""

from __future__ import annotations

import ast
import ctypes
import ctypes.util
import math
import operator
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from scheduler.errors import SchedulerError
from scheduler.ir.types import (
    COMPARISONS,
    FUNCTIONS,
    SHIFTS,
    common_type,
    known_type,
    literal_type,
    promoted,
)


class InterpreterError(SchedulerError):
    """The interpreted nest does something undefined: an access out of bounds, a division by zero, …"""


Value = Any  # int, float or numpy.longdouble, by the C type of the expression

_NUMPY = {
    "_Bool": np.bool_,
    "char": np.int8,
    "signed char": np.int8,
    "unsigned char": np.uint8,
    "short": np.int16,
    "unsigned short": np.uint16,
    "int": np.int32,
    "unsigned int": np.uint32,
    "long": np.int64,
    "unsigned long": np.uint64,
    "long long": np.int64,
    "unsigned long long": np.uint64,
    "float": np.float32,
    "double": np.float64,
    "long double": np.longdouble,
}


def numpy_type(ctype: str) -> np.dtype[Any]:
    """The NumPy type of an array with elements of a C type. Raises KeyError."""
    return np.dtype(_NUMPY[known_type(ctype).name])


# ---------------------------------------------------------------------------------- conversions


@cache
def wrapper(bits: int, signed: bool) -> Callable[[int], int]:
    """Reduces an integer to a width."""
    mask, half = (1 << bits) - 1, (1 << (bits - 1)) if signed else 0
    return lambda value: ((value + half) & mask) - half


def _to_float32(value: Value) -> float:
    if isinstance(value, int) and not -(1 << 53) <= value <= 1 << 53:
        sign, value = (-1 if value < 0 else 1), abs(value)
        value = sign * float((value >> 12) | bool(value & 0xFFF)) * 4096.0  # one rounding only: the sticky bit
    return ctypes.c_float(float(value)).value if not isinstance(value, np.longdouble) else float(np.float32(value))


def _to_integer(bits: int, signed: bool) -> Callable[[Value], int]:
    wrap = wrapper(bits, signed)
    low, high = (-(1 << (bits - 1)), 1 << (bits - 1)) if signed else (0, 1 << bits)

    def convert(value: Value) -> int:
        if isinstance(value, int):
            return wrap(value)
        if not math.isfinite(value):
            raise InterpreterError(f"{value} converted to an integer")
        truncated = int(value)
        if not low <= truncated < high:
            raise InterpreterError(f"{value} converted to an integer of {bits} bits")
        return truncated

    return convert


@cache
def converter(ctype: str) -> Callable[[Value], Value]:
    """Conversion of any value to a C type. Raises KeyError for an unknown type."""
    scalar = known_type(ctype)
    if scalar.kind == "bool":
        return lambda value: int(value != 0)
    if scalar.kind == "integer":
        return _to_integer(scalar.bits, scalar.signed)
    floating: dict[str, Callable[[Value], Value]] = {
        "float": _to_float32,
        "double": float,
        "long double": np.longdouble,
    }
    return floating[scalar.name]


# ------------------------------------------------------------------------------------- operators


def _float_divide(left: float, right: float) -> float:
    if right == 0:
        if left == 0 or math.isnan(left):
            return math.nan
        return math.copysign(math.inf, left) * math.copysign(1.0, right)
    return left / right


def _truncating(left: int, right: int) -> int:
    if right == 0:
        raise InterpreterError("integer division by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _remainder(left: int, right: int) -> int:
    return left - right * _truncating(left, right)


_EXACT: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def _shift(op: str, ctype: str) -> Callable[[int, int], int]:
    bits = known_type(ctype).bits
    wrap = wrapper(bits, known_type(ctype).signed)

    def shift(left: int, right: int) -> int:
        if not 0 <= right < bits:
            raise InterpreterError(f"shift of {bits} bits by {right}")
        return wrap(left << right) if op == "<<" else left >> right

    return shift


@cache
def binary_operation(op: str, left: str, right: str) -> Callable[[Value, Value], Value]:
    """`left op right` on values of two C types; the result has type `binary_type(op, left, right)`.

    `&&` and `||` are not operations on values: the evaluator short-circuits them. Raises KeyError.
    """
    if op in SHIFTS:
        return _shift(op, promoted(left))
    ctype = common_type(left, right)
    scalar = known_type(ctype)
    if scalar.kind == "floating":
        compute = _float_divide if op == "/" and ctype != "long double" else {**_EXACT, "/": operator.truediv}[op]
        finish: Callable[[Value], Value] | None = _to_float32 if ctype == "float" else None
    else:
        compute = {**_EXACT, "/": _truncating, "%": _remainder}[op]
        finish = wrapper(scalar.bits, scalar.signed)
    if op in COMPARISONS:
        finish = int
    # Operands of the common type stay as they are; the others are converted first.
    to_left, to_right = (None if known_type(t).name == ctype else converter(ctype) for t in (left, right))
    if to_left is None and to_right is None:
        if finish is None:
            return compute
        last = finish
        return lambda a, b: last(compute(a, b))
    first, second, end = to_left or _same, to_right or _same, finish or _same
    return lambda a, b: end(compute(first(a), second(b)))


def _same(value: Value) -> Value:
    return value


@cache
def unary_operation(op: str, operand: str) -> Callable[[Value], Value]:
    """Raises KeyError for an unknown operator or type."""
    if op == "!":
        return lambda value: int(value == 0)
    convert = converter(promoted(operand))
    operations: dict[str, Callable[[Value], Value]] = {"-": operator.neg, "+": _same, "~": operator.inv}
    compute = operations[op]
    return lambda value: convert(compute(convert(value)))


# ------------------------------------------------------------------------------ the C library


@cache
def _library() -> ctypes.CDLL:
    try:
        return ctypes.CDLL("libm.so.6")
    except OSError:
        return ctypes.CDLL(ctypes.util.find_library("m"))


@cache
def library_function(name: str) -> Callable[..., Value]:
    """The C library's own function, on values already converted to its parameter types. Raises InterpreterError."""
    if name not in FUNCTIONS:
        raise InterpreterError(f"function {name} is not known")
    parameters, result = FUNCTIONS[name]
    if result not in ("double", "float"):
        wrap = converter(result)
        return lambda value: wrap(abs(value))
    function = getattr(_library(), name)
    kinds = {"double": ctypes.c_double, "float": ctypes.c_float}
    function.argtypes = [kinds[p] for p in parameters]
    function.restype = kinds[result]
    return function  # type: ignore[no-any-return]


@cache
def literal_value(text: str, ctype: str) -> Value:
    """The value of a C literal (a sign, `INFINITY` and `NAN` are understood). Raises InterpreterError."""
    convert = converter(ctype)
    body = text.strip().strip("()").strip()
    negative = body.startswith("-")
    body = body.removeprefix("-").strip()
    natural = literal_type(body)
    if body in ("INFINITY", "NAN"):
        value: Value = math.inf if body == "INFINITY" else math.nan
    elif natural is None:
        raise InterpreterError(f"literal {text!r}")
    elif body.startswith("'"):
        character = ast.literal_eval("b" + body)
        value = wrapper(8, True)(character[0]) if len(character) == 1 else int.from_bytes(character, "big")
    elif known_type(natural).kind == "integer":
        digits = body.lower().rstrip("ul")
        octal = digits.startswith("0") and digits.isdigit()
        value = int(digits, 8 if octal else 0)
    elif natural == "long double":
        value = np.longdouble(body[:-1])
    else:
        name, kind = ("strtof", ctypes.c_float) if natural == "float" else ("strtod", ctypes.c_double)
        parse = getattr(ctypes.CDLL(None), name)
        parse.restype, parse.argtypes = kind, [ctypes.c_char_p, ctypes.c_void_p]
        value = parse(body.encode(), None)  # stops at a suffix
    return convert(-value if negative else value)
