"""Parquet shards of training data: written out of a database, read row by row. Nothing in them is trusted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from optdb.database import Database
from perfembed.errors import UsageError


def write_shard(database: Path, shard: Path, query: str, key: Sequence[str]) -> int:
    """Writes the rows of a query to a Parquet file that does not exist; how many. Raises OptdbError, UsageError.

    Rows whose `key` (names of columns) a shard of the same kind beside it has already are left out.
    """
    if shard.exists():
        raise UsageError(f"{shard} exists already", "choose another name: shards are only added")
    shard.parent.mkdir(parents=True, exist_ok=True)
    path = str(shard).replace("'", "''")
    with Database.open(database, read_only=True) as opened:
        names = tuple(name for name, *_ in opened.rows(f"DESCRIBE {query}"))
    beside = [other for other in sorted(shard.parent.glob("*.parquet")) if _columns(other) == names]
    if beside:
        held = ", ".join("'" + str(other).replace("'", "''") + "'" for other in beside)
        query = f"SELECT q.* FROM ({query}) q ANTI JOIN read_parquet([{held}]) USING ({', '.join(key)})"
    with Database.open(database, read_only=True) as opened:
        opened.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet, COMPRESSION zstd)")
        return int(opened.value(f"SELECT count(*) FROM read_parquet('{path}')"))


def _columns(shard: Path) -> tuple[str, ...]:
    """Raises UsageError for what is no Parquet file."""
    import duckdb

    try:
        with duckdb.connect(":memory:") as connection:
            rows = connection.execute("DESCRIBE SELECT * FROM read_parquet(?)", [str(shard)]).fetchall()
    except duckdb.Error as problem:
        raise UsageError(f"{shard}: {' '.join(str(problem).split())[:200]}", "move it out of the folder") from None
    return tuple(str(name) for name, *_ in rows)


def read_query(database: Database, query: str) -> Iterator[Mapping[str, Any]]:
    """The rows that `write_shard` would write. Raises OptdbError."""
    result = database.execute(query)
    names = [column[0] for column in result.description or ()]
    with database.translated():
        rows = result.fetchall()
    return (dict(zip(names, row, strict=True)) for row in rows)


def read_shards(shards: Sequence[Path], columns: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """The rows of all shards, in the order of their names. Raises UsageError for a file with other columns."""
    import duckdb

    with duckdb.connect(":memory:") as connection:  # one for all: opening takes longer than reading a small shard
        for shard in sorted(shards):
            try:
                result = connection.execute("SELECT * FROM read_parquet(?)", [str(shard)])
                names = tuple(column[0] for column in result.description or ())
                if names != tuple(columns):
                    raise UsageError(f"{shard}: no such training data", "perfembed train … --export writes some")
                while batch := result.fetchmany(10_000):
                    yield from (dict(zip(names, row, strict=True)) for row in batch)
            except duckdb.Error as problem:
                raise UsageError(f"{shard}: {' '.join(str(problem).split())[:200]}") from None
