"""The ledger of a nest that keeps everything in the optimization database, and finds there what is known already.

Nests and schedules are stored under canonical names, so that the same nest is recognized in any file.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from optdb.database import Database
from optdb.errors import OptdbError, RecordError
from optdb.queries import exact_hit, measured, schedule_texts
from optdb.records import (
    ConditionsRecord,
    MeasurementRecord,
    ScheduleRecord,
    describe_outcome,
    measurement_id,
)
from perfembed.measuring.checking import TOLERANCE
from perfembed.measuring.ledger import DonorOf
from perfembed.measuring.measurer import Checked, Measured
from perfembed.measuring.store import Store, nest_record
from profilers.outcome import BuildFailed, Crashed, Outcome, Stopped, Timed, TimedOut, WrongResult
from profilers.timing import Comparison, coefficient_of_variation
from scheduler.errors import SchedulerError
from scheduler.identity import CanonicalNest, canonical_nest, carry_over, in_names_of
from scheduler.ir.nest import LoopNest
from scheduler.ir.text import nest_id
from scheduler.replay import Replayer
from scheduler.schedule import Schedule, format_schedule

_MAX_SAMPLES = 200


_SECONDS = re.compile(r"after ([0-9.e+-]+) s")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a nest comes from and under which conditions it is measured; `conditions` are those of the database."""

    nest: LoopNest
    source_id: str
    conditions: ConditionsRecord


