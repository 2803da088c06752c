"""What a large program costs: 20 files and some 10,000 lines, of which few run (`tests.evaluation.large_program`).

This program and another checkout work on it in alternation, each as from a shell. Processor time counts all processes;
what is waited for other measurements on the machine is left out of the wall time.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import perfembed
from perfembed.errors import EXIT_DONE, EXIT_NOT_READ
from profilers.contained.scratch import scratch_folder
from tests.evaluation.large_program import LargeProgram, write_large_program
from tests.evaluation.startup import COMMAND, Meter, Side, failed, used_s

AIMS = {"candidate": 20.0, "inspect": 10.0}
FLAGS = "-std=gnu11 -D_GNU_SOURCE -O3 -march=native -fopenmp -Iinclude"
_LIMIT_S = 900.0
_CANDIDATE, _WAITING = "  1 candidate, best ", "waiting: "
_POLL_S = 0.2
TASKS: Mapping[str, tuple[str, ...]] = {
    "inspect": ("inspect", "FILES", "--summary", "--cflags", FLAGS),
    "inspect --run": ("inspect", "FILES", "--summary", "--build", "make", "--run", "./prog"),
    "candidate": (
        "tune",
        "-",
        "--build",
        "make",
        "--run",
        "./prog",
        "--dry-run",
        "--no-db",
        "-v",
        "--budget",
        "BUDGET",
    ),
}


@dataclass(frozen=True, slots=True)
class LargeBench:
    """`against`: the folder of another checkout; None: nothing else is measured."""

    runs: int = 3
    against: Path | None = None
    seed: int = 0
    budget_s: float = 60.0
    tasks: tuple[str, ...] = tuple(TASKS)
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds until a task was done; None: no candidate was measured before the budget was spent."""

    wall_s: float | None
    processor_s: float


@dataclass(frozen=True, slots=True)
class LargeResult:
    """`spent`: of each task the runs of ours and theirs."""

    bench: LargeBench
    files: int
    lines: int
    spent: Mapping[str, tuple[tuple[Spent, ...], tuple[Spent, ...]]]
    interrupted: bool = False


def median(runs: Sequence[Spent]) -> tuple[float, float]:
    """(wall, processor) seconds; a run without a candidate took for ever. (NaN, NaN) without runs."""
    if not runs:
        return float("nan"), float("nan")
    walls = [float("inf") if run.wall_s is None else run.wall_s for run in runs]
    return statistics.median(walls), statistics.median(run.processor_s for run in runs)


def run_large(bench: LargeBench, progress: Callable[[str], None]) -> LargeResult:
    """Ctrl-C ends with what there is. Raises EnvironmentMissing where a run fails, or the program cannot be made."""
    folders = [Path(perfembed.__file__).resolve().parent.parent]
    folders += [bench.against.resolve()] if bench.against is not None else []
    spent: dict[str, tuple[list[Spent], list[Spent]]] = {task: ([], []) for task in bench.tasks}
    interrupted = False
    with scratch_folder() as scratch:
        environment = {**bench.environment, "PYTHONPYCACHEPREFIX": str(scratch / "bytecode")}
        environment.pop("PYTHONPATH", None)
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        paths = [f"import sys; sys.path.insert(0, {str(folder)!r}); " for folder in folders]
        sides = [
            Side(folder, sys.executable, path, "", environment) for folder, path in zip(folders, paths, strict=True)
        ]
        program = write_large_program(scratch / "program", bench.seed)
        try:
            for side in sides:  # bytecode is made, and what is compiled once on a machine
                _measured(side, program, bench.tasks[0], bench)
            for number in range(bench.runs):
                for task in bench.tasks:
                    for k in range(len(sides)) if number % 2 else reversed(range(len(sides))):
                        spent[task][k].append(_measured(sides[k], program, task, bench))
                    progress(f"{task}: {number + 1} of {bench.runs}")
        except KeyboardInterrupt:
            interrupted = True
    found = {task: (tuple(ours), tuple(theirs)) for task, (ours, theirs) in spent.items()}
    return LargeResult(bench, len(program.files), program.lines, found, interrupted)


def _measured(side: Side, program: LargeProgram, task: str, bench: LargeBench) -> Spent:
    words: list[str] = []
    for word in TASKS[task]:
        words += program.files if word == "FILES" else [word.replace("BUDGET", f"{bench.budget_s:g}s")]
    began = time.monotonic()
    with subprocess.Popen(
        [*side.command(COMMAND), *words],
        cwd=program.folder, env=dict(side.environment), text=True, errors="replace",
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        meter = Meter(lambda: used_s(process.pid), _POLL_S)
        late = threading.Timer(_LIMIT_S, process.kill)
        late.start()
        try:
            waited_s, waits, said, wall_s = 0.0, 0.0, "", None
            assert process.stderr is not None
            for line in process.stderr:
                now, said = time.monotonic(), said + line
                waited_s, waits = waited_s + (now - waits if waits else 0.0), 0.0
                if line.startswith(_WAITING):
                    waits = now
                if task == "candidate" and line.startswith(_CANDIDATE):
                    wall_s = now - began - waited_s
                    spent_s = used_s(process.pid)
                    process.terminate()
                    return Spent(wall_s, spent_s)
        except BaseException:
            process.terminate()
            raise
        finally:
            late.cancel()
            most_s = meter.stop()
    if process.returncode not in (EXIT_DONE, EXIT_NOT_READ) and task != "candidate":
        raise failed(side, said)
    return Spent(None if task == "candidate" else time.monotonic() - began, most_s)
