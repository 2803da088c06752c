"""What a nest works on at one call: values, arrays with their bytes, and where they overlap."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from profilers.workload import CapturedFill, Fill


@dataclass(frozen=True, slots=True)
class CapturedArray:
    """One array (shape () for a scalar) at the call.

    `fill` says where its contents come from; `address_modulo` is its address modulo 4096 in the program.
    `known_bytes` of its bytes are the program's; the rest, beyond the end of its allocation, is zero.
    `filled`: so many elements have contents where not all are needed, the others are zero (None: all have).
    `table`: it says where the rows of another array lie (`perfembed.capture.rows`).
    `holes`: of an array of structures, which places along the last dimension hold numbers of other types.
    """

    name: str
    ctype: str
    shape: tuple[int, ...]
    fill: Fill
    address_modulo: int
    known_bytes: int
    filled: int | None = None
    holes: frozenset[int] = frozenset()
    table: bool = False

    @property
    def count(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class CapturedNest:
    """The inputs of one call of a nest. `overlaps`: pairs of arrays that share bytes at that call, so that
    they must not be treated as distinct. `call` counts from 1; None where nothing was run."""

    nest: str
    parameters: Mapping[str, int]
    arrays: tuple[CapturedArray, ...]
    overlaps: tuple[tuple[str, str], ...]
    total_bytes: int
    call: int | None = None
    outputs: tuple[tuple[str, CapturedFill], ...] = ()  # the contents after the call, where asked for

    def array(self, name: str) -> CapturedArray:
        """Raises KeyError."""
        for array in self.arrays:
            if array.name == name:
                return array
        raise KeyError(name)


@dataclass(frozen=True, slots=True)
class CaptureFailed:
    """Why the inputs of a nest could not be had; `reason` is for the user."""

    nest: str
    reason: str
