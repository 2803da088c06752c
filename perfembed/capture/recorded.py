"""The values that a nest was called with, as C writes and Python reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from scheduler.ir.nest import Array, LoopNest, Storage
from scheduler.ir.types import scalar_type


def recorded_values(nest: LoopNest) -> tuple[tuple[str, str, str], ...]:
    """(name, C text, C type) of the integers kept of every call: parameters, then integer scalars."""
    scalars = (a for a in nest.arrays if a.is_scalar and a.storage is not Storage.PRIVATE and _is_integer(a))
    return (
        *((p.name, p.text, p.ctype) for p in nest.parameters),
        *((a.name, a.base or a.name, a.ctype) for a in scalars),
    )


def values_text(nest: LoopNest) -> str:
    """C text of the array of these integers."""
    values = ", ".join(f"(long long)({text})" for _, text, _ in recorded_values(nest))
    return f"__extension__ (const long long[]){{{values}}}" if values else "0"


def named_values(nest: LoopNest, numbers: Iterable[int]) -> Mapping[str, int]:
    """Names and values; unsigned 64-bit values were written as signed."""
    found = {}
    for (name, _, ctype), number in zip(recorded_values(nest), numbers, strict=True):
        kind = scalar_type(ctype)
        found[name] = number + (1 << 64) if number < 0 and kind is not None and not kind.signed else number
    return MappingProxyType(found)


def _is_integer(array: Array) -> bool:
    kind = scalar_type(array.ctype)
    return kind is not None and kind.kind != "floating"
