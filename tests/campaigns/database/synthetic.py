"""Made-up records, consistent with each other and the same for the same numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace

from optdb.codec import object_text
from optdb.records import (
    ConditionsRecord,
    MachineRecord,
    MeasurementRecord,
    NestRecord,
    Record,
    RunRecord,
    ScheduleRecord,
    SourceRecord,
    sizes_text,
)
from scheduler.ir.text import nest_id, parse_nest

_NEST = """nest scale_{0} of main {{
  param n: int;
  array A: double[n];
  array B: double[n] const;
  for i: int in [0, n) step 1 {{
    S0: A[i] = B[i] * {0}.0;
  }}
}}
"""
MACHINE = MachineRecord("0123456789abcdef", "Made-up CPU", "Nobody", "x86_64", ("avx2", "fma"), 2, 4, "[]", 16 << 30)


def nest(number: int) -> tuple[SourceRecord, NestRecord, ConditionsRecord, RunRecord]:
    """The number-th nest with its source, its conditions and its run."""
    text = _NEST.format(number + 1)
    identity = nest_id(parse_nest(text))
    source = SourceRecord.of(text, "generated", f"number {number}", f"algorithm-{number % 100}")
    found = NestRecord(
        identity, identity, source.source_id, f"scale_{number + 1}", "main", text, "", object_text({"number": number})
    )
    conditions = ConditionsRecord(
        MACHINE.machine, "gcc", "12.2.0", ("-O3", "-march=native"), 2, sizes_text({"n": 1000 + number}), "double", False
    )
    run = RunRecord(_hex("run", number), number, "beam", 60.0, object_text({"perfembed": "0.1.0"}), "", 1.8e9)
    return source, found, conditions, run


def measurement(
    found: NestRecord, conditions: ConditionsRecord, run: RunRecord, number: int, size: int = 16
) -> tuple[ScheduleRecord, MeasurementRecord]:
    """The number-th schedule of a nest and its measurement; the larger the number the faster, with a ripple."""
    schedule = ScheduleRecord(found.nest_id, f"tile([i], [{size + number}]); parallelize(i_t)")
    ripple = int(_hex("noise", found.nest_id, number)[:4], 16) / 65536
    seconds = 1e-3 * (1 + ripple) / (1 + 0.1 * (number % 50))
    baseline = 2e-3 * (1 + 0.01 * ripple)
    record = MeasurementRecord(
        schedule_id=schedule.schedule_id,
        nest_id=found.nest_id,
        conditions_id=conditions.conditions_id,
        run_id=run.run_id,
        kind="search",
        seed=run.seed,
        repetition=0,
        evaluation=number,
        outcome="timed",
        message="",
        samples=tuple(round(seconds * (1 + 0.001 * i), 9) for i in range(10)),
        baseline=tuple(round(baseline * (1 + 0.001 * i), 9) for i in range(5)),
        speedup_low=None,
        speedup_high=None,
        verified=True,
        verified_on=("captured",),
        verify_seeds=(),
        tolerance=0.0,
        noise=0.01,
        other_load=0.0,
        measured_at=1.8e9 + number,
    )
    if number % 10 == 9:
        record = replace(record, outcome="crashed", message="SIGSEGV", samples=(), verified=False, verified_on=())
    return schedule, record


def stream(nests: int, measurements: int, first: int = 0) -> Iterator[Record]:
    """Everything about `nests` nests from number `first` on, with `measurements` measurements each."""
    yield MACHINE
    for number in range(first, first + nests):
        source, found, conditions, run = nest(number)
        yield from (source, found, conditions, run)
        for count in range(measurements):
            yield from measurement(found, conditions, run, count)


def _hex(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
