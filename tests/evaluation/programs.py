"""Whole programs as people write them, tuned as a user would: what is seen of their hot time, and what it gains.

Each folder has a Makefile (`make`, `make OPENMP=`) and a `program.toml`. The tuned program is measured in turns with
the user's own, with its OpenMP and without, at the same threads.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from perfembed.capture.compared import alike
from perfembed.errors import EnvironmentMissing, UsageError
from profilers.contained.scratch import scratch_folder
from profilers.machine import describe_machine

_BUILD_S, _TUNE_S = 120.0, 600.0
_COMMAND = "from perfembed.cli.main import run; run()"
_NAME = re.compile(r"'[^']*'")
SEQUENTIAL, OPENMP, TUNED = "sequential", "openmp", "tuned"


@dataclass(frozen=True, slots=True)
class ProgramsBench:
    """`folders` of programs; `small`: with the arguments for a fraction of a second, else for some."""

    folders: tuple[Path, ...]
    threads: int
    budget_s: float = 60.0
    runs: int = 3
    small: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class ProgramScore:
    """`seconds`: of each form, the runs. `seen`, `tuned`: shares of the program's time in nests that were read, and in
    nests that were made faster. `refused`: loops by reason. `output`: whether the tuned program prints the same.
    """

    name: str
    about: str = ""
    lines: int = 0
    files: int = 0
    seconds: dict[str, list[float]] = field(default_factory=dict)
    seen: float = 0.0
    tuned: float = 0.0
    nests: int = 0
    nests_tuned: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    kept: dict[str, int] = field(default_factory=dict)
    output: bool | None = None
    tuning_s: float = 0.0
    problem: str = ""
    date: str = ""
    machine: str = ""

    def best(self, form: str) -> float:
        return min(self.seconds.get(form, ()), default=math.nan)

    @property
    def spread(self) -> float:
        """How much longer than the fastest run of a form the slowest one took, of the form where that is most."""
        return max((max(runs) / min(runs) - 1 for runs in self.seconds.values() if runs), default=math.nan)

    def gain(self, over: str) -> float:
        return self.best(over) / self.best(TUNED)


@dataclass(slots=True)
class ProgramsResult:
    bench: ProgramsBench
    scores: list[ProgramScore] = field(default_factory=list)
    interrupted: bool = False

    def mean_gain(self, over: str) -> float:
        """Geometric; of the programs whose tuned form prints the same."""
        gains = [s.gain(over) for s in self.scores if s.output and not math.isnan(s.gain(over))]
        return math.exp(statistics.fmean(map(math.log, gains))) if gains else math.nan


def run_programs(
    bench: ProgramsBench, known: Mapping[str, ProgramScore], done: Callable[[ProgramScore], None]
) -> ProgramsResult:
    """One program after the other; those `known` are not measured again. Raises UsageError, EnvironmentMissing."""
    result = ProgramsResult(bench)
    if shutil.which("make", path=bench.environment.get("PATH")) is None:
        raise EnvironmentMissing("there is no make", "the programs are built with it")
    try:
        for folder in bench.folders:
            score = known.get(folder.name)
            if score is None:
                score = _measured(folder, bench)
                done(score)
            result.scores.append(score)
    except KeyboardInterrupt:
        result.interrupted = True
    return result


def read_scores(path: Path) -> dict[str, ProgramScore]:
    """Finished programs of an earlier run. Raises UsageError."""
    if not path.exists():
        return {}
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return {row["name"]: ProgramScore(**row) for row in rows}
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(f"{path}: not a file of this command ({error})") from None


def append_score(path: Path, score: ProgramScore) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(score)) + "\n")


def _measured(folder: Path, bench: ProgramsBench) -> ProgramScore:
    try:
        about = tomllib.loads((folder / "program.toml").read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{folder}: {error}") from None
    sources = [p for p in folder.rglob("*") if p.suffix in (".c", ".h")]
    score = ProgramScore(
        folder.name,
        about.get("about", ""),
        sum(len(p.read_text(encoding="utf-8", errors="replace").splitlines()) for p in sources),
        len(sources),
        date=datetime.now(UTC).date().isoformat(),
        machine=describe_machine().cpu_model,
    )
    with scratch_folder() as scratch:
        try:
            _Program(folder, about, bench, scratch, score).run()
        except (subprocess.SubprocessError, OSError, ValueError) as error:
            score.problem = str(error).splitlines()[0]
    return score


class _Program:
    """One program in copies of its folder."""

    def __init__(
        self, folder: Path, about: Mapping[str, Any], bench: ProgramsBench, scratch: Path, score: ProgramScore
    ) -> None:
        self.folder, self.bench, self.scratch, self.score = folder, bench, scratch, score
        self.arguments: Sequence[str] = about["small_args" if bench.small else "args"]
        self.stdin: str | None = about.get("stdin")
        self.tolerance = float(about.get("tolerance", 0.0))
        self.environment = {**bench.environment, "OMP_NUM_THREADS": str(bench.threads)}

    def run(self) -> None:
        places = {form: self.copy(form) for form in (SEQUENTIAL, OPENMP, TUNED)}
        self.tune(places[TUNED])
        self.build(places[SEQUENTIAL], "OPENMP=")
        self.build(places[OPENMP])
        self.build(places[TUNED])
        printed: dict[str, bytes] = {}
        for number in range(self.bench.runs):
            order = list(places) if number % 2 else list(reversed(places))
            for form in order:
                began = time.monotonic()
                printed[form] = self.execute(places[form])
                self.score.seconds.setdefault(form, []).append(time.monotonic() - began)
        self.score.output = alike(printed[OPENMP], printed[TUNED], self.tolerance)

    def copy(self, form: str) -> Path:
        place = self.scratch / form
        shutil.copytree(self.folder, place)
        self.make(place, "clean")
        return place

    def make(self, place: Path, *arguments: str) -> None:
        """Raises OSError, SubprocessError."""
        subprocess.run(
            ["make", *arguments], cwd=place, env=self.environment, check=True, capture_output=True, timeout=_BUILD_S
        )

    def build(self, place: Path, *arguments: str) -> None:
        self.make(place, "clean")
        self.make(place, self.target, *arguments)

    @property
    def target(self) -> str:
        return self.folder.name

    def execute(self, place: Path) -> bytes:
        with open(place / self.stdin if self.stdin else os.devnull, "rb") as stdin:
            finished = subprocess.run(
                [f"./{self.target}", *self.arguments],
                cwd=place, env=self.environment, stdin=stdin, capture_output=True, timeout=_TUNE_S, check=True,
            )  # fmt: skip
        return finished.stdout

    def tune(self, place: Path) -> None:
        """As a user does, in place. Raises ValueError where it fails."""
        options = ["--in-place", "--build", f"make {self.target}", "--budget", f"{self.bench.budget_s:g}s"]
        options += ["--run", " ".join([f"./{self.target}", *self.arguments]), "--threads", str(self.bench.threads)]
        options += ["--no-db", "--json", "-q"]
        options += ["--tolerance", f"{self.tolerance:g}"] if self.tolerance else []
        options += ["--stdin", self.stdin] if self.stdin else []
        own = Path(__file__).resolve().parent.parent.parent
        environment = {**self.environment, "PYTHONPATH": str(own)}
        finished = subprocess.run(
            [sys.executable, "-c", _COMMAND, "tune", "-", *options],
            cwd=place, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TUNE_S, check=False,
        )  # fmt: skip
        try:
            said = json.loads(finished.stdout)
        except ValueError:
            last = finished.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
            raise ValueError(f"tune: exit code {finished.returncode}: {last[0]}") from None
        if "nests" not in said:
            raise ValueError(f"tune: {said.get('message', said)}")
        self.note(said)

    def note(self, said: Mapping[str, Any]) -> None:
        score = self.score
        score.tuning_s = said["seconds"]
        nests = [nest for nest in said["nests"] if nest["status"] != "refused"]
        score.nests = len(nests)
        score.nests_tuned = sum(nest["status"] == "tuned" for nest in nests)
        score.seen = min(1.0, sum(map(_share, nests)))
        score.tuned = min(1.0, sum(_share(nest) for nest in nests if nest["status"] == "tuned"))
        refused = (nest for nest in said["nests"] if nest["status"] == "refused")
        score.refused = dict(Counter(_kind(nest["reason"]) for nest in refused))
        kept = (nest for nest in nests if nest["status"] != "tuned" and (nest["share"] or 0.0) >= 0.05)
        score.kept = dict(Counter(_kind(nest["reason"]) for nest in kept))


def _share(nest: Mapping[str, Any]) -> float:
    """Of the program's time, without what is another nest's."""
    return float((nest["share"] or 0.0) - nest["inside"])


def _kind(reason: str) -> str:
    """A reason without names and numbers."""
    return re.sub(r"\d[\d.]*", "N", _NAME.sub("'…'", reason.partition(" (")[0]))
