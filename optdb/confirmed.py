"""The schedules that were confirmed: for compiling a nest with one, without measuring anything."""

from __future__ import annotations

from dataclasses import dataclass

from optdb.database import Database


@dataclass(frozen=True, slots=True)
class ConfirmedSchedule:
    """A schedule that was shown to be faster than its original and to compute the same, bit for bit.

    `schedule` is text out of a database: parse it and prove it legal on the nest before use.
    """

    nest_id: str
    machine: str
    schedule: str
    compiler: str
    flags: tuple[str, ...]
    threads: int
    speedup: float


def confirmed_schedules(database: Database) -> tuple[ConfirmedSchedule, ...]:
    """All of them, of each nest those measured last first. What was ever found to compute something else is not one."""
    rows = database.rows("""
        SELECT m.nest_id, c.machine, s.text, c.compiler, c.flags, c.threads, m.baseline_min_s / m.min_s
        FROM _store.measurements m
        JOIN _store.schedules s USING (schedule_id)
        JOIN _store.conditions c USING (conditions_id)
        WHERE m.kind = 'confirm' AND m.outcome = 'timed' AND m.verified AND m.tolerance = 0 AND m.speedup_low > 1
              AND NOT c.reassociated
              AND NOT EXISTS (FROM _store.measurements w
                              WHERE w.schedule_id = m.schedule_id AND w.outcome = 'wrong_result')
        ORDER BY m.nest_id, m.measured_at DESC, m.measurement_id
    """)
    return tuple(ConfirmedSchedule(r[0], r[1], r[2], r[3], tuple(r[4]), r[5], r[6]) for r in rows)
