"""The table `_store.best` as the database gets it; what keeps it up to date is in `optdb.best`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

COUNTS = "outcome = 'timed' AND verified AND min_s IS NOT NULL"  # the measurements that it is made of
_TABLE = """
    CREATE TABLE _store.best (
        nest_id VARCHAR NOT NULL,
        conditions_id VARCHAR NOT NULL,
        min_s DOUBLE NOT NULL,
        measurement_id VARCHAR NOT NULL,
        schedule_id VARCHAR NOT NULL,
        median_s DOUBLE,
        baseline_min_s DOUBLE,
        speedup DOUBLE,  -- baseline_min_s / min_s
        measured BIGINT NOT NULL,  -- verified measurements under these conditions
        PRIMARY KEY (nest_id, conditions_id))
"""
COMPUTED = """
    SELECT nest_id, conditions_id, m.min_s AS min_s, m.measurement_id AS measurement_id, m.schedule_id AS schedule_id,
           m.median_s AS median_s, m.baseline_min_s AS baseline_min_s, m.baseline_min_s / m.min_s AS speedup, measured
    FROM (SELECT nest_id, conditions_id, count(*) AS measured,
                 min(struct_pack(min_s, measurement_id, schedule_id, median_s, baseline_min_s)) AS m
          FROM _store.measurements WHERE {counts} GROUP BY nest_id, conditions_id)
"""


def best_schedules_table(connection: DuckDBPyConnection) -> None:
    """A migration: the best of each nest and conditions have a table, and its index replaces the measurements'."""
    connection.execute(_TABLE)
    connection.execute(f"INSERT INTO _store.best {COMPUTED.format(counts=COUNTS)}")
    connection.execute("CREATE INDEX best_of_nest ON _store.best (nest_id)")
    connection.execute("CREATE INDEX occurrences_of_nest ON _store.occurrences (nest_id)")
    connection.execute("DROP INDEX _store.measurements_of_nest")
