"""What the database keeps: one frozen record a row. Ids are computed from what they identify, by one function each.

A record checks itself when it is made and raises RecordError; text from elsewhere comes in through `parse`.
Seconds are seconds, `sizes` is canonical JSON (`optdb.codec.object_text`) from parameter to value.
Long, because it has one record beside the other.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, ClassVar

from optdb.codec import digest, encode, from_document, is_object, object_text, parse, to_document
from optdb.errors import RecordError
from profilers.contained.errors import ProfilersError
from profilers.machine import Machine
from profilers.outcome import BuildFailed, Crashed, Outcome, Stopped, Timed, TimedOut, WrongResult
from profilers.profile import Profile
from scheduler.errors import SchedulerError
from scheduler.schedule import format_schedule, parse_schedule

OUTCOMES = ("timed", "stopped", "build_failed", "crashed", "timed_out", "wrong_result")
MEASUREMENTS = ("search", "confirm", "transfer")
INPUTS = ("captured", "randomized")
ORIGINS = ("file", "generated")
PROFILE_SOURCES = ("likwid", "perf", "simulated", "recorded")
_MAX_MESSAGE = 4000
_FIGURES = ("speedup_low", "speedup_high", "noise", "other_load", "tolerance", "measured_at", "donor_distance")
_HEX = re.compile(r"[0-9a-f]{16}(?:[0-9a-f]{16}|[0-9a-f]{48})?")


def _require(condition: object, message: str) -> None:
    if not condition:
        raise RecordError(message)


def _finite(record: object, names: tuple[str, ...]) -> None:
    for name in names:
        value = getattr(record, name)
        if value is not None and not math.isfinite(value):
            raise RecordError(f"{name} {value} is not finite")


def _ids(*values: str) -> None:
    for value in values:
        if not _HEX.fullmatch(value):
            raise RecordError(f"{value!r:.80} is no id: 16, 32 or 64 hex digits")


def _word(value: str, words: tuple[str, ...]) -> None:
    _require(value in words, f"{value!r:.80} is none of {', '.join(words)}")


@dataclass(frozen=True, slots=True)
class MachineRecord:
    """A machine as measurements depend on it; `machine` is its fingerprint, `caches` JSON."""

    KIND: ClassVar[str] = "machine"
    KEY: ClassVar[str] = "machine"
    machine: str
    cpu_model: str
    vendor: str
    architecture: str
    flags: tuple[str, ...]
    physical_cores: int
    logical_cores: int
    caches: str
    memory_bytes: int

    def __post_init__(self) -> None:
        _ids(self.machine)
        _require(self.physical_cores > 0 and self.logical_cores > 0, "a machine without cores")

    @staticmethod
    def of(machine: Machine) -> MachineRecord:
        """The record of a described machine."""
        return MachineRecord(
            machine.fingerprint,
            machine.cpu_model,
            machine.vendor,
            machine.architecture,
            machine.flags,
            machine.physical_cores,
            machine.logical_cores,
            encode([asdict(cache) for cache in machine.caches]),
            machine.memory_bytes,
        )


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """Where nests come from. `algorithm` is what must not be on both sides of an evaluation."""

    KIND: ClassVar[str] = "source"
    KEY: ClassVar[str] = "source_id"
    source_id: str  # SHA-256 of the text
    origin: str  # one of ORIGINS
    place: str  # path, or what makes the generator write it again
    algorithm: str

    def __post_init__(self) -> None:
        _ids(self.source_id)
        _word(self.origin, ORIGINS)
        _require(self.algorithm, "a source without an algorithm")

    @staticmethod
    def of(text: str, origin: str, place: str, algorithm: str) -> SourceRecord:
        """The record of a C file's or a generated program's text."""
        return SourceRecord(hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest(), origin, place, algorithm)


@dataclass(frozen=True, slots=True)
class NestRecord:
    """A nest as found in a source; the same nest (equal but for names) in two sources is one nest, found twice."""

    KIND: ClassVar[str] = "nest"
    KEY: ClassVar[str] = "nest_id"
    nest_id: str  # LoopNest.nest_id
    normalized_id: str  # nest_id after normalization
    source_id: str
    name: str
    function: str | None
    text: str  # scheduler.ir.text; the loop names that schedules of this nest use
    c_text: str
    features: str  # canonical JSON

    def __post_init__(self) -> None:
        _ids(self.nest_id, self.normalized_id, self.source_id)
        _require(self.text, "a nest without text")
        _require(is_object(self.features), "features are a canonical JSON object")


@dataclass(frozen=True, slots=True)
class ConditionsRecord:
    """Everything a measurement depends on but nest and schedule. Rows that differ in any of it are never mixed."""

    KIND: ClassVar[str] = "conditions"
    KEY: ClassVar[str] = "conditions_id"
    machine: str
    compiler: str
    compiler_version: str
    flags: tuple[str, ...]
    threads: int
    sizes: str
    element_type: str
    reassociated: bool  # schedules may be legal only because sums may be reordered

    def __post_init__(self) -> None:
        _ids(self.machine)
        _require(self.threads > 0, f"{self.threads} threads")
        _require(is_object(self.sizes, int), f"sizes {self.sizes!r:.80} are no canonical JSON object of integers")

    @property
    def conditions_id(self) -> str:
        return digest(
            self.machine,
            self.compiler,
            self.compiler_version,
            self.flags,
            self.threads,
            self.sizes,
            self.element_type,
            self.reassociated,
        )


@dataclass(frozen=True, slots=True)
class ScheduleRecord:
    """A schedule of a nest in its text form; parsed strictly, so what is stored replays or is refused."""

    KIND: ClassVar[str] = "schedule"
    KEY: ClassVar[str] = "schedule_id"
    nest_id: str
    text: str

    def __post_init__(self) -> None:
        _ids(self.nest_id)
        _check_schedule(self.text)

    @property
    def schedule_id(self) -> str:
        return digest(self.nest_id, self.text)


@lru_cache(maxsize=4096)
def _check_schedule(text: str) -> None:
    try:
        canonical = format_schedule(parse_schedule(text))
    except (SchedulerError, RecursionError) as problem:
        raise RecordError(f"not a schedule: {problem}") from None
    _require(canonical == text, f"schedule {text!r:.200} is not in its canonical form")


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One search or tuning. Stored twice: when it starts, and with `ended_at` when it ends (seconds since 1970)."""

    KIND: ClassVar[str] = "run"
    KEY: ClassVar[str] = "run_id"
    run_id: str
    seed: int
    search: str
    budget_s: float
    versions: str  # canonical JSON: package to version
    command: str
    started_at: float
    ended_at: float | None = None

    def __post_init__(self) -> None:
        _ids(self.run_id)
        _require(is_object(self.versions, str), "versions are a canonical JSON object of texts")
        _finite(self, ("budget_s", "started_at", "ended_at"))
        _require(self.budget_s >= 0, "a negative budget")


