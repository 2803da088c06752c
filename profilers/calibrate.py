"""Measures what this machine can do at best: calibration.c compiled and run contained, with one thread and with all."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from profilers.build import compiler_path, compiler_version
from profilers.calibration import FLAGS, MEMORY, Calibration, Figure
from profilers.contained.child import Finished, Limits
from profilers.errors import HarnessError
from profilers.harness import harness_environment
from profilers.load import LoadMeter
from profilers.machine import Machine
from profilers.rates import StreamRates
from profilers.run import run_contained
from profilers.specification import OpenMP
from profilers.timing import coefficient_of_variation

_SOURCE = Path(__file__).with_name("calibration.c")


def calibrate(
    machine: Machine,
    cc: str,
    environment: Mapping[str, str],
    workdir: Path,
    threads: int,
    *,
    date: str,
    seconds: float = 0.16,
) -> Calibration:
    """Measures everything with 1 and with `threads` threads; each figure gets about `seconds` seconds.

    The caller holds the machine's measurement lock. Raises CompilerMissing, and HarnessError where the program does
    not compile or run or the working sets do not fit into memory.
    """
    compiler = compiler_version(cc, environment)
    executable = build_calibration(machine, cc, environment, workdir)
    meter = LoadMeter()
    figures = []
    for count in sorted({1, threads}):
        figures += _measure(executable, machine, environment, count, seconds, working_sets(machine, count))
    return Calibration(machine.fingerprint, compiler, FLAGS, date, threads, meter.other_load(), tuple(figures))


def calibrate_streams(
    machine: Machine,
    cc: str,
    environment: Mapping[str, str],
    workdir: Path,
    threads: int,
    *,
    date: str,
    seconds: float = 0.03,
) -> StreamRates:
    """Measures only what schedules of streams ask for, in about two seconds, the compiler's included.

    The caller holds the machine's measurement lock. Raises what `calibrate` does.
    """
    compiler = compiler_version(cc, environment)
    executable = build_calibration(machine, cc, environment, workdir)
    meter = LoadMeter()
    rates: list[dict[str, float]] = []
    for count in (1, threads):
        sets = working_sets(machine, count)
        # Twice a cache's share is beyond it: what lies there takes time to be touched first.
        sets = (*sets[-2:-1], (MEMORY, sets[-1][1] // 2))
        figures = _measure(executable, machine, environment, count, seconds, sets, "streams")
        rates.append({f.subject or f.quantity: f.value for f in figures})
    memory, cache = ((rates[0][name], rates[1][name]) for name in (MEMORY, sets[0][0]))
    load = meter.other_load()
    return StreamRates(machine.fingerprint, compiler, FLAGS, date, threads, load, memory, cache, rates[1]["fork_join"])


def build_calibration(machine: Machine, cc: str, environment: Mapping[str, str], workdir: Path) -> Path:
    """Compiles calibration.c in `workdir`, which is made. Raises CompilerMissing and HarnessError."""
    workdir.mkdir(parents=True, exist_ok=True)
    executable = workdir.absolute() / "calibration"
    argv = (compiler_path(cc, environment), *FLAGS, "-std=gnu11", f"-DPE_VECTOR_BYTES={machine.vector_bytes}")
    env = {**environment, "LC_ALL": "C", "TMPDIR": str(workdir.absolute())}
    finished = run_contained(
        (*argv, str(_SOURCE), "-o", str(executable)), limits=Limits.of_work(60.0), env=env, cwd=workdir
    )
    if not finished.ok:
        raise HarnessError(f"{cc} cannot compile the calibration: {_complaint(finished)}")
    return executable


def working_sets(machine: Machine, threads: int) -> tuple[tuple[str, int], ...]:
    """Each level's name and the bytes one of `threads` threads works on to stay in it, nearest level first.

    Half of a thread's share of L1 and L2, four times the last cache for the memory. Of L3 an eighth, for neighbours
    fill the rest, seen or unseen: at 16 of the 32 MiB that a virtual machine reports, a random load took 143 ns, as
    memory did, at 4 MiB 16 ns. In any case twice the level before, where the level is that large.
    """
    found = []
    inner = share = 0
    for cache in machine.caches:
        share = cache.size_bytes // _sharers(cache.shared_by, machine, threads)
        wanted = share // (2 if cache.level < 3 else 8)
        found.append((f"L{cache.level}", max(min(max(wanted, 2 * inner), share), 2 * cache.line_bytes)))
        inner = share
    return (*found, (MEMORY, 4 * share))


def _sharers(shared_by: int, machine: Machine, threads: int) -> int:
    """How many of the threads, spread evenly, are behind one cache."""
    return max(1, math.ceil(threads * shared_by / machine.logical_cores))


def _measure(
    executable: Path,
    machine: Machine,
    environment: Mapping[str, str],
    threads: int,
    seconds: float,
    sets: Sequence[tuple[str, int]],
    *what: str,
) -> list[Figure]:
    """`what`: the program's words for measuring less than everything."""
    largest = threads * max(size for _, size in sets)
    if largest > machine.memory_bytes // 2:
        raise HarnessError(f"{largest >> 20} MiB to measure the memory are more than half of it")
    line_bytes = max((cache.line_bytes for cache in machine.caches), default=64)
    arguments = (*what, str(threads), repr(seconds), str(line_bytes), *(str(word) for level in sets for word in level))
    limits = Limits(wall_s=120.0, memory_bytes=largest + (1 << 30) + threads * (256 << 20))
    env = harness_environment(environment, threads, OpenMP(proc_bind="spread", places="cores"))
    finished = run_contained((str(executable), *arguments), limits=limits, env=env, cwd=executable.parent)
    try:
        if not finished.ok:
            raise ValueError(_complaint(finished))
        return [_figure(one, threads) for one in json.loads(finished.stdout)["figures"]]
    except (KeyError, TypeError, ValueError, ArithmeticError) as problem:
        raise HarnessError(f"the calibration with {threads} threads failed: {problem}") from problem


def _figure(said: dict[str, Any], threads: int) -> Figure:
    """A figure from what the program said; `amount` is what one repetition did."""
    quantity, amount = str(said["quantity"]), float(said["amount"])
    each = tuple(float(s) for s in said["seconds"])
    if quantity in ("bandwidth", "flops"):
        each = tuple(amount / s / (1e9 if quantity == "bandwidth" else 1.0) for s in each)
        value = max(each)
    else:
        each = tuple(s / amount for s in each)
        value = min(each) if quantity == "latency" else statistics.median(each)
    spread = coefficient_of_variation(each)
    return Figure(quantity, said["subject"], said["kind"], threads, value, spread, len(each), said["bytes"])


def _complaint(finished: Finished) -> str:
    lines = finished.stderr.decode(errors="replace").strip().splitlines()
    limit = f"went over the limit of {finished.limit}" if finished.limit else f"ended with code {finished.returncode}"
    return lines[0][:300] if lines else limit
