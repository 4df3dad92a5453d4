"""DuckDB databases in memory, and those from which all figures of runs are queried.

Rows of sealed runs are scanned in place. Rows of a run that is not sealed, or that has rows the
reader repairs (as after a clock was set back), are read into memory first, and so are few rows.
"""

import os
from collections import deque
from collections.abc import Sequence
from itertools import count
from typing import Any, Final
from weakref import WeakKeyDictionary, finalize

import duckdb
import pyarrow as pa

from kvtrace.figures.identity import OWN_KIND, SOURCE_COLUMNS, kernel_rows, with_source
from kvtrace.figures.kernels import LAUNCH_COLUMNS
from kvtrace.figures.scans import Scans, quoted, sound_rows
from kvtrace.figures.stored import once_per_trace, rows_of_runs
from kvtrace.figures.views import (
    PLACED_PLAINLY,
    VIEWS,
    VIEWS_WITHOUT_TRIALS,
    execution_times,
    launch_times,
    tables_of,
    view_texts,
)
from kvtrace.forks import Lock
from kvtrace.schema.launch_flags import HoldingTrials
from kvtrace.schema.trace import Run, Trace
from kvtrace.schema.window import RunWindow, TraceWindow, whole_trace

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


def row_dicts(connection: duckdb.DuckDBPyConnection, query: str) -> list[dict[str, Any]]:
    """Return a query's rows by column, for few rows: DuckDB binds a query for Arrow twice."""
    rows = connection.execute(query)
    names = [name for name, *_ in rows.description]
    return [dict(zip(names, row, strict=True)) for row in rows.fetchall()]


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

    def connect(self, schema: str = "main") -> duckdb.DuckDBPyConnection:
        """Return a connection to the catalog; the caller closes it.

        Tables and views of `schema` hide those of the same name in `main`.
        """
        connection = self.database.cursor()
        _IN_USE[connection] = self
        self._use(connection, schema)
        return connection

    def _use(self, connection: duckdb.DuckDBPyConnection, schema: str = "main") -> None:
        path = ",".join(f"{self.name}.{name}" for name in dict.fromkeys((schema, "main")))
        _quiet(connection).execute(f"SET search_path = '{path}'")


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
        made.execute(
            "SET parquet_metadata_cache = true; SET enable_external_file_cache = false; "
            "SET GLOBAL TimeZone = 'UTC'"
        )
        shared = _SHARED.setdefault(process, made)
    return shared


def _quiet(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    query = "SELECT current_setting('enable_progress_bar')"
    if connection.execute(query).fetchall() != [(False,)]:  # a process may become interactive
        connection.execute("SET enable_progress_bar = false")
    return connection


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    # DuckDB aborts a child that frees the parent's database, as the child lacks its threads.
    os.register_at_fork(before=_SHARED.clear)


# -- launches and executions of runs ---------------------------------------------------------------


#: Tables that the views read, with the columns that the views need.
_COLUMNS: Final = {
    "launches": ("seq", "call_id", "enter", "exit", "thread", "phase", "weight", *LAUNCH_COLUMNS),
    "gpu_kernels": (
        "record", "launch_seq", "call_id", "start", "end", "device", "stream", "graph_id", "name",
        "kind", "bytes", "weight", "requested", "stack_id", "forward_stack_id",
    ),
}  # fmt: skip
#: Columns of these tables that a reader may repair, besides an end before its begin.
_REPAIRED_COLUMNS: Final = {
    "launches": ("seq", "call_id", "enter", "exit"),
    "gpu_kernels": ("record", "start", "end"),
}
_RUNS_WITH_BACKWARD_TIMES: Final = {
    "launches": 'SELECT DISTINCT run FROM launches WHERE "exit" < "enter"',
    "gpu_kernels": 'SELECT DISTINCT run FROM gpu_kernels WHERE "end" < "start"',
}
_WITHOUT_OWN_CALL: Final = """
    SELECT 1 FROM gpu_kernels WHERE call_id IS NULL AND launch_seq IS NOT NULL LIMIT 1
"""
#: Columns of kernels and calls that figures need, read once for an opened trace.
_NAMING_COLUMNS: Final = {
    "kernels": (
        "kernel_id", "name", "module", "file", "line", "origin", "target", "num_warps",
        "registers", "spills", "shared_bytes", "compile_begin", "compile_ns", "load_begin",
        "load_ns", "source",
    ),
    "calls": ("call_id", "kernel_id", "grid_x", "grid_y", "grid_z"),
}  # fmt: skip
_RUN: Final = "run_name"
#: Most rows of a table that are read into memory. A query of a scan opens each part again, which
#: takes milliseconds.
_MOST_READ: Final = 1 << 15
#: Views that become tables: of few rows, or with as many rows as a table that is read into memory.
_SMALL_VIEWS: Final = ("compiling", "between_trials")
_VIEWS_OF_TABLES: Final = {"launch_times": "launches", "execution_times": "gpu_kernels"}
_LAST_COMPILING: Final = "SELECT coalesce(max(seq), -1) FROM compiling"
#: The last execution of a trial.
_LAST_TRIAL: Final = """
    SELECT coalesce(greatest((SELECT max(record) FROM between_trials),
        (SELECT max(p.record) FROM placed p JOIN tuning t
            ON t.run = p.run AND t.seq = p.launch_seq)), -1)
"""
_COLUMNS_OF_HOLDING: Final = ("seq", "call_id", "phase", "enter", "exit", "thread", "weight")
_ANY_TRIAL: Final = f"SELECT 1 FROM ({VIEWS['tuning']}) LIMIT 1"  # noqa: S608


_OPENED: Final[WeakKeyDictionary[Trace, "_Databases"]] = WeakKeyDictionary()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_OPENED.clear)  # a child has no threads of DuckDB's (`_SHARED`)


