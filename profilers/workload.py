"""What is built and run: a kernel's C text, its arguments and how to fill them.

The text defines `void pe_kernel(void *const *args)`, where `args[i]` points at the storage of
argument `i` (of scalars too), and may define `void *pe_storage(int i)`, which returns the address
of storage the kernel owns (a global array of the program), or NULL where the harness allocates it.
"""

import ctypes
import math
from dataclasses import dataclass

from profilers.contained.errors import ProfilersError

_SIZES = {
    "float": ctypes.sizeof(ctypes.c_float),
    "double": ctypes.sizeof(ctypes.c_double),
    "_Bool": ctypes.sizeof(ctypes.c_bool),
    "char": ctypes.sizeof(ctypes.c_byte),
    "signed char": ctypes.sizeof(ctypes.c_byte),
    "unsigned char": ctypes.sizeof(ctypes.c_ubyte),
    "short": ctypes.sizeof(ctypes.c_short),
    "unsigned short": ctypes.sizeof(ctypes.c_ushort),
    "int": ctypes.sizeof(ctypes.c_int),
    "unsigned int": ctypes.sizeof(ctypes.c_uint),
    "long": ctypes.sizeof(ctypes.c_long),
    "unsigned long": ctypes.sizeof(ctypes.c_ulong),
    "long long": ctypes.sizeof(ctypes.c_longlong),
    "unsigned long long": ctypes.sizeof(ctypes.c_ulonglong),
}
ELEMENT_TYPES: tuple[str, ...] = tuple(_SIZES)
FLOAT_TYPES = ("float", "double")
PAGE = 4096


@dataclass(frozen=True, slots=True)
class RandomFill:
    """Reproducible uniform values: floats in [low, high), integers of [low, high)."""

    seed: int
    low: float
    high: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ProfilersError(f"random fill needs finite low < high, not [{self.low}, {self.high})")


@dataclass(frozen=True, slots=True)
class ConstantFill:
    """Every element has this value."""

    value: float | int


@dataclass(frozen=True, slots=True)
class CapturedFill:
    """The raw bytes of the array, `offset` bytes into the capture file `path`."""

    path: str
    offset: int

    def __post_init__(self) -> None:
        if self.offset < 0 or "\n" in self.path or "\0" in self.path:
            raise ProfilersError(f"not a usable capture: {self.path!r} at {self.offset}")


Fill = RandomFill | ConstantFill | CapturedFill


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of the kernel. Raises ProfilersError for a type, shape or value that cannot be."""

    name: str
    ctype: str  # element type, one of ELEMENT_TYPES
    shape: tuple[int, ...]  # () for a scalar
    fill: Fill
    written: bool  # restored before every repetition, compared afterwards
    compared: bool = True
    alignment_offset: int = 16  # the address modulo 4096
    filled: int | None = None  # so many elements (None: all); the others are 0, and compared only some way behind

    def __post_init__(self) -> None:
        if self.ctype not in _SIZES:
            raise ProfilersError(f"argument {self.name}: unknown element type {self.ctype!r}")
        if any(extent < 1 for extent in self.shape):
            raise ProfilersError(f"argument {self.name}: shape {self.shape} has an extent below 1")
        if not 0 <= self.alignment_offset < PAGE or self.alignment_offset % self.element_bytes:
            raise ProfilersError(
                f"argument {self.name}: alignment offset {self.alignment_offset} is not a multiple of"
                f" {self.element_bytes} within [0, {PAGE})"
            )
        if self.filled is not None and not 0 <= self.filled <= self.count:
            raise ProfilersError(f"argument {self.name}: {self.filled} of {self.count} elements cannot be filled")
        low, high = self.limits
        values: tuple[float, ...] = ()
        match self.fill:
            case ConstantFill(value):
                if not self.is_float and not (math.isfinite(value) and value == int(value)):
                    raise ProfilersError(f"argument {self.name}: {value} is not an integer")
                values = () if isinstance(value, float) and self.is_float else (value,)
            case RandomFill(_, first, end):
                values = (first, math.ceil(end) - 1) if not self.is_float else (first, end)
                if not self.is_float and math.ceil(first) >= math.ceil(end):
                    raise ProfilersError(f"argument {self.name}: no integer lies in [{first}, {end})")
        if any(not low <= value <= high for value in values):
            raise ProfilersError(f"argument {self.name}: fill {self.fill} does not fit {self.ctype}")

    @property
    def is_float(self) -> bool:
        """Whether elements are floating-point numbers."""
        return self.ctype in FLOAT_TYPES

    @property
    def element_bytes(self) -> int:
        """Size of one element in bytes."""
        return _SIZES[self.ctype]

    @property
    def limits(self) -> tuple[float, float]:
        """The smallest and the largest finite value of the element type."""
        if self.ctype == "_Bool":
            return 0, 1
        if self.ctype == "float":
            return -3.4028234663852886e38, 3.4028234663852886e38
        if self.ctype == "double":
            return -1.7976931348623157e308, 1.7976931348623157e308
        bits = 8 * self.element_bytes
        if self.ctype.startswith("unsigned"):
            return 0, 2**bits - 1
        return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1

    @property
    def count(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """Size of the storage in bytes."""
        return self.count * self.element_bytes


@dataclass(frozen=True, slots=True)
class Workload:
    """A kernel with its inputs and its number of OpenMP threads."""

    name: str
    source: str
    arguments: tuple[Argument, ...]
    threads: int

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise ProfilersError(f"workload {self.name}: {self.threads} threads")