@dataclass(frozen=True, slots=True)
class MeasurementRecord:
    """One candidate measured (or tried to be). `samples`: seconds of each repetition, empty for a failure.

    `baseline`: the original's samples next to which it was measured. `speedup_low` and `speedup_high`: the
    confidence interval of an interleaved comparison. `verified`: the output agreed on all `verified_on`.
    `evaluation` counts the candidates of a run and nest in the order they were measured, from 0.
    """

    KIND: ClassVar[str] = "measurement"
    KEY: ClassVar[str] = "measurement_id"
    schedule_id: str
    nest_id: str
    conditions_id: str
    run_id: str
    kind: str  # one of MEASUREMENTS
    seed: int
    repetition: int
    evaluation: int
    outcome: str  # one of OUTCOMES
    message: str
    samples: tuple[float, ...]
    baseline: tuple[float, ...]
    speedup_low: float | None
    speedup_high: float | None
    verified: bool
    verified_on: tuple[str, ...]  # of INPUTS
    verify_seeds: tuple[int, ...]
    tolerance: float  # largest relative difference allowed; 0 is bit for bit
    noise: float | None  # coefficient of variation of the samples' rounds
    other_load: float | None  # cores that others used meanwhile
    measured_at: float
    donor_nest_id: str | None = None
    donor_distance: float | None = None

    def __post_init__(self) -> None:
        _ids(self.schedule_id, self.nest_id, self.conditions_id, self.run_id)
        _word(self.kind, MEASUREMENTS)
        _word(self.outcome, OUTCOMES)
        for word in self.verified_on:
            _word(word, INPUTS)
        _require(
            bool(self.samples) == (self.outcome == "timed"), f"outcome {self.outcome}: {len(self.samples)} samples"
        )
        times = self.samples + self.baseline
        if times and not (min(times) > 0 and max(times) < 1e9 and math.isfinite(sum(times))):  # NaN escapes min and max
            raise RecordError("samples are seconds above 0")
        _finite(self, _FIGURES)
        _require(self.verified_on or not self.verified, "verified on no input")
        _require(not (self.verified and self.outcome != "timed"), f"verified, but {self.outcome}")
        _require(len(self.message) <= _MAX_MESSAGE, f"a message of {len(self.message)} characters")
        if self.donor_nest_id is not None:
            _ids(self.donor_nest_id)

    @property
    def measurement_id(self) -> str:
        return measurement_id(self.schedule_id, self.conditions_id, self.kind, self.seed, self.repetition)