#: A window's bounds of each run.
_Bounds = tuple[RunWindow, ...]


class _Times:
    """Tables and views of the launches and executions of some runs.

    Attributes:
        catalog: where they are.
        views: the names of the views so far.
        read: the names of the tables whose rows are in memory.
        windows: the names of the views so far that are narrowed to a window, by the window's
            bounds of each run; the views are in the schema `window_N` for the window numbered N.
        has_trials: some launches are of autotuners or warm-ups; None until that is asked.

    """

    __slots__ = ("catalog", "has_trials", "read", "views", "windows")

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.views: set[str] = set()
        self.read: set[str] = set()
        self.windows: dict[_Bounds, set[str]] = {}
        self.has_trials: bool | None = None


class _Databases:
    """The databases of an opened trace, by the ids of their runs.

    Threads take turns to make views, as DuckDB refuses a second statement on a connection.
    """

    __slots__ = ("by_runs", "turn")

    def __init__(self) -> None:
        self.by_runs: dict[tuple[str, ...], _Times] = {}
        self.turn = Lock()


def open_times(
    trace: Trace, runs: Sequence[Run], view: str | None = None
) -> duckdb.DuckDBPyConnection:
    """Return a connection to a database in which `view` of `figures/views.py` exists, if any.

    The caller closes the connection. Launches and executions are opened once a view needs them. The
    database also has the tables `calls`, `kernels` and `place`: `place` numbers the calls with a
    known kernel, and its column `kernel` numbers kernels (`identity.py`). Runs are of the enum type
    `run_name`, since comparing texts would take half of the time. Sealed runs of a trace share one
    database, so tables and views of a connection have to be TEMPORARY. For a window, `launch_times`
    and `execution_times`, but no other views, have the rows that began in the window; whether a row
    is a trial comes from the whole run. Errors as `Trace.table`.
    """
    whole = whole_trace(trace)
    opened = _OPENED.setdefault(whole, _Databases())
    key = tuple(run.run_id for run in runs)
    with opened.turn:
        times = opened.by_runs.get(key) or _new_tables(whole, runs)
        views = [] if view is None else [view]
        for name in set(_COLUMNS).intersection(tables_of(views)).difference(times.views):
            _open_rows(times, whole, runs, name)
            times.views.add(name)
        _make_views(times, whole, runs, views)
        if all(run.sealed for run in runs):
            opened.by_runs[key] = times
        schema = "main"
        if isinstance(trace, TraceWindow):
            schema = _narrowed(times, trace, runs, views)
        return times.catalog.connect(schema)


def close_times(trace: Trace, runs: Sequence[Run]) -> None:
    """Close the database of some runs, if one is open, as after the last query of many runs.

    Connections to it remain valid.
    """
    opened = _OPENED.get(whole_trace(trace))
    if opened is not None:
        opened.by_runs.pop(tuple(run.run_id for run in runs), None)
        free_unused()


