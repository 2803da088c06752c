"""The C scalar types the compiler knows (LP64), and the types of C expressions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal as OneOf


@dataclass(frozen=True, slots=True)
class ScalarType:
    """A canonical C type; `rank` orders conversions."""

    name: str
    kind: OneOf["bool", "integer", "floating"]
    bits: int
    signed: bool
    rank: int


_CANONICAL = {
    t.name: t
    for t in (
        ScalarType("_Bool", "bool", 1, False, 0),
        ScalarType("char", "integer", 8, True, 1),
        ScalarType("signed char", "integer", 8, True, 1),
        ScalarType("unsigned char", "integer", 8, False, 1),
        ScalarType("short", "integer", 16, True, 2),
        ScalarType("unsigned short", "integer", 16, False, 2),
        ScalarType("int", "integer", 32, True, 3),
        ScalarType("unsigned int", "integer", 32, False, 3),
        ScalarType("long", "integer", 64, True, 4),
        ScalarType("unsigned long", "integer", 64, False, 4),
        ScalarType("long long", "integer", 64, True, 5),
        ScalarType("unsigned long long", "integer", 64, False, 5),
        ScalarType("float", "floating", 32, True, 10),
        ScalarType("double", "floating", 64, True, 11),
        ScalarType("long double", "floating", 80, True, 12),
    )
}

_ALIASES = {
    "bool": "_Bool",
    "unsigned": "unsigned int",
    "signed": "int",
    "signed int": "int",
    "short int": "short",
    "unsigned short int": "unsigned short",
    "long int": "long",
    "unsigned long int": "unsigned long",
    "long long int": "long long",
    "unsigned long long int": "unsigned long long",
    "size_t": "unsigned long",
    "ssize_t": "long",
    "ptrdiff_t": "long",
    "intptr_t": "long",
    "uintptr_t": "unsigned long",
    "int8_t": "signed char",
    "uint8_t": "unsigned char",
    "int16_t": "short",
    "uint16_t": "unsigned short",
    "int32_t": "int",
    "uint32_t": "unsigned int",
    "int64_t": "long",
    "uint64_t": "unsigned long",
}

TYPE_WORDS = frozenset(word for name in (*_CANONICAL, *_ALIASES) for word in name.split())


def scalar_type(ctype: str) -> ScalarType | None:
    """None for a type the compiler does not know."""
    return _CANONICAL.get(_ALIASES.get(ctype, ctype))


def known_type(ctype: str) -> ScalarType:
    """Raises KeyError."""
    return _CANONICAL[_ALIASES.get(ctype, ctype)]


def is_floating(ctype: str) -> bool:
    """False also of a type the compiler does not know."""
    known = scalar_type(ctype)
    return known is not None and known.kind == "floating"


def promoted(ctype: str) -> str:
    """The type after the integer promotions."""
    scalar = known_type(ctype)
    return "int" if scalar.rank < 3 else scalar.name


def common_type(left: str, right: str) -> str:
    """The type after the usual arithmetic conversions."""
    a, b = known_type(promoted(left)), known_type(promoted(right))
    low, high = sorted((a, b), key=lambda t: (t.rank, not t.signed))
    if high.kind == "floating" or not high.signed or low.signed or high.bits > low.bits:
        return high.name
    return "unsigned " + high.name  # signed of higher rank that does not hold the unsigned one: long long


COMPARISONS = frozenset(("<", ">", "<=", ">=", "==", "!="))
LOGICAL = frozenset(("&&", "||"))
SHIFTS = frozenset(("<<", ">>"))


def binary_type(op: str, left: str, right: str) -> str:
    if op in COMPARISONS or op in LOGICAL:
        return "int"
    return promoted(left) if op in SHIFTS else common_type(left, right)


def unary_type(op: str, operand: str) -> str:
    return "int" if op == "!" else promoted(operand)


_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|\d+)([uU]?[lL]{0,2}|[lL]{1,2}[uU])", re.ASCII)
_FLOATING = re.compile(
    r"(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?([fFlL]?)|0[xX][0-9a-fA-F.]+[pP][+-]?\d+([fFlL]?)", re.ASCII
)
_CHARACTER = re.compile(r"'(?:[^'\\\n]|\\.)+'")


def literal_type(text: str) -> str | None:
    """The type of a C literal by its spelling; None where the text is no plain literal."""
    if len(text) > 64:
        return None
    if match := _INTEGER.fullmatch(text):
        digits, suffix = match.group(1), match.group(2).lower()
        hexadecimal = digits[:2].lower() == "0x"
        octal = not hexadecimal and len(digits) > 1 and digits[0] == "0"
        if octal and not set(digits) <= set("01234567"):
            return None
        value = int(digits, 16 if hexadecimal else 8 if octal else 10)
        lowest, unsigned = 3 + suffix.count("l"), "u" in suffix
        for scalar in _CANONICAL.values():
            fits = scalar.signed != unsigned or (not scalar.signed and (hexadecimal or octal))
            if scalar.kind != "integer" or scalar.rank < lowest or not fits:
                continue
            if value < 1 << (scalar.bits - scalar.signed):
                return scalar.name
        return None
    if match := _FLOATING.fullmatch(text):
        suffix = (match.group(1) or match.group(2) or "").lower()
        return {"f": "float", "l": "long double"}.get(suffix, "double")
    return "int" if _CHARACTER.fullmatch(text) else None


# The pure functions of the C library by their number of arguments, without the float forms (`sqrtf`).
_MATH = {
    1: "sqrt cbrt exp exp2 expm1 log log2 log10 log1p fabs floor ceil round trunc rint nearbyint sin cos tan asin acos"
    " atan sinh cosh tanh asinh acosh atanh erf erfc",
    2: "pow fmin fmax fmod fdim atan2 hypot copysign remainder",
    3: "fma",
}

MEMORY = frozenset({"memset", "memcpy"})  # what else of the C library is read: as loops

# name -> (parameter types, result type) of the pure functions of the C library
FUNCTIONS: dict[str, tuple[tuple[str, ...], str]] = {
    "abs": (("int",), "int"),
    "labs": (("long",), "long"),
    "llabs": (("long long",), "long long"),
}
for _count, _names in _MATH.items():
    for _name in _names.split():
        FUNCTIONS[_name] = (("double",) * _count, "double")
        FUNCTIONS[_name + "f"] = (("float",) * _count, "float")
