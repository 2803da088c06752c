"""How large generated programs get, and how often which pattern is drawn."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GeneratorSettings:
    """Bounds of a program; within them sizes are drawn log-uniformly.

    `least_work`, `most_work`: statements the kernel runs, each weighted by what it costs (calls of the C library and
    long strides count more): 1e5 to 1e8 take about 0.05 ms to 200 ms. `most_bytes`: of all arrays together.
    `least_extent`, `most_extent`: of a loop over one dimension of an array of several. `depth`: loops inside each
    other. `nests`: patterns one after another. `weights`: replaces the weights of the patterns it names.
    """

    least_work: float = 1e5
    most_work: float = 1e8
    most_bytes: int = 256 << 20
    least_extent: int = 3
    most_extent: int = 4096
    depth: int = 7
    nests: int = 4
    weights: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        """Raises ValueError."""
        if not 1e3 <= self.least_work <= self.most_work / 4 <= 1e12:
            raise ValueError("the work of a program: expected 1e3 <= least <= most / 4, most <= 4e12")
        if not 3 <= self.least_extent <= self.most_extent / 8 <= 1 << 17:
            raise ValueError("extents: expected 3 <= least <= most / 8, most <= 1048576")
        if not (1 <= self.depth <= 7 and 1 <= self.nests <= 16):
            raise ValueError("expected a depth of 1 to 7 and 1 to 16 nests")
        if not 1 << 20 <= self.most_bytes <= 1 << 30:
            raise ValueError("memory: expected 1 MiB to 1 GiB")
        if any(not 0 <= weight < 1e9 for _, weight in self.weights):
            raise ValueError("weights of patterns must not be negative")
