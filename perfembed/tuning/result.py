"""What tuning tells while it runs, and what it gives back.

Long, because every record of the document stands here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal as OneOf

from perfembed.fuzzing.result import OtherValues
from perfembed.measuring.events import CandidateMeasured
from perfembed.tuning.pictures import Ceilings, NestPicture, TrialReport

Origin = OneOf["transferred", "derived", "computed", "refined", "known"]
Status = OneOf["tuned", "kept", "skipped", "refused"]


@dataclass(frozen=True, slots=True)
class DonorReport:
    """A nest of the database whose schedule was tried. `distance` of the embeddings; `schedule` made it `speedup` x.

    `portfolio`: it is tried at every nest, near or not.
    """

    nest_id: str
    name: str
    place: str  # its file, or the generator's seed and number
    algorithm: str
    distance: float
    speedup: float
    schedule: str  # text form, in the donor's names
    portfolio: bool = False


@dataclass(frozen=True, slots=True)
class MatchReport:
    """Nodes that stood for each other; `distance` of their embeddings, 0 … 1."""

    kind: OneOf["loop", "array", "statement"]
    donor: str
    target: str
    distance: float


@dataclass(frozen=True, slots=True)
class StepReport:
    """What became of a donor's step (`donor` empty: of none); `steps` are those of the target, in text form."""

    action: OneOf["applied", "already", "substituted", "inserted", "skipped"]
    donor: str
    steps: str
    reason: str


@dataclass(frozen=True, slots=True)
class CandidateReport:
    """A transferred schedule that was to be measured, best predicted first.

    `origin`: transferred; derived from the nest itself; computed from the machine's registers and caches; refined
    around the best of these; or known to be good from an earlier run. `cost` says how badly the donor's recipe fits,
    0 … 1. Speedups are over the nest as written; of those `predicted` so 8 of 10 lie in `predicted_range`; `measured`
    None where it failed or the time was up. `given_up`: it was stopped when it was as slow as that. `estimated`: it ran
    with fewer iterations (`NestReport.less_work`). `refines`: the number, from 1, of the candidate whose neighbour a
    refined one is; `steps` and `matches` are that one's. `at_s`: s after the nest was begun when it had been measured.
    """

    schedule: str  # text form
    origin: Origin
    donor: str  # its nest_id; empty where there is none
    parameters: str
    cost: float | None
    predicted: float | None
    measured: float | None
    given_up: bool
    chosen: bool
    refines: int | None = None
    estimated: bool = False
    steps: tuple[StepReport, ...] = ()
    matches: tuple[MatchReport, ...] = ()
    at_s: float | None = None
    predicted_range: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class ProfileReport:
    """The profile that donors were looked for with: `source` says who counted, `reason` why it was taken.

    `problem`: why there is none. `left`: the donors (nest_id, name) that would be among the nearest without it.
    """

    reason: str
    source: str
    seconds: float
    problem: str
    left: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class TransferReport:
    """Where a nest's candidates come from. `pool`: how many there were before the best were taken.

    `failed`: (a donor's nest_id, why nothing could be taken from it). `profile`: of the nest, where it was looked for
    with one.
    """

    donors: tuple[DonorReport, ...]
    candidates: tuple[CandidateReport, ...]
    pool: int
    failed: tuple[tuple[str, str], ...]
    profile: ProfileReport | None = None


@dataclass(frozen=True, slots=True)
class NestReport:
    """What became of one nest, and why.

    `speedup` was decided by its confidence interval `low` … `high`, which is wide where there are few runs; of the
    `runs` of each it is told to lie in `told_low` … `told_high` with a probability of `told_coverage` at least
    (`profilers.timing.Comparison.told`).
    """

    nest: str
    function: str | None
    file: str
    line: int
    column: int
    share: float | None  # of the program's run time, 0 … 1
    status: Status
    reason: str
    schedule: str = ""  # text form
    speedup: float | None = None
    low: float | None = None
    high: float | None = None
    original_s: float | None = None
    tuned_s: float | None = None
    candidates: int = 0  # measured
    illegal: int = 0
    failed: int = 0  # crashed, timed out or did not compile
    wrong: int = 0
    normalization: str = ""  # text form
    checks: tuple[str, ...] = ()  # what was verified
    transfer: TransferReport | None = None
    predicted: int = 0
    notes: tuple[str, ...] = ()  # what went wrong on the way
    given_back: bool = False  # it was tuned, but the whole program did not compile, run or say the same with it
    told_low: float | None = None
    told_high: float | None = None
    told_coverage: float | None = None
    runs: int | None = None
    less_work: str = ""  # which iterations candidates were measured on, where not on all; the winner is run on all
    trials: tuple[TrialReport, ...] = ()  # what was run, in the order of time
    picture: NestPicture | None = None  # where `TuneOptions.pictures`
    inside: float = 0.0  # the part of `share` in which another nest was running, which calls this one's function
    other_values: OtherValues | None = None  # of a winner: runs on others than the captured ones
    given: tuple[str, ...] = ()  # the values that the schedule is for (`l->stride = 1`): others run the original loops
    no_threads: str = ""  # why it must not have any, where something in the program forbids them


@dataclass(frozen=True, slots=True)
class FileResult:
    """A file that was tuned: where it was written (None: nowhere), with so many nests `tuned`.

    `needs`: flags for compiling and linking it that the program's build lacks; without them it runs in one thread.
    """

    path: str
    output_path: str | None
    tuned: int
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TuneResult:
    """The outcome of one run of `tune`; `output_path` is None when nothing was written.

    Of several `files`, `path` and `flags` are those of the first, `output_path` is the first that was written.
    """

    path: str
    output_path: str | None
    nests: tuple[NestReport, ...]
    program_before_s: float | None
    program_after_s: float | None
    program_output_equal: bool | None
    seconds: float
    threads: int
    compiler: str
    flags: tuple[str, ...]
    machine: str
    interrupted: bool
    exit_code: int
    phases: Mapping[str, float] = field(default_factory=dict)  # seconds by what took them (`stopwatch.Phase`)
    date: str = ""  # of the beginning, in UTC, as `datetime.isoformat` writes it
    search: str = ""
    budget_s: float | None = None
    ceilings: Ceilings | None = None  # where `TuneOptions.pictures`; None without a calibration
    tolerance: float = 0.0  # by which numbers in the program's output may have differed, relative
    files: tuple[FileResult, ...] = ()
    program_output_note: str = ""  # how outputs were compared, where that was not word for word (`Outputs.note`)
    unread: tuple[str, ...] = ()  # of files of the program, why time or memory did not suffice to read them


@dataclass(frozen=True, slots=True)
class NestStarted:
    """`position` of `total` nests counts from 1; `budget_s` is what this nest may use."""

    nest: str
    function: str | None
    line: int
    position: int
    total: int
    budget_s: float


@dataclass(frozen=True, slots=True)
class NestFinished:
    report: NestReport


@dataclass(frozen=True, slots=True)
class Message:
    """A step of the run worth telling ("capturing inputs", "verifying the program"); `loud`: even when quiet."""

    text: str
    loud: bool = False


Event = NestStarted | CandidateMeasured | NestFinished | Message
