"""The machine a nest is scheduled for, and blocks of a matrix product for its registers and caches."""

from __future__ import annotations

from dataclasses import dataclass, field

_LARGEST = 64  # iterations of a loop in a register block
_WAYS = 8  # of a cache that says nothing about its own


@dataclass(frozen=True, slots=True)
class CacheLevel:
    """A data cache: `ways` 0 where unknown; `shared_by` counts the usable cores behind it."""

    size_bytes: int
    ways: int = _WAYS
    line_bytes: int = 64
    shared_by: int = 1

    @property
    def associativity(self) -> int:
        return self.ways or _WAYS

    @property
    def way_bytes(self) -> int:
        return max(self.size_bytes // self.associativity, self.line_bytes)


@dataclass(frozen=True, slots=True)
class Rates:
    """What was measured of a machine: GB/s (1e9 bytes read or written by the program) of copies with one thread and
    with all, in memory and in the last cache, and the seconds that a parallel region of all threads costs."""

    memory_gbs: tuple[float, float]
    cache_gbs: tuple[float, float]
    region_s: float


@dataclass(frozen=True, slots=True)
class Core:
    """What the model needs to know of a core, under the compiler's flags; the default is one with AVX2.

    `registers`: (bytes of a vector register, how many there are), widest first. `fused`: whether a multiplication and
    an addition are one instruction; `latency` in cycles is that of the two together, `per_cycle` how many are begun a
    cycle. `caches`: of the levels 1, 2, 3 as far as there are any. `rates`: where they were measured.
    """

    registers: tuple[tuple[int, int], ...] = ((32, 16),)
    fused: bool = True
    latency: int = 5
    per_cycle: int = 2
    caches: tuple[CacheLevel, ...] = (CacheLevel(32 << 10), CacheLevel(512 << 10), CacheLevel(8 << 20, 16))
    rates: Rates | None = None


@dataclass(frozen=True, slots=True)
class RegisterShape:
    """A register block: `rows` times `vectors` accumulators of `vector_bytes` each."""

    rows: int
    vectors: int
    vector_bytes: int

    def columns(self, element_bytes: int) -> int:
        return self.vectors * self.vector_bytes // element_bytes


@dataclass(frozen=True, slots=True)
class CacheBlocks:
    """Iterations of the reduction in L1 (the paper's k_c), of the rows in L2 (m_c), of the columns in L3 (n_c)."""

    depth: int
    height: int
    width: int


def register_shapes(core: Core, element_bytes: int, vector_bytes: int) -> tuple[RegisterShape, ...]:
    """The blocks whose accumulators fit the registers of one width, those that load least for their work first.

    Beside the accumulators there is room for the vectors of one row of columns, for the element that multiplies them
    (and without fused operations for the product), and one register is left: the paper wants operands loaded ahead, and
    a compiler without one to spare reads them from memory at each use. Blocks whose accumulators do not cover
    the latency, or that load more often than they compute, come last. Empty where the core has no such registers.
    """
    registers = dict(core.registers).get(vector_bytes, 0)
    lanes = vector_bytes // element_bytes
    found: list[tuple[tuple[bool, float], RegisterShape]] = []
    for vectors in range(1, registers):
        rows = (registers - 2 - (not core.fused) - vectors) // vectors
        if rows < 1 or vectors * lanes > _LARGEST:
            break
        rows = min(rows, _LARGEST)
        accumulators, columns = rows * vectors, vectors * lanes
        waits = accumulators < core.latency * core.per_cycle or rows + vectors > accumulators
        work = rows * columns / (rows + columns)  # of an element loaded
        found.append(((waits, -work), RegisterShape(rows, vectors, vector_bytes)))
    return tuple(shape for _, shape in sorted(found, key=lambda pair: pair[0]))


def cache_blocks(core: Core, rows: int, columns: int, element_bytes: int, threads: int) -> CacheBlocks:
    """The blocks that keep what is used again where it is, in caches that replace the least recently used line.

    L1 has room for the panel of columns and for as deep a panel of rows, one way left for the block that is
    accumulated; L2 for a block of panels of rows, with ways left for the panel of columns and for the result; L3 for
    all panels of columns, with ways left for the blocks of all threads that share it. A level that does not exist sets
    no limit (0).
    """
    levels = (*core.caches, *(None,) * 3)[:3]
    first, second, third = levels
    depth = height = width = 0
    if first is not None:
        room = (first.associativity - 1) * first.way_bytes
        ways = int((first.associativity - 1) / (1 + columns / rows))
        both = room // ((rows + columns) * element_bytes)  # where a panel of rows takes less than a way
        depth = max(1, ways * first.way_bytes // (rows * element_bytes) if ways else both)
    if second is not None and depth:
        ways = second.associativity - 1 - _ways(columns * depth * element_bytes, second)
        room = max(1, ways) * second.way_bytes // min(second.shared_by, threads)
        height = max(rows, room // (depth * element_bytes))
    if third is not None and height:
        sharing = min(third.shared_by, threads)
        ways = third.associativity - 1 - _ways(height * depth * element_bytes * sharing, third)
        width = max(columns, max(1, ways) * third.way_bytes // (depth * element_bytes))
    return CacheBlocks(depth, height, width)


def _ways(size_bytes: int, cache: CacheLevel) -> int:
    """How many ways of a cache so many consecutive bytes take."""
    return -(-size_bytes // cache.way_bytes)


@dataclass(frozen=True, slots=True)
class Target:
    """The machine a nest is scheduled for: threads, bytes of a vector register, bytes of the data caches.

    These numbers are what models were trained on. `core` has what register blocks are computed from; of its vectors
    a block names those that are not of `vector_bytes`.
    """

    threads: int
    vector_bytes: int = 32
    l1_bytes: int = 32 * 1024
    l2_bytes: int = 512 * 1024
    l3_bytes: int = 8 * 1024 * 1024
    core: Core = field(default_factory=Core)

    def numbers(self) -> dict[str, int]:
        """What stored measurements and weights know of a machine."""
        names = ("threads", "vector_bytes", "l1_bytes", "l2_bytes", "l3_bytes")
        return {name: getattr(self, name) for name in names}
