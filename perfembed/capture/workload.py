"""A captured nest as a workload for the harness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal as OneOf

from perfembed.capture.captured import CapturedNest, CaptureFailed
from perfembed.capture.fills import RandomisedInputs, randomise
from profilers.workload import Argument, ConstantFill, Workload
from scheduler.codegen.emit.workload import ArgumentSpec
from scheduler.ir.nest import LoopNest


def make_workload(
    nest: LoopNest,
    kernel_source: str,
    specs: Sequence[ArgumentSpec],
    captured: CapturedNest,
    fills: OneOf["captured"] | RandomisedInputs,
    threads: int,
) -> Workload | CaptureFailed:
    """The workload of a kernel of this nest; it fails where arrays overlap of which one is written.

    For many kernels on the same random data call `randomise` once and pass its result with "captured".
    """
    written = {spec.name for spec in specs if spec.written}
    for first, second in captured.overlaps:
        if first in written or second in written:
            if first == second:
                return CaptureFailed(nest.name, f"rows of {first} overlap in memory, so it cannot be measured alone")
            return CaptureFailed(nest.name, f"{first} and {second} overlap in memory, so it cannot be measured alone")
    if isinstance(fills, RandomisedInputs):
        captured = randomise(nest, captured, fills)
    arguments = []
    for spec in specs:
        if spec.is_parameter:
            value = ConstantFill(captured.parameters[spec.name])
            arguments.append(Argument(spec.name, spec.ctype, (), value, spec.written))
            continue
        array = captured.array(spec.name)
        offset = array.address_modulo
        arguments.append(
            Argument(
                spec.name,
                spec.ctype,
                array.shape,
                array.fill,
                spec.written,
                alignment_offset=offset,
                filled=array.filled,
            )
        )
    return Workload(nest.name, kernel_source, tuple(arguments), threads)
