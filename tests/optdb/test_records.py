"""Records check themselves, and their text form is exact."""

import math
from dataclasses import replace
from typing import Any

import pytest

from optdb.errors import RecordError
from optdb.records import (
    RECORDS,
    EmbeddingRecord,
    MachineRecord,
    NestRecord,
    ProfileRecord,
    Record,
    RunRecord,
    ScheduleRecord,
    SourceRecord,
    describe_outcome,
    format_record,
    measurement_id,
    parse_record,
)
from profilers.machine import describe_machine
from profilers.outcome import BuildFailed, Crashed, Stopped, Timed, TimedOut, Verified, WrongResult
from profilers.profile import Profile
from tests.optdb.support import BASE, MACHINE, measurement, one

SOURCE, NEST, CONDITIONS, RUN = BASE
PROFILE = ProfileRecord(
    NEST.nest_id,
    CONDITIONS.conditions_id,
    "simulated",
    Profile("simulated", MACHINE.machine, 2, 0.5, 64, (("instructions", (1.0, 2.0)),)).to_json(),
)
EVERY: tuple[Record, ...] = (
    MACHINE,
    *BASE,
    *measurement(NEST, CONDITIONS, RUN, 3),
    PROFILE,
    EmbeddingRecord(NEST.nest_id, "model", None, (0.5, -1.0)),
)


def test_there_is_a_record_of_every_kind() -> None:
    assert {type(record) for record in EVERY} == set(RECORDS.values())


@pytest.mark.parametrize("record", EVERY, ids=lambda record: record.KIND)
def test_text_form_is_exact_and_one_ascii_line(record: Record) -> None:
    text = format_record(record)
    assert parse_record(record.KIND, text) == record
    assert text.isascii() and "\n" not in text


def test_this_machine_has_a_record() -> None:
    record = MachineRecord.of(describe_machine())
    assert record.machine == describe_machine().fingerprint
    assert parse_record("machine", format_record(record)) == record


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"outcome": "fine"}, "none of timed"),
        ({"kind": "guess"}, "none of search"),
        ({"samples": ()}, "0 samples"),
        ({"samples": (0.0,)}, "above 0"),
        ({"baseline": (-1.0,)}, "above 0"),
        ({"verified_on": ()}, "no input"),
        ({"verified_on": ("somewhere",)}, "none of captured"),
        ({"outcome": "crashed", "samples": ()}, "verified, but crashed"),
        ({"outcome": "crashed"}, "10 samples"),
        ({"message": "x" * 5000}, "5000 characters"),
        ({"samples": (1.0, math.nan)}, "above 0"),
        ({"speedup_low": -math.inf}, "speedup_low.* is not finite"),
        ({"speedup_high": math.nan}, "speedup_high.* is not finite"),
        ({"noise": math.inf}, "noise.* is not finite"),
        ({"other_load": math.nan}, "other_load.* is not finite"),
        ({"measured_at": math.nan}, "measured_at.* is not finite"),
        ({"donor_distance": math.inf}, "donor_distance.* is not finite"),
        ({"donor_nest_id": "; drop table"}, "no id"),
        ({"schedule_id": "ABCDEF0123456789"}, "no id"),
    ],
)
def test_impossible_measurements(changes: dict[str, Any], part: str) -> None:
    with pytest.raises(RecordError, match=part):
        one(**changes)


def test_one_function_makes_measurement_ids() -> None:
    record = one(4)
    again = measurement_id(record.schedule_id, record.conditions_id, record.kind, record.seed, record.repetition)
    assert record.measurement_id == again
    others = [
        replace(record, repetition=1),
        replace(record, seed=99),
        replace(record, kind="confirm"),
        replace(record, conditions_id=replace(CONDITIONS, threads=1).conditions_id),
        replace(record, schedule_id="0" * 16),
    ]
    assert len({r.measurement_id for r in (record, *others)}) == 6
    assert replace(record, measured_at=0.0, samples=(1.0,), run_id="0" * 16).measurement_id == again


@pytest.mark.parametrize(
    "changes",
    [
        {"machine": "0" * 16},
        {"compiler": "clang"},
        {"compiler_version": "13"},
        {"flags": ("-O3 -march=native",)},
        {"threads": 1},
        {"sizes": "{}"},
        {"element_type": "float"},
        {"reassociated": True},
    ],
)
def test_every_condition_tells_conditions_apart(changes: dict[str, Any]) -> None:
    assert replace(CONDITIONS, **changes).conditions_id != CONDITIONS.conditions_id


@pytest.mark.parametrize(
    "text", ["rm -rf /", "tile([i], [3])); x(", "tile([i],[16])", "tile(i, 16) ", "unroll(i, 1e9)", "[" * 5000, "tile("]
)
def test_a_schedule_is_parsed_strictly(text: str) -> None:
    with pytest.raises(RecordError, match="schedule"):
        ScheduleRecord(NEST.nest_id, text)


def test_the_empty_schedule_is_one() -> None:
    assert ScheduleRecord(NEST.nest_id, "").schedule_id != ScheduleRecord("0" * 16, "").schedule_id


@pytest.mark.parametrize(
    "text", ["{", "[]", "null", "NaN", '{"a":1}', "[" * 100_000, b"\xff", '{"run_id":"' + "9" * 16]
)
def test_what_is_no_record(text: str | bytes) -> None:
    with pytest.raises(RecordError):
        parse_record("run", text)
    with pytest.raises(RecordError, match="no kind of record"):
        parse_record("table", text)


def test_a_profile_document_is_checked() -> None:
    with pytest.raises(RecordError, match="not a profile"):
        replace(PROFILE, document="{}")
    with pytest.raises(RecordError, match="none of likwid"):
        replace(PROFILE, source="guess")


def test_sources_nests_and_runs_are_checked() -> None:
    assert (
        SourceRecord.of("int x;", "file", "x.c", "x").source_id == SourceRecord.of("int x;", "file", "y", "x").source_id
    )
    with pytest.raises(RecordError, match="algorithm"):
        SourceRecord.of("", "file", "x.c", "")
    with pytest.raises(RecordError, match="features"):
        replace(NEST, features="{1}")
    with pytest.raises(RecordError, match="versions"):
        replace(RUN, versions='{"a":1}')
    with pytest.raises(RecordError, match="budget"):
        RunRecord("0" * 16, 0, "beam", -1.0, "{}", "", 0.0)
    with pytest.raises(RecordError, match=r"budget_s.* is not finite"):
        replace(RUN, budget_s=math.inf)
    with pytest.raises(RecordError, match="not finite"):
        EmbeddingRecord(NEST.nest_id, "m", None, (math.nan,))
    assert isinstance(NEST, NestRecord)


def test_outcomes_get_their_words() -> None:
    assert describe_outcome(Timed((1.0, 2.0))) == ("timed", "", (1.0, 2.0))
    assert describe_outcome(Stopped(0.5)) == ("stopped", "given up after 0.5 s", ())
    assert describe_outcome(TimedOut(3.0)) == ("timed_out", "not done after 3 s", ())
    assert describe_outcome(BuildFailed("e" * 9999)) == ("build_failed", "e" * 4000, ())
    assert describe_outcome(Crashed("SIGSEGV", "a\0b")) == ("crashed", "SIGSEGV: ab", ())
    assert describe_outcome(WrongResult("A", 3, 1.0, "A[3] differs"))[:2] == ("wrong_result", "A[3] differs")
    with pytest.raises(RecordError):
        describe_outcome(Verified())
