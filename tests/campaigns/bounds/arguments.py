"""The values that a random function is called with: like those of a first run, and unlike them."""

from __future__ import annotations

import random

_SIZES = (0, 1, 2, 3, 5, 7, 11, 13, 17)
_EDGES = (
    *(127, 128, -128, 255, 256, 32767, 32768, -32768, 65535, 65536),
    *((1 << 31) - 1, 1 << 31, -(1 << 31), (1 << 32) - 1, 1 << 32, 1 << 33),
    *((1 << 63) - 1, -(1 << 63), 1 << 62, -1),
)
Values = tuple[int, ...]
"""Two sizes, an offset, a base, a step, a shift and a seed (`unit.VALUES`), as 64-bit numbers."""


def _wrapped(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def ordinary(rng: random.Random) -> Values:
    """What a program is captured with."""
    n = rng.randint(6, 14)
    return n, rng.randint(4, 14), rng.choice((0, 0, 1, 2)), rng.choice((0, 0, 1, 3)), rng.choice((1, 1, 2)), 0, 1


def drawn(rng: random.Random) -> Values:
    """Small numbers, in unusual relations to each other, and the edges of types for one or two of them."""
    n, m = rng.choice(_SIZES), rng.choice(_SIZES)
    offset = rng.choice((0, 1, 2, n - 1, n, n + 1, n + 5, m, 40, -1, -3))
    base = rng.choice((0, 0, 1, 2, 5, -1, -2, -5, 100))
    values = [n, m, offset, base, rng.choice((1, 1, 2, 3, 5, -1, 0)), rng.choice((0, 0, 1, 2, 3, 5, 9, -1)),
              rng.randint(0, 1000)]  # fmt: skip
    if rng.random() < 0.55:
        values[3] = rng.choice(_EDGES) - rng.choice((0, 0, 1, 2, 3, n, n, n - 1, n + 1, 20, -1, -2))
    if rng.random() < 0.2:
        values[rng.choice((0, 1, 2, 2, 4, 5))] = rng.choice(_EDGES) - rng.randint(-2, 20)
    return tuple(_wrapped(value) for value in values)
