"""C arithmetic on Python values, bit for bit (LP64, gcc): operators and library functions, beside
`scheduler.ir.arithmetic`. Signed overflow wraps, as at -O0.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import math
import operator
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from scheduler.ir.arithmetic import InterpreterError, Value, converter, to_float32, wrapper
from scheduler.ir.types import (
    COMPARISONS,
    FUNCTIONS,
    SHIFTS,
    common_type,
    known_type,
    promoted,
)

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
        finish: Callable[[Value], Value] | None = to_float32 if ctype == "float" else None
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
