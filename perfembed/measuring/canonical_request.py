"""What a backend is asked for the profile of a nest: the nest in its canonical schedule, on its inputs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from perfembed.capture import CapturedNest, CaptureFailed, make_workload
from profilers.backend import ProfileRequest
from profilers.build import CompilerConfig
from profilers.machine import Machine
from scheduler.canonical import canonical_schedule
from scheduler.codegen.emit.emit_c import emit
from scheduler.codegen.emit.workload import kernel_source, plain
from scheduler.errors import CodegenUnsupported
from scheduler.ir.nest import LoopNest
from scheduler.ir.walk import loops
from scheduler.moves.trip_counts import trip_counts
from scheduler.polyhedral.model import QuotaExceeded
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import format_schedule


def canonical_request(
    nest: LoopNest,
    captured: CapturedNest,
    threads: int,
    compiler: CompilerConfig,
    machine: Machine,
    workdir: Path,
    environment: Mapping[str, str],
) -> tuple[str, ProfileRequest] | str:
    """(the canonical schedule's text, what a backend is asked), or why the nest cannot be profiled."""
    nest, parameters = plain(nest), captured.parameters
    try:
        replayer = Replayer(nest)
        schedule = canonical_schedule(replayer, threads)
        scheduled = replayer.replay(schedule)
        if not isinstance(scheduled, ScheduledNest):
            return f"its canonical schedule cannot be used: {scheduled}"
        text, specs = kernel_source(nest, emit(scheduled, replayer.model), parameters)
        trips = trip_counts(tuple(loops(replayer.nest)), parameters)
        traced, _ = kernel_source(nest, emit(scheduled, replayer.model, traced=True, trips=trips), parameters)
    except (QuotaExceeded, CodegenUnsupported) as problem:
        return str(problem)
    workload = make_workload(nest, text, specs, captured, "captured", threads)
    if isinstance(workload, CaptureFailed):
        return workload.reason
    return format_schedule(schedule), ProfileRequest(workload, traced, compiler, machine, workdir, environment)
