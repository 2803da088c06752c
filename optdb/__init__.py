"""The optimization database: machines, nests, schedules, measurements, profiles and embeddings in one DuckDB file.

Writers append to a spool (`optdb.spool`), one ingester fills the database (`optdb.ingest`), and everything asked of it
goes through `optdb.database` and `optdb.queries`, or through the views in SQL.
"""

from optdb.database import Database

__all__ = ["Database"]
