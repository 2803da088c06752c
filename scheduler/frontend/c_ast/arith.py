"""Ranges and widths of C's integer types, on top of `scheduler.ir.types`."""

from __future__ import annotations

import struct
from functools import cache

from scheduler.ir.types import scalar_type

_SUFFIX = {"unsigned int": "u", "long": "l", "unsigned long": "ul", "long long": "ll", "unsigned long long": "ull"}


@cache
def is_integer(ctype: str) -> bool:
    found = scalar_type(ctype)
    return found is not None and found.kind != "floating"


@cache
def is_float(ctype: str) -> bool:
    return ctype in ("float", "double")


@cache
def bits(ctype: str) -> int:
    """Raises KeyError for a type that is not scalar."""
    found = scalar_type(ctype)
    if found is None:
        raise KeyError(ctype)
    return found.bits


@cache
def is_unsigned(ctype: str) -> bool:
    found = scalar_type(ctype)
    return found is not None and found.kind != "floating" and not found.signed


@cache
def value_range(ctype: str) -> tuple[int, int]:
    """Smallest and largest value of an integer type."""
    width = bits(ctype)
    if is_unsigned(ctype):
        return 0, 2**width - 1
    return -(2 ** (width - 1)), 2 ** (width - 1) - 1


def wrap(value: int, ctype: str) -> int:
    """The value of an integer converted to `ctype`."""
    if ctype == "_Bool":
        return int(value != 0)
    width = bits(ctype)
    value &= 2**width - 1
    return value if is_unsigned(ctype) or value < 2 ** (width - 1) else value - 2**width


def literal_text(value: int | float, ctype: str) -> str:
    """A C spelling of a constant that reads back as exactly this value and type."""
    if isinstance(value, int):
        return str(value) + _SUFFIX.get(ctype, "")
    if ctype == "float":
        for digits in range(1, 10):
            text = f"{value:.{digits}g}"
            if struct.unpack("f", struct.pack("f", float(text)))[0] == value:
                break
    else:
        text = repr(value)
    if not any(c in text for c in ".en"):
        text += ".0"
    return text + ("f" if ctype == "float" else "")
