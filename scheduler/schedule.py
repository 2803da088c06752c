"""Transformations and schedules: plain values with an exact text form, which is also the database form.

A schedule is a tuple of transformations that replays on the nest it was made for (`scheduler.replay`).
Its text form is one transformation a clause: `interchange(i, j); tile([i, j], [32, 64]); parallelize(i_t)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields
from itertools import takewhile
from typing import Any, ClassVar, Union, cast

from scheduler.errors import TextError
from scheduler.ir.affine import Affine, parse_affine


@dataclass(frozen=True, slots=True)
class Split:
    """Cuts a loop of the nest in two at an affine place: iterations before `at`, and from there on (those named `_s`).

    Splits stand before all other steps: they change the nest that these are for.
    """

    keyword: ClassVar[str] = "split"
    loop: str
    at: Affine


@dataclass(frozen=True, slots=True)
class Interchange:
    """Swaps two loops of a perfectly nested chain (Halide `reorder`, TVM `reorder`, Pluto permutation)."""

    keyword: ClassVar[str] = "interchange"
    outer: str
    inner: str


@dataclass(frozen=True, slots=True)
class Skew:
    """Adds `factor` * outer to the inner loop's row: i, j becomes i, j + factor*i."""

    keyword: ClassVar[str] = "skew"
    outer: str
    inner: str
    factor: int


@dataclass(frozen=True, slots=True)
class Reverse:
    """Runs a loop backwards."""

    keyword: ClassVar[str] = "reverse"
    loop: str


@dataclass(frozen=True, slots=True)
class Shift:
    """Delays one statement in a loop by `amount` iterations (an affine expression of parameters)."""

    keyword: ClassVar[str] = "shift"
    loop: str
    statement: str
    amount: Affine


@dataclass(frozen=True, slots=True)
class Fuse:
    """Merges a loop with its next sibling loop; the result has the first one's name."""

    keyword: ClassVar[str] = "fuse"
    first: str
    second: str


@dataclass(frozen=True, slots=True)
class Distribute:
    """Splits a loop before its child number `position`; the second part's loops get names ending in `_d`."""

    keyword: ClassVar[str] = "distribute"
    loop: str
    position: int


@dataclass(frozen=True, slots=True)
class Sink:
    """Moves the node beside a loop that `statement` is or is in into it, to the iteration where the row equals `at`.

    `at` is affine over the iterators of the statements moved; they stand before the loop's own children when the
    node stood before the loop, else after them.
    """

    keyword: ClassVar[str] = "sink"
    statement: str
    loop: str
    at: Affine


@dataclass(frozen=True, slots=True)
class Tile:
    """Blocks a perfectly nested chain of loops; tile loops are named `i_t` and stand outside in the same order."""

    keyword: ClassVar[str] = "tile"
    loops: tuple[str, ...]
    sizes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Unroll:
    """Asks the compiler to unroll a loop; factor 0 means completely."""

    keyword: ClassVar[str] = "unroll"
    loop: str
    factor: int


@dataclass(frozen=True, slots=True)
class UnrollJam:
    """Unrolls an outer loop and jams the copies into the innermost loop."""

    keyword: ClassVar[str] = "unroll_jam"
    loop: str
    factor: int


@dataclass(frozen=True, slots=True)
class Vectorize:
    """Marks an innermost loop `omp simd`."""

    keyword: ClassVar[str] = "vectorize"
    loop: str


@dataclass(frozen=True, slots=True)
class Parallelize:
    """Marks a loop `omp parallel for`; `chunk` 0 is the runtime's default, `dynamic` 1 asks for dynamic scheduling."""

    keyword: ClassVar[str] = "parallelize"
    loop: str
    dynamic: int = 0
    chunk: int = 0
    collapse: int = 1


@dataclass(frozen=True, slots=True)
class RegisterBlock:
    """Tiles `loops` by `sizes`, moves the blocks innermost and runs full blocks unrolled in vector registers.

    `vector_bytes` are those of one register; 0: the usual ones of the machine the code is made for.
    """

    keyword: ClassVar[str] = "register_block"
    loops: tuple[str, ...]
    sizes: tuple[int, ...]
    vector_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Pack:
    """Copies the block of an array read below `loop` to a local buffer, dimensions in `order`.

    With `panel` > 0 dimension `panel_dim` is split in panels that become innermost (BLIS packing).
    """

    keyword: ClassVar[str] = "pack"
    loop: str
    array: str
    order: tuple[int, ...]
    panel_dim: int = -1
    panel: int = 0


