"""The tables of a trace in DuckDB, as any tool reads its Parquet files: nothing of kvtrace."""

from pathlib import Path

import duckdb


def tables_of(trace: Path) -> duckdb.DuckDBPyConnection:
    """Return a new database with one view for each table of a trace."""
    database = duckdb.connect()
    for table in sorted(trace.glob("[a-z]*/")):
        files = f"'{table}/**/*.parquet', union_by_name = true, hive_partitioning = true"
        database.execute(f"CREATE VIEW {table.name} AS FROM read_parquet({files})")
    return database
