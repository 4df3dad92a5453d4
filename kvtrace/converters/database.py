"""Databases in memory, of which nothing is seen but what is asked of them."""

import duckdb


def database() -> duckdb.DuckDBPyConnection:
    """Return a new one, to be closed, or used in a `with`.

    Of a query that takes two seconds DuckDB would draw its progress on standard output, amid what a
    command prints there.
    """
    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false")
    return connection
