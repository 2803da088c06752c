"""What the runtime (`fuzz_runtime.c`) is told of the nests and functions, as the lines that it reads."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

from perfembed.capture.extents import element_bytes, outer_arrays
from perfembed.capture.roles import Roles, roles
from perfembed.fuzzing.instrumented import Instrumented
from profilers.workload import ELEMENT_TYPES, FLOAT_TYPES
from scheduler.ir.nest import Array, LoopNest, Storage
from scheduler.ir.walk import placed_statements, uses

_EXTENTS = 16
_KEPT, _NUMBERS, _INDICES = range(3)


def tables(
    program: Instrumented, report: Path, seed: int, cpu_s: float, wall_s: float, tolerance: float, threads: int
) -> str:
    """`cpu_s`, `wall_s`: for all nests; `tolerance`: of sums of floating-point numbers, relative; 0: bits count."""
    extents = sorted({e for nest, _ in program.nests for a in nest.arrays for e in _extents(a)})[:_EXTENTS]
    counts = f"{threads} {len(program.functions)} {len(program.nests)} {len(extents)}"
    lines = [str(report), f"{seed} {cpu_s:.3f} {wall_s:.3f} {tolerance:g} {counts}", " ".join(map(str, extents))]
    for function in program.functions:
        pairs = " ".join(f"{one} {other}" for one, other in function.pairs)
        lines.append(f"{len(function.values)} {len(function.pairs)} {pairs}")
    for nest, number in program.nests:
        lines.append(f"{number} {len(outer_arrays(nest))}")
        lines += _arrays(nest)
    return "\n".join(lines) + "\n"


def _arrays(nest: LoopNest) -> Iterable[str]:
    used = roles(nest)
    written = {use.access.array for s in placed_statements(nest) for use in uses(s) if use.is_write}
    for array in outer_arrays(nest):
        width = element_bytes(array.ctype)
        floating = array.ctype in FLOAT_TYPES and not array.members
        extents = _extents(array)
        named = array.storage in (Storage.GLOBAL, Storage.LOCAL) and not array.members and not array.rows
        known = math.prod(extents) * width if named and len(extents) == len(array.shape) else 0
        flags = f"{floating:d} {width} {array.rows} {array.name in written:d} {_fill(array, used)}"
        yield f"{flags} {array.is_scalar:d} {known}"


def _fill(array: Array, used: Roles) -> int:
    """What its contents may be exchanged for."""
    if array.is_scalar or array.rows or array.members or array.ctype not in ELEMENT_TYPES:
        return _KEPT
    if array.ctype == "_Bool":
        return _KEPT
    if array.ctype in FLOAT_TYPES:
        return _NUMBERS
    return _INDICES if array.name in used.index or array.name in used.control else _NUMBERS


def _extents(array: Array) -> list[int]:
    """Those that are constants."""
    return [e.const for e in array.shape if e is not None and e.is_constant]
