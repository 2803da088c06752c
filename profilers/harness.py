"""Runs the harness of a built workload: timing, references and checks. One contained process each."""

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from profilers.build import Built
from profilers.contained.child import Finished, Limits, memory_file
from profilers.errors import HarnessError
from profilers.outcome import Crashed, Difference, Failure, Stopped, Timed, TimedOut, Verified, WrongResult
from profilers.run import DEFAULT_ENVIRONMENT, describe_signal, run_contained
from profilers.specification import OpenMP, TimingSettings, specification_of
from profilers.workload import Argument

DEFAULT_LIMITS = Limits(wall_s=60.0, memory_bytes=16 << 30, output_bytes=1 << 16)
_RUNTIME_VARIABLES = ("OMP_", "GOMP_", "KMP_", "LIBOMP")


def time_workload(
    built: Built,
    *,
    settings: TimingSettings,
    limits: Limits = DEFAULT_LIMITS,
    environment: Mapping[str, str] = DEFAULT_ENVIRONMENT,
) -> Timed | Failure:
    """Measures a workload alone in a fresh process.

    `limits.wall_s` covers the whole process, filling included. A write outside an array is a
    WrongResult here too. Raises HarnessError where a capture file cannot be read.
    """
    answer = _run(built, "time", settings, "", (-1.0, 0.0), limits, environment)
    if not isinstance(answer, dict):
        return answer
    if "stopped" in answer:
        return Stopped(float(answer["stopped"]))
    return Timed(tuple(float(sample) for sample in answer["samples"]))


def write_reference(
    built: Built,
    path: Path,
    *,
    limits: Limits = DEFAULT_LIMITS,
    environment: Mapping[str, str] = DEFAULT_ENVIRONMENT,
    openmp: OpenMP = OpenMP(),
) -> Timed | WrongResult | Crashed | TimedOut:
    """Runs the kernel once and writes its written, compared arguments to `path` (whole or not at all).

    The time is that of a first, cold call.
    """
    path = path.absolute()
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        answer = _run(
            built, "reference", TimingSettings(openmp=openmp), str(unfinished), (-1.0, 0.0), limits, environment
        )
        if isinstance(answer, dict):
            os.replace(unfinished, path)
            return Timed(tuple(float(sample) for sample in answer["samples"]))
        return answer
    finally:
        unfinished.unlink(missing_ok=True)


def check_workload(
    built: Built,
    reference: Path,
    tolerance: float | None = None,
    *,
    absolute: float = 0.0,
    limits: Limits = DEFAULT_LIMITS,
    environment: Mapping[str, str] = DEFAULT_ENVIRONMENT,
    openmp: OpenMP = OpenMP(),
) -> Verified | WrongResult | Crashed | TimedOut:
    """Runs the kernel once on fresh inputs and compares its outputs with the reference.

    `tolerance` None asks for identical bits (0.0 and -0.0 differ). Otherwise a float may differ by
    `tolerance` times the larger magnitude or by `absolute`, and any NaN equals any NaN; integers
    must be equal in both. Raises HarnessError for a reference made from other inputs.
    """
    tolerances = (-1.0, 0.0) if tolerance is None else (tolerance, absolute)
    if tolerance is not None and not (0 <= tolerance < math.inf and 0 <= absolute < math.inf):
        raise HarnessError(f"tolerances must be finite and not negative: {tolerance}, {absolute}")
    answer = _run(
        built, "check", TimingSettings(openmp=openmp), str(reference.absolute()), tolerances, limits, environment
    )
    if not isinstance(answer, dict):
        return answer
    differences = tuple(_difference(built, entry) for entry in answer["differences"])
    if not differences:
        return Verified(float(answer["samples"][0]))
    first = differences[0]
    return WrongResult(
        first.argument, first.first_index, first.max_abs_error, "; ".join(map(_describe, differences)), differences
    )


def harness_environment(environment: Mapping[str, str], threads: int, openmp: OpenMP = OpenMP()) -> dict[str, str]:
    """The environment of a measured process: the given one with its OpenMP settings replaced by ours."""
    env = {name: value for name, value in environment.items() if not name.startswith(_RUNTIME_VARIABLES)}
    env["OMP_NUM_THREADS"] = str(threads)
    env["OMP_DYNAMIC"] = "false"
    for name, value in (
        ("OMP_WAIT_POLICY", openmp.wait_policy),
        ("GOMP_SPINCOUNT", openmp.spin_count),
        ("OMP_PROC_BIND", openmp.proc_bind),
        ("OMP_PLACES", openmp.places),
    ):
        if value is not None:
            env[name] = str(value)
    return env


