"""Databases in memory, of which nothing is seen but what is asked of them."""

import os
from typing import Final

import duckdb

#: By the process: that of a fork has none yet.
_SHARED: Final[dict[int, duckdb.DuckDBPyConnection]] = {}


def database() -> duckdb.DuckDBPyConnection:
    """Return a new one, to be closed, or used in a `with`.

    Of a query that takes two seconds DuckDB would draw its progress on standard output, amid what a
    command prints there. In a notebook without ipywidgets it draws none, and refuses the setting.
    """
    return _quiet(duckdb.connect())


def scratch() -> duckdb.DuckDBPyConnection:
    """Return a connection to sum small tables with, to be closed, or used in a `with`.

    All connections share the process's one database, because DuckDB takes 30 ms to make one. So
    what a connection makes has to be TEMPORARY, and its settings its own.
    """
    shared = _SHARED.get(os.getpid())
    if shared is None:
        shared = _SHARED.setdefault(os.getpid(), duckdb.connect())
    return _quiet(shared.cursor())


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


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    # DuckDB ends a child that frees the parent's database, whose threads it lacks.
    os.register_at_fork(before=_SHARED.clear)
