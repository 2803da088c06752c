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


EXACT_FLAGS = ("-ffp-contract=off",)
"""Compilers contract a*b + c to one rounding wherever they like; without it equal orders give equal bits."""


@dataclass(frozen=True, slots=True)
class ProgramComparison:
    """Fastest wall seconds of each program, start-up and input included.

    `equal`: same output when both are compiled without contraction; `difference` says what differs.
    `same_as_built`: the same with the user's own flags.
    """

    original_s: float
    tuned_s: float
    equal: bool
    difference: str = ""
    same_as_built: bool = True


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
    exact = replace(run, compiler=replace(compiler, flags=(*compiler.flags, *EXACT_FLAGS)))
    programs: dict[str, Path] = {}
    texts = {"original": original, "tuned": tuned}
    for how, settings in (("exact", exact), ("timed", run)):
        for name, content in texts.items():
            programs[f"{how} {name}"] = executable = workdir / f"{how}-{name}"
            if failure := _build(content, path, settings, executable):
                return ProgramComparison(0.0, 0.0, False, f"the {name} program does not compile: {failure}")
    outputs: dict[str, Finished] = {}
    times: dict[str, list[float]] = {name: [] for name in texts}
    for name in texts:
        finished = run_program(programs[f"exact {name}"], exact)
        if problem := run_failure(finished, run.limits):
            return ProgramComparison(0.0, 0.0, False, f"the {name} program fails: {problem}")
        outputs[name] = finished
    again: Finished | None = None
    difference = _difference(outputs["original"], outputs["tuned"])
    if difference:  # programs print times and addresses: what the original changes by itself proves nothing
        again = run_program(programs["exact original"], exact)
        difference = _difference(outputs["original"], outputs["tuned"], again)
    rounds = 3
    while len(times["original"]) < rounds:
        for name in texts:
            finished = run_program(programs[f"timed {name}"], run)
            if problem := run_failure(finished, run.limits):
                return ProgramComparison(0.0, 0.0, False, f"the {name} program fails: {problem}")
            times[name].append(finished.wall_s)
            outputs[name] = finished
        if sum(times["original"]) > _LONG_S and len(times["original"]) > 1:
            break
        if len(times["original"]) == rounds == 3 and min(times["tuned"]) > min(times["original"]):
            rounds = 12  # before we believe that it became slower
    same = not _difference(outputs["original"], outputs["tuned"], again)
    return ProgramComparison(min(times["original"]), min(times["tuned"]), not difference, difference, same)


def _difference(first: Finished, other: Finished, again: Finished | None = None) -> str:
    """The first line that differs; `again` is another run of the first, and lines it changes are left out."""
    for what in ("stdout", "stderr"):
        a, b = getattr(first, what), getattr(other, what)
        if a == b:
            continue
        before, after = a.split(b"\n"), b.split(b"\n")
        repeated = before if again is None else getattr(again, what).split(b"\n")
        if len(repeated) != len(before):
            continue
        for number, (x, y, z) in enumerate(zip(before, after, repeated, strict=False), 1):
            if x != y and x == z:
                return f"{what} line {number}: {x[:80]!r} became {y[:80]!r}"
        if len(before) != len(after):
            return f"{what} has {len(a)} bytes, then {len(b)}"
    return ""


def _build(content: bytes, path: Path, run: ProgramRun, executable: Path) -> str:
    """Empty, or what the compiler said."""
    source = executable.with_suffix(".c")
    source.write_bytes(f"#line 1 {c_string(os.fspath(path))}\n".encode() + content)
    environment = {**run.environment, "LC_ALL": "C", "TMPDIR": str(executable.absolute().parent)}
    command = (
        compiler_path(run.compiler.cc, environment),
        *(*run.compiler.flags, "-w", "-iquote", str(path.absolute().parent)),
        *(str(source), "-o", str(executable), *run.compiler.libs),
    )
    finished = run_contained(command, limits=COMPILE_LIMITS, env=environment, cwd=run.directory)
    return "" if finished.ok else finished.stderr.decode(errors="replace")[:2000] or "no message"
