"""Databases in memory, of which nothing is seen but what is asked of them."""

import duckdb


def database() -> duckdb.DuckDBPyConnection:
    """Return a new one, to be closed, or used in a `with`.

    Of a query that takes two seconds DuckDB would draw its progress on standard output, amid what a
    command prints there. In a notebook without ipywidgets it draws none, and refuses the setting.
    """
    return _quiet(duckdb.connect())


def another_connection(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Return one to the same database, to be closed, in which points in time are UTC."""
    found = _quiet(connection.cursor())
    found.execute("SET TimeZone = 'UTC'")  # a connection's own, as what it draws
    return found


def _quiet(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    drawn = connection.execute("SELECT current_setting('enable_progress_bar')").fetchall()
    if drawn != [(False,)]:
        connection.execute("SET enable_progress_bar = false")
    return connection
