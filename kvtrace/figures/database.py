"""DuckDB databases in memory, with the progress bar turned off."""

import os
from collections import deque
from itertools import count
from typing import Final
from weakref import WeakKeyDictionary, finalize

import duckdb

from kvtrace.forks import Lock

#: The shared database by process number: a forked process makes its own.
_SHARED: Final[dict[int, duckdb.DuckDBPyConnection]] = {}
#: Names of catalogs that nothing uses anymore, which the next new catalog detaches: DuckDB may be
#: at work when Python collects garbage.
_UNUSED: Final[deque[str]] = deque()
_NUMBERS: Final = count()
#: Of threads that make or free catalogs.
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

    They live as long as this object or a connection of `connect`, even a closed one that something
    refers to. Queries may read files, so no query of a user has a connection.

    Attributes:
        name: the catalog's name in SQL.
        database: the connection on which tables and views are made. Views of rows of Python exist
            as long as it does.

    """

    __slots__ = ("__weakref__", "database", "name")

    def __init__(self) -> None:
        self.database = _shared().cursor()
        self.name = f"catalog_{next(_NUMBERS)}"
        with _TURN:
            _detach_unused(self.database)
            self.database.execute(f"ATTACH ':memory:' AS {self.name}")
        finalize(self, _UNUSED.append, self.name).atexit = False
        self._use(self.database)

    def connect(self) -> duckdb.DuckDBPyConnection:
        """Return a connection to the catalog, with time zone UTC; the caller closes it."""
        connection = self.database.cursor()
        _IN_USE[connection] = self
        self._use(connection)
        return connection

    def _use(self, connection: duckdb.DuckDBPyConnection) -> None:
        _quiet(connection).execute(f"USE {self.name}; SET TimeZone = 'UTC'")


#: Catalogs by the connections to them.
_IN_USE: Final[WeakKeyDictionary[duckdb.DuckDBPyConnection, Catalog]] = WeakKeyDictionary()


def free_unused() -> None:
    """Free the tables of catalogs that nothing uses, which else the next new catalog does."""
    with _TURN, _shared().cursor() as connection:
        _detach_unused(connection)


def _detach_unused(connection: duckdb.DuckDBPyConnection) -> None:
    while _UNUSED:
        connection.execute(f"DETACH DATABASE IF EXISTS {_UNUSED.pop()}")


def _shared() -> duckdb.DuckDBPyConnection:
    """Return a connection to the database that the process's threads share."""
    process = os.getpid()
    shared = _SHARED.get(process)
    if shared is None:
        made = duckdb.connect()
        # Parts never change.
        made.execute("SET parquet_metadata_cache = true; SET enable_external_file_cache = false")
        shared = _SHARED.setdefault(process, made)
    return shared


def _quiet(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    progress_bar = connection.execute("SELECT current_setting('enable_progress_bar')").fetchall()
    if progress_bar != [(False,)]:
        connection.execute("SET enable_progress_bar = false")
    return connection


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    # DuckDB aborts a child that frees the parent's database, as the child lacks its threads.
    os.register_at_fork(before=_SHARED.clear)
