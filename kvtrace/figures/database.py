"""Databases in memory, of which nothing is seen but what is asked of them."""

import duckdb


def database() -> duckdb.DuckDBPyConnection:
    """Return a new one, to be closed, or used in a `with`.

    Of a query that takes two seconds DuckDB would draw its progress on standard output, amid what a
    command prints there. In a notebook without ipywidgets it draws none, and refuses the setting.
    """
    connection = duckdb.connect()
    drawn = connection.execute("SELECT current_setting('enable_progress_bar')").fetchall()
    if drawn != [(False,)]:
        connection.execute("SET enable_progress_bar = false")
    return connection
