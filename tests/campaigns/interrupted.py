"""Kills `tune --in-place` at random moments: is the file the old or the new one, and is nothing left behind?

Real processes, ended by SIGKILL: the command alone, whose descendants then have to end by themselves, or with all of
them. Every fourth kill comes when the new file is being written. Now and then one is let run to its end: nothing that
the killed ones left may be there afterwards.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from perfembed.errors import EnvironmentMissing
from perfembed.report.style import count, seconds
from profilers.contained.child import Limits
from profilers.contained.errors import NotExecutable
from profilers.lock import VARIABLE
from profilers.run import run_contained
from tests.campaigns.population import inconsistencies, kill_tree

PROGRAM = b"""#include <stdio.h>
#define N 600
double a[N][N], b[N][N];
void work(void)
{
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++)
            b[i][j] = a[i][j] * 0.5 + b[i][j];
}
static unsigned next(void)
{
    static unsigned state;
    return state = state * 1664525u + 1013904223u;
}
int main(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            a[i][j] = next() % 13;
    for (int t = 0; t < 4; t++)
        work();
    printf("%.17g\\n", b[3][5] + b[N - 1][N - 2]);
    return 0;
}
"""
"""The innermost loop jumps from row to row, and with -O1 stays so: that it can be made faster shows at once."""

_COMMAND = (sys.executable, "-c", "from perfembed.cli.main import run; run()", "tune")
_MARK = "PERFEMBED_INTERRUPTED"  # in the environment of everything that is started
_WAIT_S = 10.0  # for descendants of a killed one to end
_POLL_S = 0.001
_PATIENCE = 10  # runs that take so many times as long as the undisturbed one are stuck
EXAMPLES = 20


@dataclass(frozen=True, slots=True)
class InterruptedBench:
    """`content` of a C program that can be made faster; `arguments` of tune, without the file and --db, `first` more of
    the first run.
    """

    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    content: bytes = PROGRAM
    first: tuple[str, ...] = ()
    build: tuple[str, ...] = ("gcc", "-O1", "-w", "-fopenmp")  # how a tuned file is tried
    kills: int = 20
    between: int = 20  # kills from one run that is let go on to the next
    seed: int = 0
    folder: Path | None = None  # default: temporary


@dataclass(slots=True)
class InterruptedResult:
    """`writing`: kills while the new file was being written; `old`, `new`: files found after a kill.

    `problems`: files that are neither, processes that survived, what was left behind, a damaged database.
    """

    kills: int = 0
    writing: int = 0
    alone: int = 0  # the command without its descendants
    old: int = 0
    new: int = 0
    whole_runs: int = 0
    problems: list[str] = field(default_factory=list)
    undisturbed_s: float = 0.0
    slowest_end_s: float = 0.0  # of descendants of one that was killed alone
    seconds: float = 0.0
    interrupted: bool = False

    @property
    def passed(self) -> bool:
        return not self.problems


def run_interrupted(bench: InterruptedBench, progress: Callable[[str], None]) -> InterruptedResult:
    """Raises EnvironmentMissing where it does not run undisturbed, or nothing is gained."""
    began = time.monotonic()
    result = InterruptedResult()
    rng = random.Random(bench.seed)
    with tempfile.TemporaryDirectory(prefix="interrupted-", dir=bench.folder, ignore_cleanup_errors=True) as name:
        work = _Work(bench, Path(name), result)
        try:
            work.whole(bench.first)  # the others start from what it has found
            if work.state() != "new":
                raise EnvironmentMissing("nothing is gained on this program, so nothing is written", "try another file")
            start = time.monotonic()
            work.whole()
            result.undisturbed_s = time.monotonic() - start
            progress(f"undisturbed: {seconds(result.undisturbed_s)}")
            while result.kills < bench.kills:
                work.reset()
                writing = result.kills % 4 == 3
                if not work.killed(rng.uniform(0, result.undisturbed_s), writing, alone=rng.random() < 0.5):
                    continue  # it was quicker
                result.kills += 1
                result.writing += writing
                work.judge()
                if result.kills % bench.between == 0 or result.kills == bench.kills:
                    work.whole()
                    work.look()
                    progress(
                        f"{count(result.kills, 'kill')}: {result.old} old files, {result.new} new ones, "
                        f"{count(len(result.problems), 'problem')}"
                    )
        except KeyboardInterrupt:
            result.interrupted = True
    result.seconds = time.monotonic() - began
    return result


class _Work:
    """A folder with one C file, a database, a cache and a folder for temporary files."""

    def __init__(self, bench: InterruptedBench, folder: Path, result: InterruptedResult) -> None:
        self.bench, self.folder, self.result = bench, folder, result
        self.source, self.database = folder / "work" / "program.c", folder / "data" / "db.duckdb"
        self.temporary, self.cache, self.trial = folder / "tmp", folder / "cache", folder / "trial"
        for path in (self.source.parent, self.database.parent, self.temporary, self.cache, self.trial):
            path.mkdir()
        self.log = folder / "log"
        self.known: set[bytes] = set()  # tuned texts that were tried and are right
        self.mark = uuid.uuid4().hex
        self.reset()
        self.expected = self._output(bench.content)

    def reset(self) -> None:
        self.source.write_bytes(self.bench.content)

    def whole(self, more: tuple[str, ...] = ()) -> None:
        """One run to its end. Raises EnvironmentMissing where it fails or does not end."""
        self.reset()
        self.result.whole_runs += 1
        limit_s = _PATIENCE * self.result.undisturbed_s or 600.0
        with self._running(more) as process:
            try:
                code = process.wait(limit_s)
            except subprocess.TimeoutExpired:
                code = None
        if code != 0:
            lines = self.log.read_text(errors="replace").splitlines()
            how = f"ended with exit code {code}" if code is not None else f"did not end within {limit_s:.0f} s"
            raise EnvironmentMissing(f"tune {how}", "\n".join(lines[-3:]))

    def killed(self, delay_s: float, writing: bool, alone: bool) -> bool:
        """Kills it `delay_s` after its start, or when it writes its result; False where it had ended before."""
        with self._running() as process:
            if writing:
                while process.poll() is None and self._untouched():
                    time.sleep(_POLL_S)
            else:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(delay_s)
            if process.poll() is not None:
                return False
            if alone:
                process.send_signal(signal.SIGKILL)
                process.wait()
                self.result.alone += 1
                self._await_descendants()
            else:
                kill_tree(process.pid)
        return True

    def judge(self) -> None:
        """Looks at the file after a kill."""
        state = self.state()
        if state == "old":
            self.result.old += 1
        elif state == "new":
            self.result.new += 1
        else:
            self._problem(f"the file is neither the old nor a new one: {state}")

    def state(self) -> str:
        """old, new, or what is wrong with the file."""
        text = self.source.read_bytes()
        if text == self.bench.content:
            return "old"
        if text not in self.known:
            output = self._output(text)
            if output != self.expected:
                return output.decode(errors="replace").replace(f"{self.folder}/", "")[:200] or "it is empty"
            self.known.add(text)
        return "new"

    def look(self) -> None:
        """After a run that was let end: nothing is left of those before it."""
        left = [str(path.relative_to(self.folder)) for path in self.temporary.iterdir()]
        left += [str(p.relative_to(self.folder)) for p in self.source.parent.iterdir() if p != self.source]
        left += [str(p.relative_to(self.folder)) for p in self.cache.rglob("*") if p.name.startswith(".")]
        if left:
            self._problem(f"left behind: {', '.join(left[:5])}")
        for problem in inconsistencies(self.database):
            self._problem(f"database: {problem}")

    def _untouched(self) -> bool:
        names = os.listdir(self.source.parent)
        return len(names) == 1 and self.source.stat().st_size == len(self.bench.content)

    @contextlib.contextmanager
    def _running(self, more: tuple[str, ...] = ()) -> Iterator[subprocess.Popen[bytes]]:
        command = [*_COMMAND, str(self.source), "--in-place", *self.bench.arguments, *more, "--db", str(self.database)]
        environment = {
            **self.bench.environment,
            _MARK: self.mark,
            VARIABLE: str(self.temporary),
            "TMPDIR": str(self.temporary),
            "XDG_CACHE_HOME": str(self.cache),
        }
        with open(self.log, "ab") as log:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True
            )
            try:
                yield process
            finally:
                if process.poll() is None:
                    kill_tree(process.pid)
                process.wait()

    def _await_descendants(self) -> None:
        began = time.monotonic()
        while living := self._marked():
            if time.monotonic() - began > _WAIT_S:
                self._problem(f"survived the command: {', '.join(map(str, living))}")
                for pid in living:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                return
            time.sleep(0.01)
        self.result.slowest_end_s = max(self.result.slowest_end_s, time.monotonic() - began)

    def _marked(self) -> list[int]:
        """Processes that one of ours started."""
        found, mark = [], f"{_MARK}={self.mark}".encode()
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                with contextlib.suppress(OSError):
                    if mark in Path("/proc", entry, "environ").read_bytes():
                        found.append(int(entry))
        return found

    def _output(self, text: bytes) -> bytes:
        """What a program prints, or the compiler's message."""
        source, executable = self.trial / "program.c", self.trial / "program"
        source.write_bytes(text)
        environment = {**self.bench.environment, "TMPDIR": str(self.trial)}
        limits, build = Limits(wall_s=120.0, memory_bytes=16 << 30), (*self.bench.build, str(source), "-o")
        try:
            built = run_contained((*build, str(executable), "-lm"), limits=limits, env=environment, cwd=self.trial)
            if not built.ok:
                return built.stderr
            return run_contained((str(executable),), limits=limits, env=environment, cwd=self.trial).stdout
        except NotExecutable as problem:
            raise EnvironmentMissing(str(problem), "perfembed doctor says what is missing") from None

    def _problem(self, text: str) -> None:
        self.result.problems.append(f"kill {self.result.kills}: {text}")
