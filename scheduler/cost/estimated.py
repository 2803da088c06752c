"""What an estimate of a loop tree says: cycles, and the traffic of every level."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from scheduler.cost.body import Body, Place
from scheduler.cost.footprint import Shape
from scheduler.ir.tree import TreeLoop

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Region:
    """A loop in parallel: `entries`: how often it is entered;"""

    loop: TreeLoop
    depth: int
    entries: float
    trips: float
    imbalance: float
    written_step: float  # bytes a thread's writes move by from its first to its next chunk
    reduction: bool
    sharers: float  # how many times what one iteration touches the threads together want in the shared cache


@dataclass(slots=True)
class Line:
    """A statement in its place: the loops around it with the bytes that each touches in one run (and its body)."""

    shape: Shape
    path: tuple[TreeLoop, ...]
    place: Place
    body: Body
    region: Region | None
    sizes: list[float]
    work: float = 0.0  # cycles of all instances on one thread
    efficiency: float = 1.0  # threads that really work


@dataclass(slots=True)
class Estimate:
    """Cycles and bytes; `traffic` and `waiting` [caches]: bytes into L1, L2, L3, and the cycles that takes."""

    lines: list[Line] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)
    traffic: tuple[float, ...] = ()
    waiting: tuple[float, ...] = ()
    compute: float = 0.0
    serial: float = 0.0
    overhead: float = 0.0
    fork: float = 0.0
    footprint: float = 0.0
    entries: float = 0.0  # of innermost loops
    iterations: float = 0.0  # of all loops
    packed_bytes: float = 0.0

    def add(self, other: Estimate) -> None:
        """What another part of the tree takes besides; traffic, waiting and footprint are of the whole."""
        self.lines += other.lines
        self.regions += other.regions
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def cycles(self) -> float:
        return max(self.compute, *self.waiting) + 0.3 * sum(self.waiting) + self.overhead + self.fork


_SUMS = ("compute", "serial", "overhead", "fork", "entries", "iterations", "packed_bytes")


Moved = tuple[list[float], list[float]]
"""Bytes into each cache in one run of a node, and bytes weighted by the share of one thread's bandwidth."""


@dataclass(frozen=True, slots=True)
class Part:
    """What is known of an outermost node whatever stands beside it: schedules of a nest have many of them in common."""

    shapes: dict[str, Shape]
    paths: dict[str, tuple[TreeLoop, ...]]
    estimate: Estimate
    moved: Moved
