"""C values as Python has them, bit for bit (LP64, gcc): conversions and literals.

Integers and `_Bool` are Python ints within range of their type, `float` and `double` Python floats (a float's
value representable in 32 bits), `long double` numpy.longdouble. Signed overflow wraps, as at -O0.
"""

from __future__ import annotations

import ast
import ctypes
import ctypes.util
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from scheduler.errors import SchedulerError
from scheduler.ir.types import known_type, literal_type


class InterpreterError(SchedulerError):
    """The interpreted nest does something undefined: an access out of bounds, a division by zero, …"""


Value = Any  # int, float or numpy.longdouble, by the C type of the expression


@cache
def wrapper(bits: int, signed: bool) -> Callable[[int], int]:
    """Reduces an integer to a width."""
    mask, half = (1 << bits) - 1, (1 << (bits - 1)) if signed else 0
    return lambda value: ((value + half) & mask) - half


def to_float32(value: Value) -> float:
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
        "float": to_float32,
        "double": float,
        "long double": np.longdouble,
    }
    return floating[scalar.name]


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
