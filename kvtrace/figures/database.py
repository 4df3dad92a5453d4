"""DuckDB databases in memory, with the progress bar turned off."""

import os
from collections import deque
from itertools import count
from typing import Final
from weakref import finalize

import duckdb

from kvtrace.forks import Lock

#: The shared database by process number: a forked process makes its own.
_SHARED: Final[dict[int, duckdb.DuckDBPyConnection]] = {}
#: Names of catalogs that nothing uses anymore, which the next new catalog detaches: DuckDB may be
#: at work when Python collects garbage.
_UNUSED: Final[deque[str]] = deque()
_NUMBERS: Final = count()
#: Of threads that make a catalog.
_TURN: Final = Lock()


def database() -> duckdb.DuckDBPyConnection:
    """Return a connection to a new database, without a progress bar; the caller closes it.

    By default DuckDB draws the progress of queries longer than two seconds on standard output, amid
    a command's output. In a notebook without ipywidgets it draws none and rejects the setting.
    """
    return _quiet(duckdb.connect())


def scratch() -> duckdb.DuckDBPyConnection:
    """Return a connection to the process's shared database, for sums of small tables.

    The caller closes the connection. Creating a database takes 15 ms, so it is shared; tables and
    views therefore have to be TEMPORARY, and settings local to the connection.
    """
    return _quiet(_shared().cursor())


class Catalog:
    """Tables and views of their own within the process's shared database, as of an opened trace.

    They live as long as this object or a connection. Queries may read files, so no query of a user
    has a connection.
    """

    __slots__ = ("__weakref__", "_database", "name")

    def __init__(self) -> None:
        self._database = _shared()
        self.name = f"catalog_{next(_NUMBERS)}"
        with _TURN, self._database.cursor() as connection:
            while _UNUSED:
                connection.execute(f"DETACH DATABASE IF EXISTS {_UNUSED.pop()}")
            connection.execute(f"ATTACH ':memory:' AS {self.name}")
        finalize(self, _UNUSED.append, self.name).atexit = False

    def connect(self) -> duckdb.DuckDBPyConnection:
        """Return a connection to the catalog, with time zone UTC; the caller closes it."""
        connection = _quiet(self._database.cursor())
        connection.execute(f"USE {self.name}; SET TimeZone = 'UTC'")
        return connection

    def close(self) -> None:
        """Free the tables, once no connection is left."""
        with self._database.cursor() as connection:
            connection.execute(f"DETACH DATABASE IF EXISTS {self.name}")


def _shared() -> duckdb.DuckDBPyConnection:
    """Return a connection to the database that the process's threads share."""
    process = os.getpid()
    if process not in _SHARED:
        made = duckdb.connect()
        # Parts never change.
        made.execute("SET parquet_metadata_cache = true; SET enable_external_file_cache = false")
        _SHARED.setdefault(process, made)
    return _SHARED[process]


def _quiet(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    progress_bar = connection.execute("SELECT current_setting('enable_progress_bar')").fetchall()
    if progress_bar != [(False,)]:
        connection.execute("SET enable_progress_bar = false")
    return connection


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    # DuckDB aborts a child that frees the parent's database, as the child lacks its threads.
    os.register_at_fork(before=_SHARED.clear)
