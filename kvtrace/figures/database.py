"""DuckDB databases in memory that print nothing."""

import os
from typing import Final

import duckdb

#: The shared database by process number: a forked process makes its own.
_SHARED: Final[dict[int, duckdb.DuckDBPyConnection]] = {}


def database() -> duckdb.DuckDBPyConnection:
    """Return a connection to a new database, to be closed, or used in a `with`.

    By default DuckDB draws the progress of a query of two seconds on standard output, amid a
    command's output. In a notebook without ipywidgets DuckDB draws none, and refuses the setting.
    """
    return _quiet(duckdb.connect())


def scratch() -> duckdb.DuckDBPyConnection:
    """Return a connection to sum small tables with, to be closed, or used in a `with`.

    All connections share one database of the process, because DuckDB takes 30 ms to make one. So
    tables and views have to be TEMPORARY, and settings local to the connection.
    """
    shared = _SHARED.get(os.getpid())
    if shared is None:
        shared = _SHARED.setdefault(os.getpid(), duckdb.connect())
    return _quiet(shared.cursor())


def another_connection(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Return a connection to the same database, to be closed, with the time zone UTC."""
    other = _quiet(connection.cursor())
    other.execute("SET TimeZone = 'UTC'")  # each connection has its own time zone
    return other


def _quiet(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    setting = connection.execute("SELECT current_setting('enable_progress_bar')").fetchall()
    if setting != [(False,)]:
        connection.execute("SET enable_progress_bar = false")
    return connection


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    # DuckDB aborts a child that frees the parent's database, as the child lacks its threads.
    os.register_at_fork(before=_SHARED.clear)