#: Rows of a view that began in their run's window.
_ROWS_IN_WINDOW: Final = """
    CREATE VIEW {{schema}}.{view} AS SELECT t.* FROM main.{view} t
    JOIN {{schema}}.run_windows w ON w.run = t.run
    WHERE epoch_ns(t."{time}") >= w.{begin} AND epoch_ns(t."{time}") < w.{end}
"""
_NARROWED_VIEWS: Final = {
    "launch_times": _ROWS_IN_WINDOW.format(
        view="launch_times", time="enter", begin="host_begin", end="host_end"
    ),
    "execution_times": _ROWS_IN_WINDOW.format(
        view="execution_times", time="start", begin="device_begin", end="device_end"
    ),
}


def _narrowed(times: _Times, window: TraceWindow, runs: Sequence[Run], views: Sequence[str]) -> str:
    """Return the schema in which `views` and the views that these use have the window's rows."""
    bounds = tuple(window.window_of(run.run_id) for run in runs)
    is_new = bounds not in times.windows
    made = times.windows.setdefault(bounds, set())
    schema = f"window_{list(times.windows).index(bounds)}"
    database = times.catalog.database
    if is_new:
        database.execute(f"CREATE SCHEMA {schema}")
        names = ("host_begin", "host_end", "device_begin", "device_end")
        columns = {"run": pa.array([run.run_id for run in runs], pa.string())}
        for name, values in zip(names, zip(*bounds, strict=True), strict=False):
            columns[name] = pa.array(values, pa.int64())
        add_rows(database, f"{schema}.run_windows", pa.table(columns))
    for name in view_texts(views).keys() & _NARROWED_VIEWS.keys() - made:
        database.execute(_NARROWED_VIEWS[name].format(schema=schema))
        made.add(name)
    return schema


def _new_tables(trace: Trace, runs: Sequence[Run]) -> _Times:
    """Return a new catalog with kernels and calls."""
    catalog = Catalog()
    database = catalog.database
    names = ", ".join(quoted(name) for name in sorted({run.run_id for run in runs}) or [""])
    database.execute(f"CREATE TYPE {_RUN} AS ENUM ({names})")
    kernels = ("kernel_id", "name", "module", "source", "origin", "compile_begin", "load_begin")
    add_rows(database, "kernels", known_rows(trace, runs, "kernels", kernels))
    add_rows(database, "calls", known_rows(trace, runs, "calls", ("call_id", "kernel_id")))
    database.execute(_PLACES)
    return _Times(catalog)


def known_rows(trace: Trace, runs: Sequence[Run], name: str, columns: Sequence[str]) -> pa.Table:
    """Return columns, and `run`, of the table `name`, which is `kernels` or `calls`.

    `kernels` has an additional column `source` (`identity.py`). For sealed runs the columns of
    `_NAMING_COLUMNS` are cached. Errors as `Trace.table`.
    """
    if not set(columns) <= set(_NAMING_COLUMNS[name]) or not all(run.sealed for run in runs):
        if name == "kernels":
            return kernel_rows(trace, runs, columns)
        return trace.table(name, runs, columns)
    rows = _known(whole_trace(trace), runs, name)
    if name == "kernels" and isinstance(trace, TraceWindow):
        rows = trace.with_times_inside(rows)
    return rows.select([*columns, "run"])


@once_per_trace
def _known(trace: Trace, runs: Sequence[Run], name: str) -> pa.Table:
    """Return the columns of `_NAMING_COLUMNS`, and `run`, of `kernels` or `calls`."""
    stored = dict.fromkeys((*_NAMING_COLUMNS[name], *(SOURCE_COLUMNS if name == "kernels" else ())))
    stored.pop("source", None)
    rows = rows_of_runs(trace, runs, name, tuple(stored))
    return with_source(rows) if name == "kernels" else rows


def add_rows(
    database: duckdb.DuckDBPyConnection,
    name: str,
    rows: pa.Table,  # noqa: ARG001 - DuckDB finds it by its name
    kind: str = "TABLE",
) -> None:
    """Create a table from rows that have a column `run`, which becomes of type `run_name`.

    On a connection of `open_times`, `kind` has to be `TEMP TABLE`.
    """
    database.execute(f"CREATE {kind} {name} AS SELECT * REPLACE (run::{_RUN} AS run) FROM rows")  # noqa: S608


