"""Transformations and schedules: plain values with an exact text form, which is also the database form.

A schedule is a tuple of transformations that replays on the nest it was made for (`scheduler.replay`).
Its text form is one transformation a clause: `interchange(i, j); tile([i, j], [32, 64]); parallelize(i_t)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import MISSING, fields
from itertools import takewhile
from typing import Any, cast

from scheduler.errors import TextError
from scheduler.ir.affine import parse_affine
from scheduler.transform import (
    NEST_STEPS,
    TRANSFORMATIONS,
    Fuse,
    Interchange,
    NestStep,
    RegisterBlock,
    Reschedule,
    Skew,
    Tile,
    Transformation,
)
from scheduler.transform.reschedule import parse_time_map

Schedule = tuple[Transformation, ...]


def nest_steps(schedule: Schedule) -> tuple[NestStep, ...]:
    """The steps a schedule begins with that change the nest itself."""
    return tuple(cast("Iterator[NestStep]", takewhile(lambda step: isinstance(step, NEST_STEPS), schedule)))


def named_loops(step: Transformation) -> tuple[str, ...]:
    """The loops that a step names; `reschedule`, which is about all of them, names none, nor do those that change the
    nest itself."""
    if isinstance(step, NEST_STEPS):
        return ()
    match step:
        case Interchange() | Skew():
            return (step.outer, step.inner)
        case Fuse():
            return (step.first, step.second)
        case Tile() | RegisterBlock():
            return step.loops
        case Reschedule():
            return ()
        case _:
            return (step.loop,)


def _field_text(value: object) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(map(str, value)) + "]"
    return str(value)


def format_transformation(step: Transformation) -> str:
    """Its text in a schedule, as `tile([i, j], [8, 8])`, without parameters at the end that have their defaults."""
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
        inner = kind.removeprefix("tuple[").partition(",")[0].rstrip("]")
        return tuple(_field_value(part, inner, clause) for part in _split(text[1:-1]))
    if kind == "int":
        if not _INTEGER.match(text):
            raise TextError(f"schedule clause {clause!r}: expected an integer, found {text!r}")
        return int(text)
    if kind == "TimeMap":
        return parse_time_map(text, _split(text.partition("(")[2].removesuffix(")")))
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