def _run(
    built: Built,
    mode: str,
    settings: TimingSettings,
    reference: str,
    tolerances: tuple[float, float],
    limits: Limits,
    environment: Mapping[str, str],
) -> dict[str, Any] | WrongResult | Crashed | TimedOut:
    """One harness process: its answer, or how it failed."""
    if "\n" in reference:
        raise HarnessError(f"not a usable path: {reference!r}")
    specification = specification_of(built.workload.arguments, mode, settings, reference, tolerances)
    env = harness_environment(environment, built.workload.threads, settings.openmp)
    ran = launch(built, specification, limits, env)
    return answer_of(built, *ran) if isinstance(ran, tuple) else ran


def launch(
    built: Built,
    specification: bytes,
    limits: Limits,
    env: Mapping[str, str],
    wrapper: tuple[str, ...] = (),
    pass_fds: tuple[int, ...] = (),
) -> tuple[Finished, bytes] | Crashed | TimedOut:
    """One harness process below `wrapper`: how it ended and what it answered, or how it failed."""
    # wrappers like LIKWID's split their command line at spaces, which a path may have
    program = (*wrapper, f"./{built.executable.name}") if wrapper else (str(built.executable),)
    with memory_file("specification", specification) as given, memory_file("result") as result:
        fds = (given.fileno(), result.fileno())
        finished = run_contained(
            (*program, *map(str, fds)),
            limits=limits,
            env=env,
            cwd=built.executable.parent,
            pass_fds=(*fds, *pass_fds),
        )
        result.seek(0)
        said = result.read()
    if finished.timed_out:
        return TimedOut(limits.wall_s)
    if finished.limit is not None:
        return Crashed(finished.limit, f"went over the limit of {finished.limit}")
    if finished.signal is not None:
        return Crashed(
            describe_signal(finished.signal), _said(finished) or f"ended by {describe_signal(finished.signal)}"
        )
    return finished, said


def answer_of(built: Built, finished: Finished, said: bytes) -> dict[str, Any] | WrongResult | Crashed:
    """What a harness process said, or how it failed. Raises HarnessError where it was used wrongly."""
    arguments = built.workload.arguments
    try:
        answer = json.loads(said)
        if not isinstance(answer, dict):
            raise ValueError("not an object")
    except ValueError:
        return Crashed(finished.returncode, _said(finished) or "the kernel ended the process")
    if "error" in answer:
        kind, _, text = str(answer["error"]).partition(": ")
        if kind == "memory":
            return Crashed("memory", text)
        raise HarnessError(f"{built.workload.name}: {kind}: {text}")
    if finished.returncode != 0:
        return Crashed(finished.returncode, _said(finished) or "the harness failed")
    if "guard" in answer:
        argument, byte = arguments[answer["guard"]], int(answer["byte"])
        side = f"{-byte} bytes before its start" if byte < 0 else f"{byte - argument.bytes} bytes past its end"
        return WrongResult(
            argument.name, byte // argument.element_bytes, math.inf, f"wrote outside {argument.name}: {side}"
        )
    if "modified" in answer:
        name = arguments[answer["modified"]].name
        return WrongResult(name, 0, math.inf, f"wrote to {name}, which is declared as only read")
    return answer


def _said(finished: Finished) -> str:
    return finished.stderr.decode(errors="replace").strip()[:500]


def _number(argument: Argument, text: str) -> float | int:
    return float.fromhex(text) if argument.is_float else int(text)


def _difference(built: Built, entry: dict[str, Any]) -> Difference:
    argument = built.workload.arguments[entry["arg"]]
    return Difference(
        argument=argument.name,
        count=int(entry["count"]),
        first_index=int(entry["first"]),
        expected=_number(argument, entry["expected"]),
        actual=_number(argument, entry["actual"]),
        max_abs_error=float.fromhex(entry["absolute"]),
        max_rel_error=float.fromhex(entry["relative"]),
    )


def _describe(difference: Difference) -> str:
    same = " (equal values, different bits)" if difference.max_abs_error == 0 else ""
    where = f"{difference.argument}[{difference.first_index}]"
    return (
        f"{where}: expected {difference.expected!r}, got {difference.actual!r}{same};"
        f" {difference.count} elements differ, by up to {difference.max_abs_error:.3g}"
        f" (relative {difference.max_rel_error:.3g})"
    )
