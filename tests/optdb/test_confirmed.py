"""Schedules that may be used without measuring them again."""

from pathlib import Path

from optdb.confirmed import confirmed_schedules
from tests.optdb.support import BASE, MACHINE, empty, measurement, one, replace, store

SOURCE, NEST, CONDITIONS, RUN = BASE
TIMES = {"kind": "confirm", "samples": (1.0, 1.1), "baseline": (4.0, 5.0), "tolerance": 0.0}


def test_only_what_was_confirmed_faster_and_equal_and_the_latest_first(tmp_path: Path) -> None:
    schedules = [measurement(NEST, CONDITIONS, RUN, i)[0] for i in range(8)]
    good = {**TIMES, "speedup_low": 2.0, "speedup_high": 5.0}
    allowed = replace(CONDITIONS, reassociated=True)
    with empty(tmp_path / "a.db") as database:
        store(
            database,
            MACHINE,
            *BASE,
            allowed,
            *schedules,
            one(0, **good, measured_at=1.0),
            one(1, **good, measured_at=2.0),
            one(2, **TIMES, speedup_low=0.9, speedup_high=5.0),
            one(3, **{**good, "kind": "search"}),
            one(4, **good, verified=False, verified_on=()),
            one(5, **{**good, "tolerance": 1e-6}),
            one(6, **good, conditions_id=allowed.conditions_id),
            one(7, **good),
            one(7, kind="confirm", outcome="wrong_result", samples=(), verified=False, verified_on=(), repetition=1),
        )
        found = confirmed_schedules(database)
    assert [(f.schedule, f.speedup) for f in found] == [(schedules[1].text, 4.0), (schedules[0].text, 4.0)]
    first = found[0]
    assert (first.nest_id, first.machine, first.compiler) == (NEST.nest_id, MACHINE.machine, CONDITIONS.compiler)
    assert (first.flags, first.threads) == (CONDITIONS.flags, CONDITIONS.threads)