@dataclass(frozen=True, slots=True)
class Stream:
    """Writes an array past the caches in an innermost loop that runs along it (non-temporal stores)."""

    keyword: ClassVar[str] = "stream"
    loop: str
    array: str


Transformation = Union[  # noqa: UP007
    Split,
    Interchange,
    Skew,
    Reverse,
    Shift,
    Fuse,
    Distribute,
    Sink,
    Tile,
    Unroll,
    UnrollJam,
    Vectorize,
    Parallelize,
    RegisterBlock,
    Pack,
    Stream,
]

TRANSFORMATIONS: tuple[type[Transformation], ...] = (
    Split,
    Interchange,
    Skew,
    Reverse,
    Shift,
    Fuse,
    Distribute,
    Sink,
    Tile,
    Unroll,
    UnrollJam,
    Vectorize,
    Parallelize,
    RegisterBlock,
    Pack,
    Stream,
)

Schedule = tuple[Transformation, ...]


def leading_splits(schedule: Schedule) -> tuple[Split, ...]:
    """The splits a schedule begins with."""
    return tuple(cast("Iterator[Split]", takewhile(lambda step: isinstance(step, Split), schedule)))


def _field_text(value: object) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(map(str, value)) + "]"
    return str(value)


def format_transformation(step: Transformation) -> str:
    values = [getattr(step, f.name) for f in fields(step)]
    defaults = [f.default for f in fields(step)]
    while values and defaults[-1] is not MISSING and values[-1] == defaults[-1]:
        values.pop()
        defaults.pop()
    return f"{step.keyword}({', '.join(map(_field_text, values))})"


def format_schedule(schedule: Schedule) -> str:
    """The text form; `parse_schedule` is its exact inverse."""
    return "; ".join(map(format_transformation, schedule))


_CLAUSE = re.compile(r"([a-z_]+)\((.*)\)", re.DOTALL)
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_0-9]*\Z")
_INTEGER = re.compile(r"-?[0-9]{1,18}\Z")


def _split(text: str) -> list[str]:
    parts, depth, current = [], 0, ""
    for char in text:
        depth += (char in "[(") - (char in "])")
        if char == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += char
    return [*parts, current.strip()] if current.strip() or parts else []


def _field_value(text: str, kind: str, clause: str) -> Any:
    if kind.startswith("tuple"):
        if not (text.startswith("[") and text.endswith("]")):
            raise TextError(f"schedule clause {clause!r}: expected a [list], found {text!r}")
        inner = "int" if "int" in kind else "str"
        return tuple(_field_value(part, inner, clause) for part in _split(text[1:-1]))
    if kind == "int":
        if not _INTEGER.match(text):
            raise TextError(f"schedule clause {clause!r}: expected an integer, found {text!r}")
        return int(text)
    if kind == "Affine":
        return parse_affine(text)
    if not _IDENTIFIER.match(text):
        raise TextError(f"schedule clause {clause!r}: expected a name, found {text!r}")
    return text


def parse_schedule(text: str) -> Schedule:
    """The inverse of `format_schedule`. Raises TextError on anything else: stored text is data."""
    by_keyword = {t.keyword: t for t in TRANSFORMATIONS}
    steps: list[Transformation] = []
    for clause in filter(None, (c.strip() for c in text.split(";"))):
        match = _CLAUSE.fullmatch(clause)
        if not match or match.group(1) not in by_keyword:
            raise TextError(f"schedule clause {clause!r}: expected one of {', '.join(sorted(by_keyword))}")
        kind = by_keyword[match.group(1)]
        texts = _split(match.group(2))
        specs = fields(kind)
        required = sum(f.default is MISSING for f in specs)
        if not required <= len(texts) <= len(specs):
            raise TextError(f"schedule clause {clause!r}: {len(texts)} arguments, expected {required} to {len(specs)}")
        steps.append(kind(*(_field_value(t, str(f.type), clause) for t, f in zip(texts, specs, strict=False))))
    return tuple(steps)
