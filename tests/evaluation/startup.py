"""What perfembed costs before it does anything: imports, help, time until programs run, and memory, of processes.

Beside this program another one is measured in alternation: the same with torch and everything else it trains with
loaded first, or another checkout. So the ratio holds whatever else the machine does. Either is run from its checkout
or from an environment that it is installed into first; in both cases its modules are compiled to bytecode before.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import perfembed
from perfembed.errors import EnvironmentMissing
from profilers.contained.scratch import scratch_folder
from tests.evaluation.installation import Installation, install

AIMS = {"library_s": 0.2, "help_s": 0.3, "program_s": 1.5, "candidate_s": 3.0, "memory_bytes": 400 << 20}
INSTALL_AIM_S = 60.0
_SIZE = 400
_LIMIT_S = 600.0  # of one tune
_POLL_S = 0.01
COMMAND = "from perfembed.cli.main import run; run()"
_IMPORT = """import perfembed.cli.main
try:
    import perfembed.tuning.file_tuner
except ImportError:  # a checkout from before it was called so
    import perfembed.tuning
"""
# What trains the network.
_EAGER = (
    "from perfembed.learning.cost_models import SHIPPED; "
    "from perfembed.embedding.network.checkpoint import load_model; load_model(SHIPPED / 'embedding.safetensors'); "
)
_PROGRAM, _CANDIDATE = (
    "capturing the inputs of ",
    "  1 candidate, best ",
)  # what `tune -v` says behind the first of each
_OF_PYTHON = ("PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")
EXAMPLE = """#include <stdio.h>

static double A[SIZE][SIZE], B[SIZE][SIZE], C[SIZE][SIZE];

int main(void)
{
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) {
            A[i][j] = (i * 7 + j * 3) % 11 * 0.25;
            B[i][j] = (i * 5 + j * 2) % 13 * 0.5;
        }
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) {
            C[i][j] = 0;
            for (int k = 0; k < SIZE; k++)
                C[i][j] += A[i][k] * B[k][j];
        }
    double trace = 0;
    for (int i = 0; i < SIZE; i++)
        trace += C[i][i];
    printf("%.17g\\n", trace);
    return 0;
}
"""


@dataclass(frozen=True, slots=True)
class StartupBench:
    """`against`: the folder of another checkout; None: this program with torch and the network loaded first.

    `install`: build the wheels, install them and run those.
    """

    runs: int = 5
    against: Path | None = None
    size: int = _SIZE  # of the example's matrices
    environment: Mapping[str, str] = field(default_factory=dict)
    install: bool = False


@dataclass(frozen=True, slots=True)
class Startup:
    """Of one process, in seconds since it was started and bytes; `memory_bytes` without its children.

    `library_s`: of `import perfembed`; `help_s`: of `perfembed --help`; `imports_s`: of all that `tune` needs first.
    `program_s`: until the program has run once. `processor_s`: processor time until the first candidate was measured,
    also of the processes that ended before.
    """

    library_s: float
    help_s: float
    imports_s: float
    program_s: float
    candidate_s: float
    processor_s: float
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class StartupResult:
    """`ours` and `theirs`: the runs, in the order they were made in, one of each after the other.

    `installed`: ours and theirs, where they were.
    """

    bench: StartupBench
    ours: tuple[Startup, ...]
    theirs: tuple[Startup, ...]
    interrupted: bool
    installed: tuple[Installation, Installation] | None = None

    def median(self, name: str) -> tuple[float, float]:
        """Of a field of `Startup`: (ours, theirs)."""
        ours, theirs = ([float(getattr(run, name)) for run in runs] for runs in (self.ours, self.theirs))
        return statistics.median(ours), statistics.median(theirs)


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two: `path` and `before` are code that runs first."""

    folder: Path
    python: str
    path: str
    before: str
    environment: Mapping[str, str]

    def command(self, code: str) -> list[str]:
        return [self.python, "-c", self.path + self.before + code]


