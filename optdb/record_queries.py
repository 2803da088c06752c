"""Single records of the database, found by what identifies them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from optdb.codec import columns, from_document
from optdb.database import Database
from optdb.errors import OptdbError
from optdb.records import (
    RECORDS,
    ConditionsRecord,
    MachineRecord,
    ProfileRecord,
    Record,
    RunRecord,
)
from optdb.tables import TABLES

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Embeddings:
    """Vectors of one model: row i of `vectors` (float32, n x dimension) belongs to `nest_ids[i]`."""

    nest_ids: tuple[str, ...]
    vectors: npt.NDArray[np.float32]


def machine(database: Database, fingerprint: str) -> MachineRecord | None:
    """The machine of a fingerprint."""
    found = records_where(database, "machine", "machine = ?", [fingerprint])
    return found[0] if found and isinstance(found[0], MachineRecord) else None


def conditions(database: Database, conditions_id: str) -> ConditionsRecord | None:
    """The conditions of an id."""
    found = records_where(database, "conditions", "conditions_id = ?", [conditions_id])
    return found[0] if found and isinstance(found[0], ConditionsRecord) else None


def runs(database: Database) -> tuple[RunRecord, ...]:
    """All runs, the oldest first."""
    found = records_where(database, "run", "true ORDER BY started_at, run_id", [])
    return tuple(r for r in found if isinstance(r, RunRecord))


def profiles(database: Database, nest_id: str, *, machine: str | None = None) -> tuple[ProfileRecord, ...]:
    """The profiles of a nest, of one machine where asked."""
    where = "nest_id = ?"
    parameters: list[object] = [nest_id]
    if machine is not None:
        where += " AND conditions_id IN (SELECT conditions_id FROM _store.conditions WHERE machine = ?)"
        parameters.append(machine)
    found = records_where(database, "profile", f"{where} ORDER BY profile_id", parameters)
    return tuple(r for r in found if isinstance(r, ProfileRecord))


def embeddings(database: Database, model_id: str, *, static_only: bool = False) -> Embeddings:
    """All vectors of a model, ordered by nest; of a nest with several profiles, the one with the smallest id.

    With `static_only` those made of the graph alone, otherwise one with a profile where there is one. Raises
    OptdbError where vectors of one model differ in length.
    """
    import numpy as np

    rows = database.execute(
        """
        SELECT nest_id, vector FROM _store.embeddings WHERE model_id = ? AND (NOT ? OR profile_id IS NULL)
        QUALIFY row_number() OVER (PARTITION BY nest_id ORDER BY profile_id NULLS LAST) = 1 ORDER BY nest_id
        """,
        [model_id, static_only],
    )
    with database.translated():
        found = rows.fetchnumpy()
    vectors = [np.asarray(vector, dtype=np.float32) for vector in found["vector"]]
    if len({len(vector) for vector in vectors}) > 1:
        raise OptdbError(f"{database.path}: vectors of model {model_id} differ in length")
    matrix = np.stack(vectors) if vectors else np.empty((0, 0), np.float32)
    return Embeddings(tuple(map(str, found["nest_id"])), matrix)


def records(database: Database, kind: str) -> tuple[Record, ...]:
    """Every stored record of a kind but nests (see `nests`), checked as if it came from elsewhere, by id."""
    return records_where(database, kind, f"true ORDER BY {_columns(kind)[0]}", [])


def _columns(kind: str) -> tuple[str, ...]:
    """The columns of a kind's table that hold the record."""
    return tuple(name for name, _ in columns(RECORDS[kind]))


def records_where(database: Database, kind: str, where: str, parameters: Sequence[object]) -> tuple[Record, ...]:
    names = _columns(kind)
    rows = database.rows(f"SELECT {', '.join(names)} FROM {TABLES[kind]} WHERE {where}", parameters)
    return tuple(from_document(RECORDS[kind], dict(zip(names, row, strict=True))) for row in rows)


def fields_of(cls: Any) -> str:
    return ", ".join(f.name for f in fields(cls))
