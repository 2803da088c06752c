"""C's arithmetic types: ranges, promotions, and the type of a binary operation (LP64)."""

from __future__ import annotations

INTEGER_BITS = {
    "_Bool": 1,
    "char": 8,
    "signed char": 8,
    "unsigned char": 8,
    "short": 16,
    "unsigned short": 16,
    "int": 32,
    "unsigned int": 32,
    "long": 64,
    "unsigned long": 64,
    "long long": 64,
    "unsigned long long": 64,
}
FLOATS = ("float", "double")
_RANK = ("_Bool", "char", "short", "int", "long", "long long")


def is_integer(ctype: str) -> bool:
    return ctype in INTEGER_BITS


def is_float(ctype: str) -> bool:
    return ctype in FLOATS


def bits(ctype: str) -> int:
    """Raises KeyError for a type that is not an integer."""
    return INTEGER_BITS[ctype]


def is_unsigned(ctype: str) -> bool:
    return ctype.startswith("unsigned") or ctype == "_Bool"


def value_range(ctype: str) -> tuple[int, int]:
    """Smallest and largest value of an integer type."""
    width = INTEGER_BITS[ctype]
    if is_unsigned(ctype):
        return 0, 2**width - 1
    return -(2 ** (width - 1)), 2 ** (width - 1) - 1


def promote(ctype: str) -> str:
    """The integer promotions."""
    return "int" if INTEGER_BITS.get(ctype, 64) < 32 else ctype


def _rank(ctype: str) -> int:
    return _RANK.index(ctype.removeprefix("unsigned ").removeprefix("signed "))


def common(left: str, right: str) -> str:
    """The usual arithmetic conversions."""
    for candidate in ("double", "float"):
        if candidate in (left, right):
            return candidate
    left, right = promote(left), promote(right)
    if left == right:
        return left
    if is_unsigned(left) == is_unsigned(right):
        return left if _rank(left) >= _rank(right) else right
    unsigned, signed = (left, right) if is_unsigned(left) else (right, left)
    if _rank(unsigned) >= _rank(signed):
        return unsigned
    if INTEGER_BITS[signed] > INTEGER_BITS[unsigned]:
        return signed
    return "unsigned " + signed


def wrap(value: int, ctype: str) -> int:
    """The value of an integer converted to `ctype`."""
    if ctype == "_Bool":
        return int(value != 0)
    width = INTEGER_BITS[ctype]
    value &= 2**width - 1
    return value if is_unsigned(ctype) or value < 2 ** (width - 1) else value - 2**width
