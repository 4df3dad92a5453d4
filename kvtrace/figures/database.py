"""DuckDB databases in memory, with the progress bar turned off."""

import os
from typing import Final

import duckdb

#: The shared database by process number: a forked process makes its own.
_SHARED: Final[dict[int, duckdb.DuckDBPyConnection]] = {}


def database() -> duckdb.DuckDBPyConnection:
    """Return a connection to a new database, without a progress bar; the caller closes it.

    By default DuckDB draws the progress of queries longer than two seconds on standard output, amid
    a command's output. In a notebook without ipywidgets it draws none and rejects the setting.
    """
    return _quiet(duckdb.connect())


def scratch() -> duckdb.DuckDBPyConnection:
    """Return a connection to the process's shared database, for sums of small tables.

    The caller closes the connection. Creating a database takes 30 ms, so it is shared; tables and
    views therefore have to be TEMPORARY, and settings local to the connection.
    """
    shared = _SHARED.get(os.getpid())
    if shared is None:
        shared = _SHARED.setdefault(os.getpid(), duckdb.connect())
    return _quiet(shared.cursor())


def another_connection(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Return a second connection to the database, with time zone UTC; the caller closes it."""
    cursor = _quiet(connection.cursor())
    cursor.execute("SET TimeZone = 'UTC'")  # each connection has its own time zone
    return cursor


def _quiet(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    progress_bar = connection.execute("SELECT current_setting('enable_progress_bar')").fetchall()
    if progress_bar != [(False,)]:
        connection.execute("SET enable_progress_bar = false")
    return connection


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    # DuckDB aborts a child that frees the parent's database, as the child lacks its threads.
    os.register_at_fork(before=_SHARED.clear)
