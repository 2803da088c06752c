"""Schedules in words: for each transformation of `scheduler.schedule` one sentence that says what it does and why.

The text form is `scheduler.schedule.format_transformation`; a new transformation gets its sentence here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from scheduler.schedule import (
    Distribute,
    Fuse,
    Interchange,
    Pack,
    Parallelize,
    RegisterBlock,
    Reverse,
    Shift,
    Sink,
    Skew,
    Split,
    Stream,
    Tile,
    Transformation,
    Unroll,
    UnrollJam,
    Vectorize,
)


def step_in_words(step: Transformation) -> str:
    """One sentence; loops, arrays and statements are called as in the text form."""
    match step:
        case Split():
            return (
                f"Cut loop {step.loop} in two at {step.at}: the iterations before it, and those from there on, whose "
                f"loops are called {step.loop}_s and so on, so that each part can be treated by itself."
            )
        case Interchange():
            return f"Swap loops {step.outer} and {step.inner}, so that {step.inner} runs outside {step.outer}."
        case Skew():
            times = "" if step.factor == 1 else f"{step.factor} times "
            return (
                f"Skew loop {step.inner} by {times}loop {step.outer}: it then runs along a diagonal, and dependences "
                "that pointed backwards point forwards."
            )
        case Reverse():
            return f"Run loop {step.loop} backwards."
        case Shift():
            return f"Delay statement {step.statement} by {step.amount} iterations of loop {step.loop}."
        case Fuse():
            return (
                f"Merge loop {step.second} into loop {step.first} before it, so that what one computes is still near "
                "when the other needs it."
            )
        case Distribute():
            return (
                f"Split the body of loop {step.loop} behind its first {_parts(step.position)}: the rest gets a loop of "
                "its own, whose name ends in _d, and each can be treated by itself."
            )
        case Sink():
            return (
                f"Move statement {step.statement}, with the loops around it, from beside loop {step.loop} into it, to "
                f"the iteration {step.at}, so that the loops are perfectly nested."
            )
        case Tile():
            return _tile(step)
        case Unroll():
            if step.factor == 0:
                return f"Unroll loop {step.loop} completely."
            return f"Unroll loop {step.loop} {step.factor} times, so that there are fewer branches."
        case UnrollJam():
            return (
                f"Unroll loop {step.loop} {step.factor} times and put the copies together in the innermost loop, so "
                "that they share what they load."
            )
        case Vectorize():
            return f"Run iterations of loop {step.loop} side by side in the lanes of a vector (omp simd)."
        case Parallelize():
            return _parallelize(step)
        case RegisterBlock():
            return _register_block(step)
        case Pack():
            return _pack(step)
        case Stream():
            return (
                f"Write array {step.array} past the caches in loop {step.loop} (non-temporal stores), so that its "
                "lines are not read before they are overwritten."
            )
    assert_never(step)


def _tile(step: Tile) -> str:
    if len(step.loops) == 1:
        return (
            f"Cut loop {step.loops[0]} into blocks of {step.sizes[0]} iterations; loop {step.loops[0]}_t goes from "
            "block to block."
        )
    sizes = " x ".join(map(str, step.sizes))
    blocks = _listed([f"{loop}_t" for loop in step.loops])
    return (
        f"Cut loops {_listed(step.loops)} into blocks of {sizes} iterations, so that what a block uses stays in a "
        f"cache; loops {blocks} go from block to block."
    )


def _parallelize(step: Parallelize) -> str:
    loops = f"loop {step.loop}" if step.collapse == 1 else f"loop {step.loop} and the {step.collapse - 1} below it"
    text = f"Share the iterations of {loops} among the threads"
    if step.dynamic:
        size = step.chunk or 1
        portions = "one by one" if size == 1 else f"in portions of {size}"
        return f"{text}, handed out {portions} as threads become free (omp parallel for, dynamic)."
    portions = f" in portions of {step.chunk}, by turns" if step.chunk else ""
    return f"{text}{portions} (omp parallel for)."


def _register_block(step: RegisterBlock) -> str:
    loops, sizes = _listed(step.loops), " x ".join(map(str, step.sizes))
    width = f" of {step.vector_bytes} bytes" if step.vector_bytes else ""
    plural = "s" if len(step.loops) > 1 else ""
    return (
        f"Compute loop{plural} {loops} in blocks of {sizes} that stay in vector registers{width}: what is computed is "
        "loaded and stored once a block."
    )


def _pack(step: Pack) -> str:
    panels = f", in panels of {step.panel} that stand one behind the other" if step.panel > 0 else ""
    return (
        f"Below loop {step.loop} copy the part of array {step.array} that is used to a buffer in the order in which "
        f"it is read{panels}."
    )


def _parts(count: int) -> str:
    return "part" if count == 1 else f"{count} parts"


def _listed(names: Sequence[str]) -> str:
    """i, j and k"""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