def measurement_id(schedule_id: str, conditions_id: str, kind: str, seed: int, repetition: int) -> str:
    """What makes two measurements the same one, so that a resumed search does not store or repeat it."""
    return digest(schedule_id, conditions_id, kind, seed, repetition, length=32)


@dataclass(frozen=True, slots=True)
class ProfileRecord:
    """A profile of a nest in its canonical schedule; `document` is `Profile.to_json`."""

    KIND: ClassVar[str] = "profile"
    KEY: ClassVar[str] = "profile_id"
    nest_id: str
    conditions_id: str
    source: str  # one of PROFILE_SOURCES
    document: str

    def __post_init__(self) -> None:
        _ids(self.nest_id, self.conditions_id)
        _word(self.source, PROFILE_SOURCES)
        try:
            Profile.from_json(self.document)
        except (ProfilersError, RecursionError) as problem:
            raise RecordError(str(problem)) from None

    @property
    def profile_id(self) -> str:
        return digest(self.nest_id, self.conditions_id, self.source, self.document)


@dataclass(frozen=True, slots=True)
class EmbeddingRecord:
    """A nest's vector under one model; `profile_id` None: of its graph alone."""

    KIND: ClassVar[str] = "embedding"
    KEY: ClassVar[str] = "embedding_id"
    nest_id: str
    model_id: str
    profile_id: str | None
    vector: tuple[float, ...]

    def __post_init__(self) -> None:
        _ids(self.nest_id, *([self.profile_id] if self.profile_id else []))
        _require(self.model_id and self.vector, "an embedding without a model or of dimension 0")
        _require(all(map(math.isfinite, self.vector)), "an embedding that is not finite")

    @property
    def embedding_id(self) -> str:
        return digest(self.nest_id, self.model_id, self.profile_id)


Record = (
    MachineRecord
    | SourceRecord
    | NestRecord
    | ConditionsRecord
    | ScheduleRecord
    | RunRecord
    | MeasurementRecord
    | ProfileRecord
    | EmbeddingRecord
)

RECORDS: dict[str, type[Record]] = {
    cls.KIND: cls
    for cls in (
        MachineRecord,
        SourceRecord,
        NestRecord,
        ConditionsRecord,
        ScheduleRecord,
        RunRecord,
        MeasurementRecord,
        ProfileRecord,
        EmbeddingRecord,
    )
}


def format_record(record: Record) -> str:
    """One line of JSON; `parse_record` gives an equal record back."""
    return encode(to_document(record))


def parse_record(kind: str, text: str | bytes) -> Record:
    """A record of a kind in `RECORDS` from its JSON. Raises RecordError on anything `format_record` would not write."""
    if kind not in RECORDS:
        raise RecordError(f"{kind!r:.40} is no kind of record: {', '.join(RECORDS)}")
    try:
        document = parse(text if isinstance(text, str) else text.decode())
    except (ValueError, RecursionError) as problem:
        raise RecordError(f"not JSON: {problem}") from None
    record: Record = from_document(RECORDS[kind], document)
    return record


def sizes_text(sizes: Mapping[str, int]) -> str:
    """Parameter values as `ConditionsRecord.sizes` wants them."""
    return object_text(sizes)


def describe_outcome(outcome: Outcome) -> tuple[str, str, tuple[float, ...]]:
    """(word of OUTCOMES, message, samples) of what the profilers report. Raises RecordError for a mere `Verified`."""
    words: dict[type[Any], str] = {
        Timed: "timed",
        Stopped: "stopped",
        BuildFailed: "build_failed",
        Crashed: "crashed",
        TimedOut: "timed_out",
        WrongResult: "wrong_result",
    }
    if type(outcome) not in words:
        raise RecordError("only outcomes of measurements are stored")
    word = words[type(outcome)]
    if isinstance(outcome, Timed):
        return word, "", outcome.samples_s
    if isinstance(outcome, Stopped):
        return word, f"given up after {outcome.after_s:g} s", ()
    if isinstance(outcome, TimedOut):
        return word, f"not done after {outcome.limit_s:g} s", ()
    message = f"{outcome.signal_or_code}: {outcome.message}" if isinstance(outcome, Crashed) else ""
    return word, (message or getattr(outcome, "message", ""))[:_MAX_MESSAGE].replace("\0", ""), ()
