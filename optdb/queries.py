"""What the rest of the program asks the database: typed, and never across machines or conditions unless asked to.

>>> from optdb.record_queries import conditions
>>> with Database.open(path, read_only=True) as database:
...     best = best_schedules(database, limit=1)[0]
...     hit = exact_hit(database, best.nest_id, conditions(database, best.conditions_id))
...     known = measured(database, best.nest_id, best.conditions_id)
>>> hit == best, best.schedule, f"{best.speedup:.1f}x", len(known)
(True, 'tile([i], [23]); parallelize(i_t)', '3.2x', 8)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from optdb.database import Database
from optdb.record_queries import fields_of, records_where
from optdb.records import (
    ConditionsRecord,
    MeasurementRecord,
)


@dataclass(frozen=True, slots=True)
class BestSchedule:
    """A row of the view `best_schedules`: the fastest verified schedule of a nest under one set of conditions.

    Times are seconds; `speedup` is None where the original was not measured next to it. `schedule` is text out of a
    database: parse it (`scheduler.schedule.parse_schedule`) and prove it legal on the nest before use.
    """

    nest_id: str
    name: str | None
    speedup: float | None
    min_s: float
    median_s: float
    baseline_min_s: float | None
    schedule: str
    schedule_id: str
    measured: int
    algorithm: str | None
    place: str | None
    conditions_id: str
    machine: str
    cpu_model: str | None
    isa: str | None
    compiler: str
    compiler_version: str
    flags: str
    threads: int
    sizes: str
    element_type: str
    reassociated: bool


@dataclass(frozen=True, slots=True)
class Nest:
    """A nest with its text and where it was found; the same algorithm must not be on both sides of an evaluation."""

    nest_id: str
    normalized_id: str
    name: str
    text: str
    c_text: str
    features: str
    algorithms: tuple[str, ...]
    places: tuple[str, ...]


def best_schedules(
    database: Database,
    *,
    nest_id: str | None = None,
    conditions: ConditionsRecord | None = None,
    machine: str | None = None,
    limit: int | None = None,
) -> tuple[BestSchedule, ...]:
    """The fastest verified schedule of each nest and conditions, greatest speedup first, of those asked for."""
    wanted = {
        "nest_id": nest_id,
        "conditions_id": conditions.conditions_id if conditions else None,
        "machine": machine,
    }
    where = [name for name, value in wanted.items() if value is not None]
    parameters: list[object] = [wanted[name] for name in where]
    if limit is not None or nest_id is not None:
        found = _few(database, where, parameters, limit)
        if found is not None:
            return found
    sql = f"SELECT {fields_of(BestSchedule)} FROM best_schedules WHERE schedule IS NOT NULL AND machine IS NOT NULL"
    sql += "".join(f" AND {name} = ?" for name in where) + _ORDER
    if limit is not None:
        sql += " LIMIT ?"
        parameters.append(limit)
    return tuple(BestSchedule(*row) for row in database.rows(sql, parameters))


_ORDER = " ORDER BY speedup DESC NULLS LAST, nest_id, conditions_id"
_FEW = 1000
_CONDITION_COLUMNS = (
    "machine",
    "compiler",
    "compiler_version",
    "flags",
    "threads",
    "sizes",
    "element_type",
    "reassociated",
)
_BEST_COLUMNS = (
    "nest_id",
    "speedup",
    "min_s",
    "median_s",
    "baseline_min_s",
    "schedule_id",
    "measured",
    "conditions_id",
)


def _few(
    database: Database, where: Sequence[str], parameters: Sequence[object], limit: int | None
) -> tuple[BestSchedule, ...] | None:
    """The first `limit` rows, put together from the rows of each table that they name, by its index.

    None where they are many, or where one of them lacks its schedule or its machine.
    """
    sql = f"SELECT {', '.join(_BEST_COLUMNS)} FROM _store.best WHERE true"
    for name in where:
        sql += {"machine": " AND conditions_id IN (SELECT conditions_id FROM _store.conditions WHERE machine = ?)"}.get(
            name, f" AND {name} = ?"
        )
    if "nest_id" not in where:  # sorting few rows costs more in the database than here
        sql += f"{_ORDER} LIMIT {_FEW + 1 if limit is None else min(limit, _FEW + 1)}"
    best = [dict(zip(_BEST_COLUMNS, row, strict=True)) for row in database.rows(sql, parameters)]
    if len(best) > _FEW:
        return None
    best.sort(key=lambda b: (b["speedup"] is None, -(b["speedup"] or 0.0), b["nest_id"], b["conditions_id"]))
    best = best[:limit]
    schedules = _looked_up(database, "_store.schedules", "schedule_id", ("text",), best)
    names = _looked_up(database, "_store.nests", "nest_id", ("name",), best)
    origins = _origins(database, best)
    under = _looked_up(database, "_store.conditions", "conditions_id", _CONDITION_COLUMNS, best)
    machines = _looked_up(
        database, "machines", "machine", ("cpu_model", "isa"), [{"machine": c[0]} for c in under.values()]
    )
    found = []
    for row in best:
        schedule, conditions = schedules.get(row["schedule_id"]), under.get(row["conditions_id"])
        if schedule is None or conditions is None:
            return None
        row |= {"schedule": schedule[0], "name": names.get(row["nest_id"], (None,))[0]}
        row |= dict(zip(("algorithm", "place"), origins.get(row["nest_id"], (None, None)), strict=True))
        row |= dict(zip(_CONDITION_COLUMNS, conditions, strict=True)) | {"flags": " ".join(conditions[3])}
        row |= dict(zip(("cpu_model", "isa"), machines.get(row["machine"], (None, None)), strict=True))
        found.append(BestSchedule(**row))
    return tuple(found)


def _looked_up(
    database: Database, table: str, key: str, names: Sequence[str], best: Sequence[dict[str, Any]]
) -> dict[str, tuple[Any, ...]]:
    """By key the named columns of the rows that `best` refers to."""
    keys = sorted({row[key] for row in best})
    if not keys:
        return {}
    rows = database.rows(
        f"SELECT {key}, {', '.join(names)} FROM {table} WHERE {key} IN ({', '.join('?' * len(keys))})", keys
    )
    return {row[0]: row[1:] for row in rows}


def _origins(database: Database, best: Sequence[dict[str, Any]]) -> dict[str, tuple[str, str]]:
    """By nest the algorithm, and the place, of the first of its sources."""
    nests = sorted({row["nest_id"] for row in best})
    if not nests:
        return {}
    these = ", ".join("?" * len(nests))
    pairs = database.rows(f"SELECT nest_id, source_id FROM _store.occurrences WHERE nest_id IN ({these})", nests)
    known = _looked_up(
        database, "_store.sources", "source_id", ("algorithm", "place"), [{"source_id": source} for _, source in pairs]
    )
    found: dict[str, tuple[str, str]] = {}
    for nest, source in pairs:
        if source in known:
            algorithm, place = known[source]
            found[nest] = min(found.get(nest, (algorithm, place)), (algorithm, place))
    return found


def exact_hit(database: Database, nest_id: str, conditions: ConditionsRecord) -> BestSchedule | None:
    """What is known to be best for this very nest, machine, compiler, flags, threads, sizes and type."""
    found = best_schedules(database, nest_id=nest_id, conditions=conditions)
    return found[0] if found else None


def measured(
    database: Database, nest_id: str, conditions_id: str, *, seed: int | None = None
) -> dict[str, MeasurementRecord]:
    """By measurement id what a resumed search (of that seed) need not measure again: failures, too."""
    parameters: list[object] = [nest_id, conditions_id]
    where = "nest_id = ? AND conditions_id = ?"
    if seed is not None:
        where += " AND seed = ?"
        parameters.append(seed)
    found = records_where(database, "measurement", f"{where} ORDER BY evaluation, measurement_id", parameters)
    return {r.measurement_id: r for r in found if isinstance(r, MeasurementRecord)}


def schedule_texts(database: Database, nest_id: str) -> dict[str, str]:
    """By schedule id the text of every schedule of a nest."""
    rows = database.rows("SELECT schedule_id, text FROM _store.schedules WHERE nest_id = ?", [nest_id])
    return dict(rows)


def nests(
    database: Database,
    *,
    ids: Sequence[str] | None = None,
    normalized_id: str | None = None,
    not_algorithms: Sequence[str] = (),
) -> tuple[Nest, ...]:
    """Nests in the order of their ids; none that was found in a source of one of `not_algorithms`."""
    rows = database.rows(
        """
        SELECT n.nest_id, n.normalized_id, n.name, n.text, n.c_text, n.features,
               coalesce(f.algorithms, []), coalesce(f.places, [])
        FROM _store.nests n LEFT JOIN (
            SELECT o.nest_id, list_sort(list(DISTINCT s.algorithm)) AS algorithms,
                   list_sort(list(DISTINCT s.place)) AS places
            FROM _store.occurrences o JOIN _store.sources s USING (source_id) GROUP BY o.nest_id) f USING (nest_id)
        WHERE ($ids::VARCHAR[] IS NULL OR list_contains($ids::VARCHAR[], n.nest_id))
          AND ($normalized::VARCHAR IS NULL OR n.normalized_id = $normalized)
          AND NOT list_has_any(coalesce(f.algorithms, []), $without::VARCHAR[])
        ORDER BY n.nest_id
        """,
        {"ids": None if ids is None else list(ids), "normalized": normalized_id, "without": list(not_algorithms)},
    )
    return tuple(Nest(*row[:6], *(tuple(found) for found in row[6:])) for row in rows)