@dataclass(slots=True)
class DatabaseLedger:
    """The ledger (`perfembed.measuring.ledger`) of one nest in a database.

    With `resume`, what an earlier run of the same seed measured is not measured again; otherwise it is kept beside.
    """

    store: Store
    origin: Origin
    resume: bool
    _canonical: CanonicalNest | None = None
    _here: Replayer | None = None  # of the nest as it is searched
    _there: Replayer | None = None  # of the canonical one
    _baseline: tuple[float, ...] = ()
    _texts: dict[Schedule, str | None] = field(default_factory=dict)
    _stored: dict[str, MeasurementRecord] = field(default_factory=dict)
    _promising: tuple[Schedule, ...] = ()
    _donors: dict[Schedule, DonorOf] = field(default_factory=dict)
    _evaluation: int = 0

    def begin(self, replayer: Replayer, baseline: Timed) -> None:
        self._here = replayer
        self._baseline = baseline.samples_s[:_MAX_SAMPLES]
        try:
            self._canonical = canonical_nest(self.origin.nest)
            self._there = Replayer(self._canonical.nest, self.origin.conditions.reassociated)
            self.store.append(
                [self.origin.conditions, nest_record(self.origin.nest, self.origin.source_id, self._there)]
            )
        except (SchedulerError, RecordError):
            self._canonical = None  # a nest the text form cannot hold is not stored
            return
        self._load()

    def promising(self) -> Sequence[Schedule]:
        return self._promising

    def known(self, schedule: Schedule) -> Outcome | None:
        if not self.resume:
            return None
        found = self._stored.get(self._id(schedule, "search", 0) or "")
        return outcome_of(found) if found is not None else None

    def searched(self, schedule: Schedule, measured: Measured, donor: DonorOf | None = None) -> None:
        if donor is not None:
            self._donors[schedule] = donor
        kind = "search" if donor is None else "transfer"
        self._keep(schedule, kind, measured.outcome, self._baseline, other_load=measured.other_load)

    def concluded(self, schedule: Schedule) -> bool | None:
        found = self._stored.get(self._id(schedule, "confirm", 0) or "") if self.resume else None
        return None if found is None else found.verified and (found.speedup_low or 0.0) > 1.0

    def confirmed(self, schedule: Schedule, comparison: Comparison, checked: Checked) -> None:
        outcome = Timed(_spread(comparison.samples_candidate))
        self._keep(
            schedule, "confirm", outcome, _spread(comparison.samples_original), comparison=comparison, checked=checked
        )

    def refuted(self, schedule: Schedule, failure: Outcome) -> None:
        self._keep(schedule, "confirm", failure, self._baseline)

    # ----------------------------------------------------------------------------------------

    def _load(self) -> None:
        """What the database knows of this nest; nothing where there is none.

        Raises OptdbError where others have it open and what is known must not be measured again.
        """
        if not self.store.path.exists():
            return
        conditions = self.origin.conditions
        identity = nest_id(self.origin.nest)
        try:
            with Database.open(self.store.path, read_only=True) as database:
                self._stored = measured(database, identity, conditions.conditions_id, seed=self.store.run.seed)
                texts = schedule_texts(database, identity)
                best = exact_hit(database, identity, conditions)
        except OptdbError:
            if self.resume:
                raise
            return
        self._evaluation = 1 + max((m.evaluation for m in self._stored.values()), default=-1)
        if best is not None and best.schedule_id in texts:
            found = self._translated(texts[best.schedule_id])
            self._promising = () if found is None else (found,)

    def _translated(self, text: str) -> Schedule | None:
        """A stored schedule in this nest's own names; None where it does not fit."""
        assert self._canonical is not None and self._here is not None and self._there is not None
        return in_names_of(text, self._canonical, self._there, self._here)

    def _text(self, schedule: Schedule) -> str | None:
        """The schedule's text under canonical names."""
        if self._canonical is None or self._here is None or self._there is None:
            return None
        if schedule not in self._texts:
            try:
                carried = carry_over(schedule, self._here, self._there, self._canonical.names)
                self._texts[schedule] = format_schedule(carried)
            except SchedulerError:
                self._texts[schedule] = None
        return self._texts[schedule]

    def _id(self, schedule: Schedule, kind: str, repetition: int) -> str | None:
        text = self._text(schedule)
        if text is None:
            return None
        schedule_id = ScheduleRecord(nest_id(self.origin.nest), text).schedule_id
        return measurement_id(schedule_id, self.origin.conditions.conditions_id, kind, self.store.run.seed, repetition)

    def _keep(
        self,
        schedule: Schedule,
        kind: str,
        outcome: Outcome,
        baseline: tuple[float, ...],
        *,
        comparison: Comparison | None = None,
        checked: Checked | None = None,
        other_load: float | None = None,
    ) -> None:
        text = self._text(schedule)
        if text is None:
            return
        donor = self._donors.get(schedule)
        repetition = 0
        while self._id(schedule, kind, repetition) in self._stored:
            repetition += 1
        named = ScheduleRecord(nest_id(self.origin.nest), text)
        word, message, samples = describe_outcome(outcome)
        seeds = tuple(seed for seed in checked.inputs if seed is not None) if checked else ()
        record = MeasurementRecord(
            schedule_id=named.schedule_id,
            nest_id=named.nest_id,
            conditions_id=self.origin.conditions.conditions_id,
            run_id=self.store.run.run_id,
            kind=kind,
            seed=self.store.run.seed,
            repetition=repetition,
            evaluation=self._evaluation,
            outcome=word,
            message=message,
            samples=samples[:_MAX_SAMPLES],
            baseline=baseline,
            speedup_low=_finite(comparison.low) if comparison else None,
            speedup_high=_finite(comparison.high) if comparison else None,
            verified=checked is not None,
            verified_on=(("captured",) + ("randomized",) * bool(seeds)) if checked else (),
            verify_seeds=seeds,
            tolerance=checked.tolerance if checked else TOLERANCE if self.origin.conditions.reassociated else 0.0,
            noise=coefficient_of_variation(samples) if len(samples) > 1 else None,
            other_load=other_load,
            measured_at=time.time(),
            donor_nest_id=donor[0] if donor else None,
            donor_distance=donor[1] if donor else None,
        )
        self._evaluation += 1
        self._stored[record.measurement_id] = record
        self.store.append([named, record])


def outcome_of(record: MeasurementRecord) -> Outcome:
    """What was measured, from the database."""
    match record.outcome:
        case "timed":
            return Timed(record.samples)
        case "stopped":
            found = _SECONDS.search(record.message)
            return Stopped(float(found[1]) if found else 0.0)
        case "timed_out":
            found = _SECONDS.search(record.message)
            return TimedOut(float(found[1]) if found else 0.0)
        case "crashed":
            return Crashed(record.message.partition(":")[0], record.message)
        case "wrong_result":
            return WrongResult("", 0, 0.0, record.message)
        case _:
            return BuildFailed(record.message)


def _finite(value: float) -> float | None:
    """None for the end of an interval that a single round gave."""
    return value if math.isfinite(value) else None


def _spread(samples: tuple[float, ...]) -> tuple[float, ...]:
    """At most `_MAX_SAMPLES` of them, evenly taken, the least among them."""
    if len(samples) <= _MAX_SAMPLES:
        return samples
    step = len(samples) / (_MAX_SAMPLES - 1)
    return (min(samples), *(samples[int(k * step)] for k in range(_MAX_SAMPLES - 1)))
