"""What searches of a nest came to: the yardstick of methods that are given less."""

from __future__ import annotations

from dataclasses import dataclass

from optdb.database import Database
from optdb.records import ConditionsRecord

_WINNERS = 5


@dataclass(frozen=True, slots=True)
class SearchEffort:
    """Wall-clock `seconds`, and how many `schedules` were measured."""

    seconds: float
    schedules: int


@dataclass(frozen=True, slots=True)
class LongSearch:
    """All searches of a nest on `machine`, and the texts of the fastest `schedules` that were verified, fastest first.

    Each search verifies its own winner; a text is to be parsed and proved legal before use.
    """

    machine: str
    effort: SearchEffort
    schedules: tuple[str, ...]


def long_search(database: Database, nest_id: str, conditions: ConditionsRecord, cpu_model: str) -> LongSearch | None:
    """What was searched under these conditions (of a machine with that CPU); None where nothing was measured.

    Else what the same machine measured with another version of the compiler, else what another one did: first of those
    with the same CPU, then of those that measured most.
    """
    found = database.rows(
        """
        SELECT c.machine, c.conditions_id
        FROM _store.measurements m JOIN _store.conditions c USING (conditions_id) LEFT JOIN machines USING (machine)
        WHERE m.nest_id = $nest AND c.compiler = $compiler AND c.flags = $flags AND c.threads = $threads
              AND c.sizes = $sizes AND c.element_type = $element AND c.reassociated = $reassociated
        GROUP BY c.machine, c.conditions_id, cpu_model
        ORDER BY c.conditions_id = $conditions DESC, c.machine = $machine DESC,
                 cpu_model = $cpu_model DESC NULLS LAST, count(*) DESC, c.conditions_id
        LIMIT 1
        """,
        {
            "nest": nest_id,
            "compiler": conditions.compiler,
            "flags": list(conditions.flags),
            "threads": conditions.threads,
            "sizes": conditions.sizes,
            "element": conditions.element_type,
            "reassociated": conditions.reassociated,
            "conditions": conditions.conditions_id,
            "machine": conditions.machine,
            "cpu_model": cpu_model,
        },
    )
    if not found:
        return None
    ((machine, conditions_id),) = found
    effort = _effort(database, nest_id, conditions_id)
    return None if effort is None else LongSearch(machine, effort, _winners(database, nest_id, conditions_id))


def _winners(database: Database, nest_id: str, conditions_id: str) -> tuple[str, ...]:
    rows = database.rows(
        """
        SELECT any_value(s.text) FROM _store.measurements m JOIN _store.schedules s USING (schedule_id)
        WHERE m.nest_id = $nest AND conditions_id = $conditions AND outcome = 'timed' AND verified
        GROUP BY schedule_id ORDER BY min(min_s), schedule_id LIMIT $most
        """,
        {"nest": nest_id, "conditions": conditions_id, "most": _WINNERS},
    )
    return tuple(text for (text,) in rows)


def _effort(database: Database, nest_id: str, conditions_id: str) -> SearchEffort | None:
    """What all runs together spent on a nest under these conditions; None where none did anything with it.

    A run takes its nests one after another: each took from the last measurement of the one before, or the run's start,
    to its own last.
    """
    ((seconds, schedules),) = database.rows(
        """
        WITH spans AS (
            SELECT run_id, nest_id, conditions_id, max(measured_at) AS last FROM _store.measurements
            WHERE run_id IN (
                SELECT run_id FROM _store.measurements WHERE nest_id = $nest AND conditions_id = $conditions)
            GROUP BY ALL),
        lagged AS (SELECT *, lag(last) OVER (PARTITION BY run_id ORDER BY last) AS before FROM spans)
        SELECT sum(last - coalesce(before, r.started_at)),
               (SELECT count(DISTINCT schedule_id) FROM _store.measurements
                WHERE nest_id = $nest AND conditions_id = $conditions)
        FROM lagged JOIN _store.runs r USING (run_id) WHERE nest_id = $nest AND conditions_id = $conditions
        """,
        {"nest": nest_id, "conditions": conditions_id},
    )
    return None if seconds is None else SearchEffort(float(seconds), int(schedules))