#: One number for each pair of run and call, which takes fewer bytes in launches and executions.
_PLACES: Final = f"""
    CREATE TABLE kernel AS
    SELECT row_number() OVER (ORDER BY module, name, source)::INTEGER AS kernel, module, name,
        source, kind
    FROM (SELECT coalesce(module, '') AS module, coalesce(name, '') AS name,
        coalesce(source, '') AS source, min({OWN_KIND}) AS kind FROM kernels GROUP BY 1, 2, 3);

    CREATE TABLE place AS
    SELECT row_number() OVER (ORDER BY c.run, c.call_id)::INTEGER AS place, n.kernel, c.run,
        c.call_id, c.kernel_id
    FROM calls c JOIN kernels k ON k.run = c.run AND k.kernel_id = c.kernel_id
    JOIN kernel n ON n.module = coalesce(k.module, '') AND n.name = coalesce(k.name, '')
        AND n.source = coalesce(k.source, '');
"""  # noqa: S608


def _open_rows(times: _Times, trace: Trace, runs: Sequence[Run], name: str) -> None:
    """Create the view of launches or executions.

    `Trace.table` reads the runs if they have few rows, and those with rows that need a repair.
    """
    database, columns = times.catalog.database, _COLUMNS[name]
    counts = {run.run_id: sound_rows(trace, run, name, _REPAIRED_COLUMNS[name]) for run in runs}
    read = {run for run, count in counts.items() if count is None}
    if not read and sum(count or 0 for count in counts.values()) <= _MOST_READ:
        times.read.add(name)
        read = set(counts)
    scans = Scans(trace, runs, itself=True)
    scans.create_view(database, name, columns, read, _RUN)
    if len(read) < len(counts):
        backward = {run for (run,) in database.execute(_RUNS_WITH_BACKWARD_TIMES[name]).fetchall()}
        if backward:
            database.execute(f"DROP VIEW {name}")
            scans.create_view(database, name, columns, read | backward, _RUN)


def _make_views(times: _Times, trace: Trace, runs: Sequence[Run], views: Sequence[str]) -> None:
    """Create views of `figures/views.py`, and the views that they use, unless they exist.

    Launches in which a kernel was compiled, loaded or tuned, and executions between trials, are
    few: they become tables, and only rows up to the last of them are joined with these tables.
    """
    database = times.catalog.database
    texts = view_texts(views)
    if "tuning" in texts:
        if times.has_trials is None:
            times.has_trials = bool(database.execute(_ANY_TRIAL).fetchall())
        if not times.has_trials:
            texts = view_texts(views, VIEWS_WITHOUT_TRIALS)
    for name, text in texts.items():
        if name in times.views:
            continue
        times.views.add(name)
        if name == "placed" and not database.execute(_WITHOUT_OWN_CALL).fetchall():
            text = PLACED_PLAINLY
        elif name == "launch_times":
            text = launch_times(_number(database, _LAST_COMPILING))
        elif name == "execution_times" and times.has_trials:
            text = execution_times(_number(database, _LAST_TRIAL))
        if name == "holding":
            add_rows(database, "holding", _holding_launches(trace, runs))
        elif name in _SMALL_VIEWS or _VIEWS_OF_TABLES.get(name) in times.read:
            database.execute(f"CREATE TABLE {name} AS {text}")
        else:
            database.execute(f"CREATE VIEW {name} AS {text}")


def _number(database: duckdb.DuckDBPyConnection, query: str) -> int:
    """Return the number that is a query's only value."""
    ((number,),) = database.execute(query).fetchall()
    return int(number)


def _holding_launches(trace: Trace, runs: Sequence[Run]) -> pa.Table:
    """Return the rows of the view `holding`, for which a window in SQL would hold all launches."""
    filtered: list[pa.Table] = []
    for run in runs:
        holding = HoldingTrials()
        pieces = trace.pieces("launches", [run], _COLUMNS_OF_HOLDING)
        filtered += [piece.filter(holding.among(piece)) for piece in pieces]
    return pa.concat_tables(filtered).unify_dictionaries()
