"""Random data of the same kind as captured data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from typing import Literal as OneOf

import numpy as np

from perfembed.capture.captured import CapturedArray, CapturedNest, CaptureFailed
from perfembed.capture.roles import Roles, roles
from profilers.workload import FLOAT_TYPES, Argument, CapturedFill, ConstantFill, Fill, RandomFill, Workload
from scheduler.codegen.emit.workload import ArgumentSpec
from scheduler.ir.nest import LoopNest

_CHUNK = 1 << 20
_WIDEN = 0.05  # of the range on either side
_AROUND = 0.1  # relative
_EXACT = 2**53  # integers beyond are not exact in a fill
_DTYPES = {
    "float": "f4",
    "double": "f8",
    "_Bool": "u1",
    "char": "i1",
    "signed char": "i1",
    "unsigned char": "u1",
    "short": "i2",
    "unsigned short": "u2",
    "int": "i4",
    "unsigned int": "u4",
    "long": "i8",
    "unsigned long": "u8",
    "long long": "i8",
    "unsigned long long": "u8",
}
Values = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class RandomisedInputs:
    """Other data of the same kind, by a seed.

    Floats are uniform in the range of the captured ones, slightly widened, of one sign where those are.
    In a nest that divides or calls sqrt, log and the like, which random data would turn into NaN (a random
    matrix has no Cholesky factor), each float is its captured value changed by up to a tenth. What reaches
    subscripts, bounds or (of integers) conditions keeps its values; other integers are uniform in their range.
    """

    seed: int


def dtype_of(ctype: str) -> np.dtype[Any]:
    """The NumPy type of an element type. Raises KeyError for one of none."""
    return np.dtype(_DTYPES[ctype])


def randomise(nest: LoopNest, captured: CapturedNest, inputs: RandomisedInputs) -> CapturedNest:
    """The same nest on random data; what is made from captured values is written next to the capture."""
    used = roles(nest)
    arrays = tuple(
        replace(array, fill=_randomised(array, used, inputs.seed, position))
        for position, array in enumerate(captured.arrays)
    )
    return replace(captured, arrays=arrays, outputs=())


def _randomised(array: CapturedArray, used: Roles, seed: int, position: int) -> Fill:
    if array.name in used.index or array.table:
        return array.fill
    floating = array.ctype in FLOAT_TYPES
    if not floating and array.name in used.control:
        return array.fill
    stream = seed * 4096 + position
    if isinstance(array.fill, RandomFill):
        return replace(array.fill, seed=stream)
    if isinstance(array.fill, ConstantFill):
        return array.fill
    low, high = _range(array, array.fill)
    if not floating:
        plain = low > -_EXACT and high < _EXACT and low < high
        return RandomFill(stream, low, high + 1) if plain else array.fill
    if used.partial and (low or high):
        path = Path(array.fill.path).with_name(f"{Path(array.fill.path).stem}.{position}.{seed}.random.bin")
        return _around(array, array.fill, path, stream)
    return RandomFill(stream, *_widened(low, high, 3.4e38 if array.ctype == "float" else 1.7e308))


def chunks(array: CapturedArray, fill: CapturedFill) -> Iterator[Values]:
    """The captured elements, a part at a time."""
    count = array.count if array.filled is None else array.filled
    if not count:
        return
    mapped = np.memmap(fill.path, dtype_of(array.ctype), "r", fill.offset, (count,))
    for at in range(0, count, _CHUNK):
        yield mapped[at : at + _CHUNK]


def _range(array: CapturedArray, fill: CapturedFill) -> tuple[float, float]:
    """The lowest and highest finite value; (0, 0) where there is none."""
    lows, highs = [], []
    at = 0
    for part in chunks(array, fill):
        if array.holes:
            place = (at + np.arange(part.size)) % array.shape[-1]
            at += part.size
            part = part[~np.isin(place, tuple(array.holes))]
        finite = part[np.isfinite(part)] if array.ctype in FLOAT_TYPES else part
        if finite.size:
            lows.append(finite.min())
            highs.append(finite.max())
    if not lows:
        return 0, 0
    if array.ctype in FLOAT_TYPES:
        return float(min(lows)), float(max(highs))
    return int(min(lows)), int(max(highs))


def _widened(low: float, high: float, limit: float) -> tuple[float, float]:
    """A range around [low, high] that keeps strict and loose signs; [0, 1) for zeros."""
    if low == high == 0:
        return 0.0, 1.0
    pad = max(_WIDEN * (high - low), _WIDEN * min(abs(low), abs(high))) if math.isfinite(high - low) else 0.0
    wide_low, wide_high = low - pad, high + pad
    if low >= 0:
        wide_low = max(wide_low, low / 2)
    if high <= 0:
        wide_high = min(wide_high, high / 2)
    return max(wide_low, -limit), min(wide_high, limit)


def _around(array: CapturedArray, fill: CapturedFill, path: Path, stream: int) -> CapturedFill:
    """The captured values, each changed by up to a tenth of itself."""
    generator = np.random.default_rng(abs(stream))
    unfinished = path.with_name(f"{path.name}.part")
    with unfinished.open("wb") as file:
        for part in chunks(array, fill):
            factors = 1 + _AROUND * (2 * generator.random(part.size) - 1)
            with np.errstate(all="ignore"):
                file.write((part * factors).astype(part.dtype).tobytes())
    unfinished.replace(path)  # whoever reads an earlier one keeps it whole
    return CapturedFill(str(path), 0)


def make_workload(
    nest: LoopNest,
    kernel_source: str,
    specs: Sequence[ArgumentSpec],
    captured: CapturedNest,
    fills: OneOf["captured"] | RandomisedInputs,
    threads: int,
) -> Workload | CaptureFailed:
    """The workload of a kernel of this nest; it fails where arrays overlap of which one is written.

    For many kernels on the same random data call `randomise` once and pass its result with "captured".
    """
    written = {spec.name for spec in specs if spec.written}
    for first, second in captured.overlaps:
        if first in written or second in written:
            if first == second:
                return CaptureFailed(nest.name, f"rows of {first} overlap in memory, so it cannot be measured alone")
            return CaptureFailed(nest.name, f"{first} and {second} overlap in memory, so it cannot be measured alone")
    if isinstance(fills, RandomisedInputs):
        captured = randomise(nest, captured, fills)
    arguments = []
    for spec in specs:
        if spec.is_parameter:
            value = ConstantFill(captured.parameters[spec.name])
            arguments.append(Argument(spec.name, spec.ctype, (), value, spec.written))
            continue
        array = captured.array(spec.name)
        offset = array.address_modulo
        arguments.append(
            Argument(
                spec.name,
                spec.ctype,
                array.shape,
                array.fill,
                spec.written,
                alignment_offset=offset,
                filled=array.filled,
            )
        )
    return Workload(nest.name, kernel_source, tuple(arguments), threads)
