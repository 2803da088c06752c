"""The whole program before and after: the same output, and how long it takes."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from perfembed.capture.program import COMPILE_LIMITS, ProgramRun, c_string, run_failure, run_program
from profilers.build import CompilerConfig, compiler_path
from profilers.harness import harness_environment
from profilers.run import Finished, run_contained

_LONG_S = 20.0


@dataclass(frozen=True, slots=True)
class ProgramComparison:
    """Fastest wall seconds of each program, start-up and input included; `difference` says what differs."""

    original_s: float
    tuned_s: float
    equal: bool
    difference: str = ""


def compare_programs(
    program: ProgramRun,
    compiler: CompilerConfig,
    path: Path,
    original: bytes,
    tuned: bytes,
    workdir: Path,
    threads: int,
) -> ProgramComparison:
    """Builds both texts with the same flags and runs them in turn; exit code, stdout and stderr must agree."""
    workdir.mkdir(parents=True, exist_ok=True)
    run = replace(program, compiler=compiler, environment=harness_environment(program.environment, threads))
    programs = []
    for name, content in (("original", original), ("tuned", tuned)):
        executable = workdir / name
        failure = _build(content, path, run, executable)
        if failure:
            return ProgramComparison(0.0, 0.0, False, f"the {name} program does not compile: {failure}")
        programs.append(executable)
    times: tuple[list[float], list[float]] = ([], [])
    first: Finished | None = None
    for round_number in range(3):
        for which, executable in enumerate(programs):
            finished = run_program(executable, run)
            problem = run_failure(finished, run.limits)
            if problem:
                return ProgramComparison(0.0, 0.0, False, f"the {executable.name} program fails: {problem}")
            times[which].append(finished.wall_s)
            if first is None:
                first = finished
            elif difference := _difference(first, finished):
                return ProgramComparison(min(times[0]), min(times[1], default=0.0), False, difference)
        if sum(times[0]) > _LONG_S and round_number:
            break
    return ProgramComparison(min(times[0]), min(times[1]), True)


def _difference(first: Finished, other: Finished) -> str:
    for what, a, b in (("stdout", first.stdout, other.stdout), ("stderr", first.stderr, other.stderr)):
        if a != b:
            for number, (x, y) in enumerate(zip(a.splitlines(), b.splitlines(), strict=False), 1):
                if x != y:
                    return f"{what} line {number}: {x[:80]!r} became {y[:80]!r}"
            return f"{what} has {len(a)} bytes, then {len(b)}"
    return ""


def _build(content: bytes, path: Path, run: ProgramRun, executable: Path) -> str:
    """Empty, or what the compiler said."""
    source = executable.with_suffix(".c")
    source.write_bytes(f"#line 1 {c_string(os.fspath(path))}\n".encode() + content)
    environment = {**run.environment, "LC_ALL": "C"}
    command = (
        compiler_path(run.compiler.cc, environment),
        *(*run.compiler.flags, "-w", "-iquote", str(path.absolute().parent)),
        *(str(source), "-o", str(executable), *run.compiler.libs),
    )
    finished = run_contained(command, limits=COMPILE_LIMITS, env=environment, cwd=run.directory)
    return "" if finished.ok else finished.stderr.decode(errors="replace")[:2000] or "no message"
