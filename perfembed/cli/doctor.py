"""`perfembed doctor`: what this machine can do, and what would fix what it cannot."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Annotated

import typer

from perfembed.cli.folders import cache_path, optional_database
from perfembed.cli.options import Given, takes
from perfembed.errors import EXIT_DONE, EXIT_ENVIRONMENT
from perfembed.report.style import Style, count, seconds, table
from profilers.contained.errors import ProfilersError
from profilers.lock import machine_lock

if TYPE_CHECKING:
    from perfembed.profiling.comparison import CounterComparison
    from perfembed.report.style import Style
    from profilers.calibration import Calibration, Figure
    from profilers.doctor import Check

# Without these nothing can be tuned.
_NEEDED = frozenset(("temporary folder", "C compiler", "OpenMP", "models and donors"))


_REINSTALL = "install perfembed again (pip install --force-reinstall): files that belong to it are not there"


@takes("cc", "json")
def command(
    given: Given,
    clang: Annotated[str | None, typer.Option("--clang", metavar="PROGRAM", help="A second compiler to try.")] = None,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Also measure bandwidths, FLOP/s and latencies, and keep them.")
    ] = False,
    counters: Annotated[
        bool,
        typer.Option(
            "--counters", help="Also compare the simulated counters with measured ones, on eight nests that ship."
        ),
    ] = False,
) -> int:
    """Check what this machine can do.

    Tries the temporary folder, the compiler, OpenMP, hardware counters, cores, caches, the timer, what ships and the
    database, and names one fix for each problem. Takes a few seconds; with --calibrate about 15 more, with --counters
    a minute where there are counters.
    """
    from perfembed.report.profiles import comparison_lines, doctor_document
    from profilers.doctor import calibration_check, diagnose
    from profilers.machine import describe_machine

    session, cc = given.session, given.cc
    second = clang or (which("clang", path=session.environment.get("PATH")) and "clang") or None
    checks = [*diagnose(session.environment, cc, second), shipped_check(), database_check(session.environment)]
    missing = any(not check.ok and check.name in _NEEDED for check in checks)
    code = EXIT_ENVIRONMENT if missing else EXIT_DONE
    calibration, file = None, None
    if not missing:
        calibration, file = (_calibrate if calibrate else _kept)(cc, session.environment)
        checks.append(calibration_check(calibration))
    compared = _compare_counters(cc, session.environment) if counters and not missing else None
    if given.json:
        print(doctor_document(not missing, checks, calibration, file, compared))
        return code
    style = Style(session.color(sys.stdout))
    _print_checks(checks, style)
    if calibrate and calibration is not None:
        print("\n".join(["", *calibration_lines(calibration), *([f"kept in {file}"] if file else []), ""]))
    if compared is not None:
        print("\n".join(["", *comparison_lines(compared, describe_machine().cpu_model), ""]))
    elif counters and not missing:
        print("no counters to compare the simulated ones with: see the line on hardware counters")
    print("ready to tune" if not missing else "not ready to tune: see the lines marked miss")
    return code


def calibration_lines(calibration: Calibration) -> list[str]:
    """The figures as a table for each number of threads."""
    from profilers.calibration import KINDS, PRECISIONS

    def number(figure: Figure, factor: float) -> str:
        return f"{figure.value * factor:.3g} ±{figure.spread:.0%}"

    def duration(figure: Figure) -> str:
        return f"{seconds(figure.value)} ±{figure.spread:.0%}"

    lines = [f"calibration of {calibration.date}, best ± coefficient of variation"]
    for threads in sorted({1, calibration.threads}):
        rows = [[count(threads, "thread"), *(f"{kind} GB/s" for kind in KINDS), "latency"]]
        for level in calibration.levels:
            figures = [calibration.figure("bandwidth", level, kind, threads) for kind in KINDS]
            latency = calibration.figure("latency", level, "", threads)
            rows.append([f"  {level}", *(number(figure, 1.0) for figure in figures), duration(latency)])
        rows.append(["", "scalar GFLOP/s", "vector GFLOP/s", "", "", ""])
        for precision in PRECISIONS:
            peaks = [calibration.figure("flops", precision, kind, threads) for kind in ("scalar", "vector")]
            rows.append([f"  {precision}", *(number(peak, 1e-9) for peak in peaks), "", "", ""])
        fork_join, barrier = (calibration.figure(name, threads=threads) for name in ("fork_join", "barrier"))
        rows.append(["", "parallel region", "barrier", "", "", ""])
        rows.append(["  median", duration(fork_join), duration(barrier), "", "", ""])
        lines += table(rows, indent=0)
    if calibration.noisy:
        lines.append(f"noisy: others used {calibration.other_load:.2f} cores meanwhile")
    return lines


def _kept(cc: str, environment: Mapping[str, str]) -> tuple[Calibration | None, Path | None]:
    """An earlier calibration and its file, or neither."""
    from profilers.build import compiler_version
    from profilers.calibration import CalibrationCache
    from profilers.machine import describe_machine

    folder = cache_path(environment)
    if folder is None:
        return None, None
    cache, machine, version = CalibrationCache(folder), describe_machine(), compiler_version(cc, environment)
    found = cache.load(machine, version)
    return found, cache.path(machine.fingerprint, version) if found else None


def _compare_counters(cc: str, environment: Mapping[str, str]) -> CounterComparison | None:
    """Of LIKWID or perf, the first that counts here; None where none does."""
    from perfembed.profiling.comparison import compare_counters, compared_donors
    from profilers.build import CompilerConfig
    from profilers.contained.scratch import scratch_folder
    from profilers.likwid import LikwidBackend
    from profilers.machine import describe_machine
    from profilers.perf import PerfBackend

    backend = next((b for b in (LikwidBackend(), PerfBackend()) if b.available(environment).usable), None)
    if backend is None:
        return None
    machine = describe_machine()

    def tell(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    with scratch_folder() as scratch, machine_lock(environment, tell):
        compiler = CompilerConfig(cc, ("-O3", "-march=native", "-fopenmp"))
        donors, threads = compared_donors(), machine.physical_cores
        return compare_counters(backend, donors, threads, compiler, machine, environment, scratch, tell)


def _calibrate(cc: str, environment: Mapping[str, str]) -> tuple[Calibration, Path | None]:
    """Measures while nothing else of ours measures on this machine; what was found and where it was kept."""
    from profilers.calibrate import calibrate
    from profilers.calibration import CalibrationCache
    from profilers.contained.scratch import scratch_folder
    from profilers.machine import describe_machine

    machine = describe_machine()

    def tell(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    with scratch_folder() as scratch, machine_lock(environment, tell):
        tell("calibrating: about 15 s")
        date = datetime.now(UTC).replace(microsecond=0).isoformat()
        found = calibrate(machine, cc, environment, scratch, machine.physical_cores, date=date)
    problem = "neither XDG_CACHE_HOME nor HOME is an absolute path"
    folder = cache_path(environment)
    if folder is not None:
        cache = CalibrationCache(folder)
        earlier = cache.load(machine, found.compiler)
        if found.noisy and earlier is not None and not earlier.noisy:
            print(f"not kept: the quieter one of {earlier.date} stays", file=sys.stderr)
            return found, cache.path(machine.fingerprint, found.compiler)
        try:
            return found, cache.store(found)
        except ProfilersError as error:  # the figures were expensive: they are shown all the same
            problem = str(error)
    print(f"perfembed doctor: the calibration is not kept: {problem}", file=sys.stderr)
    return found, None


def _print_checks(checks: list[Check], style: Style) -> None:
    width = max(len(check.name) for check in checks)
    for check in checks:
        mark = style.paint("ok  ", "green") if check.ok else style.paint("miss", "red")
        if not check.ok and check.name not in _NEEDED:
            mark = style.paint("warn", "yellow")
        print(f"{mark}  {check.name.ljust(width)}  {check.found}")
        if check.fix:
            print(f"{' ' * (width + 6)}  fix: {check.fix}")


def shipped_check() -> Check:
    """Whether the models and the donors of a fresh installation are there."""
    from perfembed.learning.cost_models import SHIPPED
    from perfembed.retrieval.donors import donor_shards
    from profilers.doctor import Check

    models, shards = sorted(SHIPPED.glob("*.safetensors")), donor_shards()
    found = f"{len(models)} models, {len(shards)} shards of donors"
    there = bool(models and shards)
    return Check("models and donors", there, found, None if there else _REINSTALL)


def database_check(environment: Mapping[str, str]) -> Check:
    """Whether there is a database, or can be one, and whether it can be used."""
    from optdb.database import Database
    from optdb.errors import OptdbError
    from profilers.doctor import Check

    name, elsewhere = "database", "set PERFEMBED_DB to a file in a folder that is writable"
    known = optional_database(None, environment)
    if known is None:
        return Check(name, False, "no place for one is known: what is measured is not kept", elsewhere)
    path = Path(known).absolute()
    if not path.exists():
        parent = next(folder for folder in path.parents if folder.exists())
        usable = parent.is_dir() and os.access(parent, os.W_OK | os.X_OK)
        found = f"{path}, which the first run makes" if usable else f"{path} cannot be made: {parent} is not writable"
        return Check(name, usable, found, None if usable else elsewhere)
    try:
        with Database.open(path, read_only=True):
            pass
    except OptdbError as problem:
        return Check(name, False, problem.message, problem.advice or elsewhere)
    writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    return Check(name, writable, f"{path}{'' if writable else ' is not writable'}", None if writable else elsewhere)
