"""The C programs a database is filled from, files and those of the generator, and what is told while it is filled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from optdb.ingest import IngestReport
from optdb.records import SourceRecord
from perfembed.files import read_input
from perfembed.learning.cost_models import part_of
from perfembed.tuning.options import Evaluate
from scheduler.errors import SchedulerError
from scheduler.generator.programs import PATTERNS, GeneratorSettings, generate

# Runs of about 0.5 to 100 ms: shorter ones tell of the start of threads only, longer ones cost too many others.
SETTINGS = GeneratorSettings(least_work=1e6, most_work=3e7)


@dataclass(frozen=True, slots=True)
class Program:
    """A C file, or a generated program where `number` is not None; read or written when it is needed."""

    path: str
    algorithm: str
    seed: int = 0
    number: int | None = None
    settings: GeneratorSettings = SETTINGS
    text: bytes | None = None  # of a file that was read already

    def content(self) -> bytes:
        """The C text. Raises PerfembedError where a file cannot be read, SchedulerError where none is generated."""
        if self.number is not None:
            return _generated(self, self.number)[0]
        return read_input(self.path) if self.text is None else self.text

    def sizes(self) -> dict[str, int]:
        """The values that a generated program's kernel may get as arguments. Raises SchedulerError as `content`."""
        return {} if self.number is None else dict(generate(self.seed, self.number, self.settings).sizes)

    def read(self) -> Program:
        """With its text, where it is a file. Raises PerfembedError."""
        return self if self.number is not None else replace(self, text=self.content())


def programs_of(
    files: Sequence[str], generated: int, seed: int, settings: GeneratorSettings = SETTINGS, held_out: bool = False
) -> tuple[Program, ...]:
    """Files first, then `generated` programs of the generator with that seed.

    `held_out`: of these only what no cost model is trained on; without those that cannot be generated.
    """
    listed = [Program(path, Path(path).stem) for path in files]
    made = [Program(f"gen_{seed}_{number}.c", "generated", seed, number, settings) for number in range(generated)]
    if held_out:
        made = [program for program in made if _is_held_out(program)]
    return (*listed, *made)


def _is_held_out(program: Program) -> bool:
    try:
        return part_of(_generated(program, program.number or 0)[1]) == "test"
    except SchedulerError:
        return False


def source_record(program: Program, content: bytes) -> SourceRecord:
    """The record of a program with that text."""
    text = content.decode(errors="surrogateescape")
    if program.number is None:
        return SourceRecord.of(text, "file", program.path, program.algorithm)
    patterns = _generated(program, program.number)[1]
    return SourceRecord.of(text, "generated", place_of(program.seed, program.number, program.settings), patterns)


def place_of(seed: int, number: int, settings: GeneratorSettings) -> str:
    """What makes the generator write a program again."""
    place = f"seed {seed} number {number}"
    if settings.nests != SETTINGS.nests:
        place += f" nests {settings.nests}"
    if (settings.least_work, settings.most_work) != (SETTINGS.least_work, SETTINGS.most_work):
        place += f" work {settings.least_work:g} to {settings.most_work:g}"
    left_out = {name for name, weight in settings.weights if not weight}
    if left_out:
        place += f" only {' '.join(p.name for p in PATTERNS if p.name not in left_out)}"
    return place


def _generated(program: Program, number: int) -> tuple[bytes, str]:
    """(C text, the patterns it combines)."""
    made = generate(program.seed, number, program.settings)
    return made.source.encode(), "+".join(made.patterns)


NEST_BUDGET_S = 300.0


@dataclass(frozen=True, slots=True)
class PopulateOptions:
    """`shard` (i, n): only every n-th program, from the i-th on; i counts from 1. `budget_s` is for all of them,
    `nest_budget_s` for each nest."""

    database: Path
    search: str = "random"
    schedules: int = 32  # measured for each nest
    seed: int = 0
    budget_s: float = 1800.0
    nest_budget_s: float = NEST_BUDGET_S
    shard: tuple[int, int] = (1, 1)
    cc: str = "gcc"
    cflags: tuple[str, ...] = ("-O3", "-march=native")
    threads: int = 1
    reassociate: bool = False
    drawn: float = 0.0  # `Effort.drawn`
    refine: bool = False  # `Effort.refine`
    all_nests: bool = False  # of files, those that hardly take time, too
    environment: tuple[tuple[str, str], ...] = ()
    command: str = "populate"
    evaluate: Evaluate = "run"
    weights: str | None = None  # folder of cost models of one's own


@dataclass(frozen=True, slots=True)
class Place:
    """What the id of a run takes from where it runs."""

    machine: str  # fingerprint
    compiler: str  # version


@dataclass(frozen=True, slots=True)
class Plan:
    """What there is to do: `waiting` of the `total` programs, the rest is done."""

    waiting: tuple[Program, ...]
    total: int


@dataclass(frozen=True, slots=True)
class ProgramStarted:
    program: Program
    position: int
    total: int


@dataclass(frozen=True, slots=True)
class NestSearched:
    """`labels`: candidates with an outcome, known ones included, `drawn` of them at random from all that is legal;
    `best`: original time / best time."""

    program: Program
    nest: str
    labels: int
    best: float | None
    reason: str
    drawn: int = 0


@dataclass(frozen=True, slots=True)
class ProgramSkipped:
    """`again`: for lack of time or of something on this machine; it is not done, but waits for another run."""

    program: Program
    reason: str
    again: bool = False


@dataclass(frozen=True, slots=True)
class ProgramDone:
    program: Program


@dataclass(frozen=True, slots=True)
class Stored:
    """`problem`: the records wait in the spool, for this reason."""

    report: IngestReport | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Told:
    """What else is worth telling, such as whom it waits for."""

    text: str


PopulateEvent = ProgramStarted | NestSearched | ProgramSkipped | ProgramDone | Stored | Told


@dataclass(slots=True)
class PopulateResult:
    """`complete`: no program is waiting any more. `unread`: of those `skipped`, the ones that wait for another run."""

    programs: int = 0
    skipped: int = 0
    nests: int = 0
    labels: int = 0
    drawn: int = 0
    lost: int = 0
    seconds: float = 0.0
    complete: bool = False
    interrupted: bool = False
    unread: int = 0

    def counting(self, progress: Callable[[PopulateEvent], None]) -> Callable[[PopulateEvent], None]:
        """Counts what it hands on."""

        def count(event: PopulateEvent) -> None:
            if isinstance(event, NestSearched):
                self.nests += 1
                self.labels += event.labels
                self.drawn += event.drawn
            elif isinstance(event, ProgramSkipped | ProgramDone):
                self.programs += 1
                self.skipped += isinstance(event, ProgramSkipped)
                self.unread += isinstance(event, ProgramSkipped) and event.again
            progress(event)

        return count
