"""The innermost body of a loop tree: vectors, strides, register re-use and latency, in cycles an instance.

The machine assumed is a current out-of-order x86 core: two loads and one store, two vector operations a cycle, 4 cycles
of latency for additions and multiplications. The model that reads these estimates corrects their scale.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scheduler.cost.footprint import Shape
from scheduler.ir.tree import TreeLoop

_NEAR_BYTES = 64.0
_STORE_FORWARD = 5.0
_UNROLLED = 64
STRIDES = ("invariant", "contiguous", "small", "large", "indirect")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a statement's innermost body is: levels count from 0, the outermost loop.

    `inner` is the innermost loop that remains a loop (-1: none); `unrolled` those inside it that are unrolled
    completely or form a register block; `lanes_along` the level whose iterations fill a vector.
    """

    inner: int
    unrolled: tuple[int, ...]
    lanes_along: int
    registers: bool
    marked: bool


@dataclass(frozen=True, slots=True)
class Body:
    """Estimates for one instance of a statement.

    `…_shares` are of the accesses, by class of stride along the innermost loop (STRIDES); `mean_stride` there and
    `outer_stride` along the loop around it: mean log2(1 + bytes). `latency`: cycles between instances that wait for
    each other, over the chains that run beside each other.
    """

    throughput: float
    latency: float
    loads: float
    stores: float
    lanes: float
    automatic: bool
    carried: bool
    trips: float
    copies: float
    accumulators: float
    read_shares: tuple[float, ...]
    write_shares: tuple[float, ...]
    mean_stride: float
    outer_stride: float

    @property
    def cycles(self) -> float:
        return max(self.throughput, self.latency)


def place_of(path: tuple[TreeLoop, ...], shape: Shape) -> Place:
    """Reads the marks of a path."""
    mark = next((loop.register for loop in path if loop.register is not None), None)
    if mark is not None:
        block = tuple(k for k, loop in enumerate(path) if loop.name in mark.loops)
        return Place(min(block) - 1, block, max(block), True, True)
    inner = len(path) - 1
    while inner >= 0 and path[inner].unroll == 0 and shape.trips[inner] <= _UNROLLED:
        inner -= 1
    marked = inner >= 0 and path[inner].vector
    return Place(inner, tuple(range(inner + 1, len(path))), inner, False, marked)


def estimate_body(
    path: tuple[TreeLoop, ...],
    shape: Shape,
    beside: tuple[tuple[Shape, int], ...],
    packed: frozenset[int],
    vector_bytes: int,
) -> Body:
    """`beside`: the statements of the same innermost body in their order, each with its path's inner level, this one
    among them. `packed`: arrays read from packed buffers."""
    facts, place = shape.facts, place_of(path, shape)
    along = shape.coordinates[place.inner] if place.inner >= 0 else -1
    vector = shape.coordinates[place.lanes_along] if place.lanes_along >= 0 else -1
    mark = next((loop.register for loop in path if loop.register is not None), None)
    lanes = max(1.0, ((mark is not None and mark.vector_bytes) or vector_bytes) / facts.widest_bytes)
    trips = shape.trips[place.inner] if place.inner >= 0 else 1.0
    copies = math.prod(shape.trips[k] for k in place.unrolled)
    outer = shape.coordinates[place.inner - 1] if place.inner > 0 else -1
    wait = _waits(shape, along, beside)
    reads, writes, mean_stride = _stride_shares(shape, vector, packed)
    automatic = not place.marked and _compiler_vectorizes(shape, vector, wait, reads, writes, trips, lanes)
    vectorized = place.marked or automatic
    width = lanes if vectorized else 1.0
    if place.registers:
        width = min(lanes, shape.trips[place.lanes_along])
    elif vectorized:  # the remainder runs one by one
        width = max(1.0, trips / (math.floor(trips / lanes) + trips % lanes)) if trips < 8 * lanes else lanes
    loads = stores = accumulators = 0.0
    for access, stride in zip(facts.accesses, shape.strides, strict=True):
        if not len(access.matrix):
            continue
        if along >= 0 and stride[along] == 0.0:  # stays in a register over the innermost loop
            accumulators += _distinct(shape, stride, place) * (not access.is_write)
            continue
        contiguous = access.array in packed or (vector >= 0 and stride[vector] <= access.element_bytes)
        amount = access.weight * _distinct(shape, stride, place) / copies
        if place.registers:
            moves = vector >= 0 and stride[vector] > 0.0
            amount /= width if contiguous and moves else 1.0
        elif contiguous:
            amount /= width
        if access.is_write:
            stores += amount
        else:
            loads += amount
    operations = facts.operations
    arithmetic = operations.add + operations.mul + operations.simple + operations.convert
    each = 1.0 if vectorized or place.registers else 0.0
    slow = operations.div * 4.5 + operations.sqrt * 6.0
    throughput = max(loads / 2, stores, (arithmetic + operations.integer) / (2 * width))
    throughput += slow / (1.0 + each * (width > 1)) + operations.call * 20.0 + operations.branch * (1.0 - each) * 3.0
    unroll = max(path[place.inner].unroll, 1) if place.inner >= 0 else 1
    throughput = max(throughput, 1.0 / (width * copies * unroll))
    chains = copies * (width if place.registers or (vectorized and not automatic) or facts.reorderable else 1.0)
    chains = max(1.0, chains / (width if place.registers else 1.0))
    latency = wait / (chains * (width if place.registers else 1.0))
    return Body(
        throughput,
        latency,
        loads,
        stores,
        width,
        automatic,
        wait > 0,
        trips,
        copies,
        accumulators / width if place.registers else accumulators,
        reads,
        writes,
        mean_stride,
        _stride_shares(shape, outer, packed)[2],
    )