def run_startup(bench: StartupBench, progress: Callable[[str], None]) -> StartupResult:
    """Both in alternation; Ctrl-C ends with what there is of both. `progress` is told what is done.

    Raises EnvironmentMissing where a run fails.
    """
    own = Path(perfembed.__file__).resolve().parent.parent
    other = own if bench.against is None else bench.against.resolve()
    found: tuple[list[Startup], list[Startup]] = ([], [])
    interrupted = False
    installed: tuple[Installation, Installation] | None = None
    with scratch_folder() as scratch:
        source = scratch / "program" / "example.c"
        source.parent.mkdir()
        source.write_text(EXAMPLE.replace("SIZE", str(bench.size)), encoding="ascii")
        try:
            environment = {name: text for name, text in bench.environment.items() if name not in _OF_PYTHON}
            if bench.install:
                ours, python = install(own, scratch / "ours", environment)
                progress("installed this one")
                theirs, others = ours, python
                if other != own:
                    theirs, others = install(other, scratch / "theirs", environment)
                    progress("installed the other one")
                installed = ours, theirs
                pythons, paths = [str(python), str(others)], ["", ""]
            else:
                environment["PYTHONPYCACHEPREFIX"] = str(scratch / "bytecode")
                pythons = [sys.executable] * 2
                paths = [f"import sys; sys.path.insert(0, {str(folder)!r}); " for folder in (own, other)]
            before = "", "" if bench.against is not None else _EAGER
            sides = [
                Side(folder, pythons[k], paths[k], before[k], environment) for k, folder in enumerate((own, other))
            ]
            for side in sides:
                _seconds(side, _IMPORT, folder=source.parent)
            for side in sides:  # what a first run reads is on the disk, and bytecode is made
                _measured(side, source)
            for number in range(bench.runs):
                for k in (0, 1) if number % 2 else (1, 0):
                    found[k].append(_measured(sides[k], source))
                progress(f"{number + 1} of {bench.runs}")
        except KeyboardInterrupt:
            interrupted = True
    pairs = min(map(len, found))
    return StartupResult(bench, tuple(found[0][:pairs]), tuple(found[1][:pairs]), interrupted, installed)


def _seconds(side: Side, code: str, *arguments: str, folder: Path) -> float:
    """Of a process, from its start to its end."""
    began = time.monotonic()
    done = subprocess.run(
        [*side.command(code), *arguments], cwd=folder, env=dict(side.environment), stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=_LIMIT_S,
    )  # fmt: skip
    seconds = time.monotonic() - began
    if done.returncode != 0:
        raise failed(side, done.stderr)
    return seconds


def _measured(side: Side, source: Path) -> Startup:
    library_s = _seconds(side, "import perfembed", folder=source.parent)
    help_s = _seconds(side, COMMAND, "--help", folder=source.parent)
    imports_s = _seconds(side, _IMPORT, folder=source.parent)
    options = ("--dry-run", "--no-db", "-v", "--budget", "60s", "--measure", "2")
    began = time.monotonic()
    with subprocess.Popen(
        [*side.command(COMMAND), "tune", source.name, *options],
        cwd=source.parent, env=dict(side.environment), text=True, errors="replace",
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        meter = Meter(lambda: _memory_bytes(process.pid), _POLL_S)
        late = threading.Timer(_LIMIT_S, process.kill)
        late.start()
        try:
            program_s, candidate_s, processor_s, said = 0.0, 0.0, 0.0, ""
            assert process.stderr is not None
            for line in process.stderr:
                said += line
                if line.startswith(_PROGRAM) and not program_s:
                    program_s = time.monotonic() - began
                if line.startswith(_CANDIDATE) and not candidate_s:
                    candidate_s, processor_s = time.monotonic() - began, used_s(process.pid)
        except BaseException:
            process.terminate()  # tune removes its files
            raise
        finally:
            late.cancel()
            memory_bytes = int(meter.stop())
    if process.returncode != 0 or not (program_s and candidate_s):
        raise failed(side, said or "no candidate was measured")
    return Startup(library_s, help_s, imports_s, program_s, candidate_s, processor_s, memory_bytes)


def used_s(pid: int) -> float:
    """Of a process and of all below it, those that have ended, too."""
    below: dict[int, list[int]] = {}
    spent: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = path.read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        one = int(path.parent.name)
        below.setdefault(int(words[1]), []).append(one)
        spent[one] = sum(map(int, words[11:15]))
    total, waiting = 0, [pid]
    while waiting:
        one = waiting.pop()
        total += spent.get(one, 0)
        waiting += below.get(one, [])
    return total / os.sysconf("SC_CLK_TCK")


def failed(side: Side, said: str) -> EnvironmentMissing:
    last = said.strip().splitlines()[-1:]
    return EnvironmentMissing(
        f"perfembed of {side.folder} does not run: {' '.join(last)[:300]}", "try perfembed doctor"
    )


class Meter:
    """Asks again and again until it is told to stop, which gives the most that was answered; None ends it, too."""

    def __init__(self, ask: Callable[[], float | None], every_s: float) -> None:
        self._ask, self._every_s = ask, every_s
        self._most = 0.0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def stop(self) -> float:
        self._end.set()
        self._thread.join()
        return self._most

    def _look(self) -> None:
        while not self._end.wait(self._every_s) and (found := self._ask()) is not None:
            self._most = max(self._most, found)


def _memory_bytes(pid: int) -> float | None:
    """What a process has had at most. What a parent is told of an ended child counts that one's children, too:
    compilers.
    """
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024.0 for line in lines if line.startswith("VmHWM:")), 0.0)
