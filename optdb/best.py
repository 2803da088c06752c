"""The table `_store.best`: the fastest verified measurement of each nest and conditions, kept up to date row by row.

It holds nothing that the measurements do not: `note` follows what is stored, in the same transaction, `renew` computes
rows anew from the measurements, `different` says where the two disagree. Of equal times the smallest measurement id
wins, so that the order in which rows came does not matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from optdb.best_table import COMPUTED, COUNTS

if TYPE_CHECKING:
    from optdb.database import Database

_NOTED_DATA = ("min_s", "measurement_id", "schedule_id", "median_s", "baseline_min_s")
_DATA = (*_NOTED_DATA, "speedup")
NOTED = ", ".join((COUNTS, "nest_id", "conditions_id", *_NOTED_DATA))  # what `note` is told of a new measurement

_BETTER = "excluded.min_s < best.min_s OR excluded.min_s = best.min_s AND excluded.measurement_id < best.measurement_id"
_NOTE = f"""
    INSERT INTO _store.best
    SELECT nest_id, conditions_id, min_s, measurement_id, schedule_id, median_s, baseline_min_s,
           baseline_min_s / min_s, measured
    FROM (SELECT unnest($nest_id::VARCHAR[]) AS nest_id, unnest($conditions_id::VARCHAR[]) AS conditions_id,
                 unnest($min_s::DOUBLE[]) AS min_s, unnest($measurement_id::VARCHAR[]) AS measurement_id,
                 unnest($schedule_id::VARCHAR[]) AS schedule_id, unnest($median_s::DOUBLE[]) AS median_s,
                 unnest($baseline_min_s::DOUBLE[]) AS baseline_min_s, unnest($measured::BIGINT[]) AS measured)
    ON CONFLICT DO UPDATE SET measured = best.measured + excluded.measured,
        {", ".join(f"{c} = CASE WHEN {_BETTER} THEN excluded.{c} ELSE best.{c} END" for c in _DATA)}
"""
_RENEW = f"""
    INSERT INTO _store.best {COMPUTED}
    ON CONFLICT DO UPDATE SET {", ".join(f"{c} = excluded.{c}" for c in (*_DATA, "measured"))}
"""
_FORGET = f"""
    DELETE FROM _store.best WHERE {{wanted}} AND NOT EXISTS (
        FROM _store.measurements m
        WHERE m.nest_id = best.nest_id AND m.conditions_id = best.conditions_id AND {COUNTS})
"""
_DIFFERENT = f"""
    SELECT coalesce(b.nest_id, c.nest_id)
    FROM _store.best b FULL JOIN ({COMPUTED.format(counts=COUNTS)}) c USING (nest_id, conditions_id)
    WHERE {" OR ".join(f"b.{c} IS DISTINCT FROM c.{c}" for c in (*_DATA, "measured"))} ORDER BY 1
"""


def note(database: Database, new: Iterable[tuple[Any, ...]]) -> None:
    """Takes account of measurements just stored: the columns NOTED of each. Runs in the caller's transaction."""
    found: dict[tuple[str, str], tuple[Any, ...]] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for counted, nest_id, conditions_id, *values in new:
        if counted:
            key, data = (nest_id, conditions_id), tuple(values)
            counts[key] += 1
            if key not in found or data[:2] < found[key][:2]:
                found[key] = data
    if not found:
        return
    columns = dict(zip(_NOTED_DATA, map(list, zip(*found.values(), strict=True)), strict=True))
    keys = {"nest_id": [nest for nest, _ in found], "conditions_id": [conditions for _, conditions in found]}
    database.execute(_NOTE, keys | columns | {"measured": [counts[key] for key in found]})


def renew(database: Database, keys: str | None = None) -> None:
    """Computes the table anew from the measurements, in the caller's transaction.

    `keys`: only for these, a table with the columns nest_id and conditions_id. Raises OptdbError.
    """
    wanted = "true" if keys is None else f"(nest_id, conditions_id) IN (SELECT (nest_id, conditions_id) FROM {keys})"
    database.execute(_FORGET.format(wanted=wanted))
    database.execute(_RENEW.format(counts=f"{COUNTS} AND {wanted}"))


def different(database: Database) -> list[str]:
    """The nests about which the table and the measurements disagree. Raises OptdbError."""
    return [str(nest_id) for (nest_id,) in database.rows(_DIFFERENT)]