def _distinct(shape: Shape, stride: Sequence[float], place: Place) -> float:
    """Different elements of an access in the unrolled loops."""
    found = 1.0
    for k in place.unrolled:
        j = shape.coordinates[k]
        if j >= 0 and stride[j] > 0.0:
            found *= shape.trips[k]
    return found


def _waits(shape: Shape, along: int, beside: tuple[tuple[Shape, int], ...]) -> float:
    """Cycles between iterations of the innermost loop that a flow dependence into this statement makes; 0: none."""
    if along < 0:
        return 0.0
    longest = 0.0
    me = next(k for k, (other, _) in enumerate(beside) if other is shape)
    for position, (writer, level) in enumerate(beside):
        other = writer.coordinates[level] if level >= 0 else -1
        if other < 0:
            continue
        for w, write in enumerate(writer.facts.accesses):
            if not write.is_write:
                continue
            for r, read in enumerate(shape.facts.accesses):
                if read.is_write or read.array != write.array:
                    continue
                distance = _distance(
                    [row[other] for row in writer.subscripts[w]],
                    write.constants,
                    [row[along] for row in shape.subscripts[r]],
                    read.constants,
                    read.exposed and me <= position,
                    write.indirect or read.indirect,
                )
                if distance > 0:
                    memory = _STORE_FORWARD if len(read.matrix) and shape.strides[r][along] > 0 else 0.0
                    own = shape.facts.update_cycles if writer is shape else 0.0
                    chain = own or shape.facts.operations.chain_cycles or 1.0
                    longest = max(longest, (chain + memory) / distance)
    return longest


def _distance(
    write_moves: Sequence[float],
    write_at: Iterable[float],
    read_moves: Sequence[float],
    read_at: Iterable[float],
    exposed: bool,
    indirect: bool,
) -> float:
    """Iterations from a write to a read of the same element along one loop; 0 when there is no such pair."""
    if indirect:
        return 1.0
    distance = 0.0
    pairs = zip(write_moves, write_at, read_moves, read_at, strict=True)
    for moves, at, other_moves, other_at in pairs:
        if abs(moves - other_moves) > 1e-9:
            return 0.0
        gap = at - other_at
        if abs(moves) < 1e-9:
            if gap:
                return 0.0
            continue
        steps = gap / moves
        if steps <= 0 or steps != math.floor(steps) or (distance and steps != distance):
            return 0.0
        distance = steps
    return float(distance) if distance else float(exposed)


def _stride_shares(
    shape: Shape, along: int, packed: frozenset[int]
) -> tuple[tuple[float, ...], tuple[float, ...], float]:
    """Shares of (reads, writes) by STRIDES, and the mean log2(1 + bytes an access moves, a page at most)."""
    totals = ([0.0] * len(STRIDES), [0.0] * len(STRIDES))
    weight = moved = 0.0
    for access, strides in zip(shape.facts.accesses, shape.strides, strict=True):
        if not len(access.matrix):
            continue
        stride = strides[along] if along >= 0 else 0.0
        if access.array in packed:
            stride = min(stride, access.element_bytes)
        kind = 0 if stride == 0 else 1 if stride <= access.element_bytes else 2 if stride < _NEAR_BYTES else 3
        totals[access.is_write][4 if math.isinf(stride) else kind] += access.weight
        weight += access.weight
        moved += access.weight * math.log2(1.0 + min(stride, 4096.0))
    shares = [tuple(x / max(sum(side), 1e-9) for x in side) for side in totals]
    return shares[0], shares[1], moved / weight if weight else 0.0


def _compiler_vectorizes(
    shape: Shape,
    along: int,
    wait: float,
    reads: tuple[float, ...],
    writes: tuple[float, ...],
    trips: float,
    lanes: float,
) -> bool:
    """What gcc -O3 would do: no dependence from iteration to iteration, contiguous writes, few gathers, no calls."""
    facts = shape.facts
    if along < 0 or trips < lanes or facts.operations.call or (wait and not facts.reorderable):
        return False
    return sum(writes[2:]) < 0.01 and sum(reads[2:]) <= 0.34
