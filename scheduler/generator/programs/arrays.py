"""The arrays of a generated program: their extents, how they start, and how large their values can get."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from scheduler.ir.affine import Affine
from scheduler.ir.types import is_floating


class Fill(Enum):
    """What an array holds before the kernel runs."""

    VALUES = "values"  # in [-0.5, 0.5), of integers 0 … 15
    POSITIVE = "positive"  # in [0.5, 1.5), of integers 1 … 15
    DOMINANT = "dominant"  # a matrix whose diagonal outweighs the rest of its row and column
    ROWS = "rows"  # begins of rows: rising from 0 to the number of entries, `each` a row on average
    INDICES = "indices"  # integers in [0, below)


@dataclass(frozen=True, slots=True)
class DataKind:
    """What decides how a loop over sparse data behaves, and is not seen in its text."""

    rows: Literal["random", "even", "skewed"] = "random"
    """Lengths of rows: up to twice the mean, all the same, or four times the mean at first and none at last."""
    indices: Literal["anywhere", "near"] = "anywhere"
    """Where indices point: or to what lies as far into the array they point to as they lie in theirs."""

    @classmethod
    def drawn(cls, rng: random.Random) -> DataKind:
        return cls(rng.choice(("random", "even", "skewed")), rng.choice(("anywhere", "near")))


@dataclass(eq=False, slots=True)
class Array:
    """`bound`: no element ever exceeds it in magnitude. `used`: the kernel names it; `written`: it stores to it.

    Of INDICES and ROWS, elements are at most `below`; of ROWS, each has `each` entries on average.
    """

    name: str
    ctype: str
    shape: tuple[Affine, ...]
    fill: Fill = Fill.VALUES
    bound: float = 1.0
    used: bool = False
    written: bool = False
    below: Affine = field(default_factory=Affine)
    each: int = 0

    @property
    def is_floating(self) -> bool:
        return is_floating(self.ctype)


class Ref(str):
    """The C text of one element, or of a scalar; knows its array."""

    __slots__ = ("array",)
    array: Array

    @classmethod
    def of(cls, text: str, array: Array) -> Ref:
        ref = cls(text)
        ref.array = array
        return ref


@dataclass(frozen=True, slots=True)
class Opaque:
    """A subscript read from data, at least 0 and less than `below`."""

    text: str
    below: Affine
