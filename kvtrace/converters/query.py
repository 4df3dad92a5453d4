"""SQL over a trace: every table as a DuckDB view with a column `run`, and nothing else in reach.

DuckDB itself opens no file, to read or to write: what it scans is handed over by pyarrow. Sealed
runs are scanned in their Parquet parts where they lie, so that a query over a hundred million
launches reads only the columns and row groups that it needs. Runs that still have a journal, and
parts of an older version of the format, go through the reader of the trace.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import duckdb
import pyarrow as pa
import pyarrow.dataset as pds

from kvtrace.converters.database import database as new_database
from kvtrace.converters.views import view_statements
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.layout import OBSERVED, part_numbers, pass_parts, run_folder
from kvtrace.schema.parts import open_part, part_facts
from kvtrace.schema.tables import TABLES, TEXT
from kvtrace.schema.versions import FORMAT_VERSION

if TYPE_CHECKING:
    from kvtrace.schema.tables import Table
    from kvtrace.schema.trace import Run, Trace

#: Several parts of a run may hold the same row of these.
_BY_CONTENT: Final = {"stacks": "stack_id", "artifacts": "sha256"}
#: Statements that only read. Views and macros of the session are made here, not by the query.
_READING: Final = ("SELECT", "EXPLAIN", "MULTI")
#: DuckDB reaches no file, no extension and no variable of Python's. Without a folder for temporary
#: files it has none to write to either; a query that does not fit into memory is refused.
_CLOSED: Final = (
    "SET TimeZone = 'UTC'",
    "SET temp_directory = ''",
    "SET python_enable_replacements = false",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET enable_external_access = false",
)
#: Macros that every query may use.
MACROS: Final = {
    "host_ns(enter, exit)": "epoch_ns(exit) - epoch_ns(enter)",
    "device_ns(start, finish)": "epoch_ns(finish) - epoch_ns(start)",
}


class BadQuery(KvtraceError):
    """The SQL is not correct, or does not only read."""

    slug = "bad-query"


def connect(trace: "Trace", runs: Sequence["Run"]) -> duckdb.DuckDBPyConnection:
    """Return a connection with a view for every table of the runs, those of `views.py`, and macros.

    The file system, extensions and settings are closed to what is asked over it.

    Raises:
        DamagedFile, NewerFormat, OlderFormat: a file of the trace cannot be read.

    """
    database = new_database()
    for setting in _CLOSED:
        database.execute(setting)
    for name in (*TABLES, *trace.client_tables):
        _create_view(database, trace, runs, trace.definition(name, runs))
    for statement in view_statements():
        database.execute(statement)
    for signature, body in MACROS.items():
        database.execute(f"CREATE MACRO {signature} AS {body}")
    database.execute("SET lock_configuration = true")
    return database


def query(
    database: duckdb.DuckDBPyConnection, text: str
) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Run one statement that reads, and return column names and rows; errors as `query_arrow`."""
    table = query_arrow(database, text)
    columns = [column_values(table.column(index)) for index in range(table.num_columns)]
    return tuple(table.column_names), list(zip(*columns, strict=True))


def query_arrow(database: duckdb.DuckDBPyConnection, text: str) -> pa.Table:
    """Run one statement that reads, and return what it gives, points in time as such.

    Raises:
        BadQuery: DuckDB refuses it; the text is its first line.

    """
    try:
        statements = database.extract_statements(text)
        if len(statements) != 1:
            raise BadQuery(f"one SQL statement is needed, and there are {len(statements)}.")
        if statements[0].type.name not in _READING:
            kind = statements[0].type.name
            raise BadQuery(f"only statements that read are run here, and this is a {kind}.")
        return database.sql(text).to_arrow_table()
    except duckdb.Error as problem:
        raise BadQuery(_one_sentence(problem)) from problem


def column_values(column: pa.ChunkedArray) -> list[Any]:
    """Return the column's values; points in time as ISO 8601 text, to the nanosecond."""
    if not pa.types.is_timestamp(column.type):
        return list(column.to_pylist())
    texts = column.cast(TEXT).to_pylist()
    return [None if v is None else v.replace(" ", "T").replace("+0000", "Z") for v in texts]


def _parts_as_they_are(out: Path, table: "Table", run: "Run") -> list[Path]:
    """Parts of a run and table, or none where they have to be read by `Trace.table`."""
    folder = run_folder(out, table.name, run.run_id)
    files = [*part_numbers(folder).values(), *pass_parts(folder)]
    if table.name == "findings" and pass_parts(folder, OBSERVED):
        return []  # of what the run saw and what judging found, readers are given one of each
    wanted = {column.name for column in table.columns}
    for path in files:
        with open_part(path) as part:
            facts = part_facts(part, path, table.name)
            if facts.format_version != FORMAT_VERSION or set(part.schema_arrow.names) != wanted:
                return []
    return files


def _create_view(
    database: duckdb.DuckDBPyConnection, trace: "Trace", runs: Sequence["Run"], table: "Table"
) -> None:
    """Make one view of what is scanned in parts and what the reader gives."""
    parts: dict[str, list[Path]] = {}
    for run in runs:
        files = _parts_as_they_are(trace.path, table, run) if run.sealed else []
        if files:
            parts[run.run_id] = files
    names = ", ".join(_identifier(column.name) for column in table.columns)
    rows: pa.Table = trace.table(table.name, [run for run in runs if run.run_id not in parts])
    view = database.from_arrow(rows).project(f"{names}, run::VARCHAR AS run")
    if parts:
        scanned = database.from_arrow(_dataset(trace.path / table.name, table, parts))
        key = _BY_CONTENT.get(table.name)
        once = f"DISTINCT ON (run, {key}) " if key else ""
        whole = scanned.query("parts", f"SELECT {once}{names}, run FROM parts")  # noqa: S608
        assert whole is not None  # a query that selects is a relation
        view = whole.union(view) if rows.num_rows else whole
    view.create_view(table.name)


def _dataset(folder: Path, table: "Table", parts: Mapping[str, Sequence[Path]]) -> pds.Dataset:
    """Return the parts of several runs with a column `run`, which their folders' names say."""
    run = pa.field("run", pa.string())
    return pds.dataset(
        [str(path) for files in parts.values() for path in files],
        schema=pa.schema([*table.schema, run]),
        format="parquet",
        partitioning=pds.HivePartitioning(pa.schema([run]), segment_encoding="none"),
        partition_base_dir=str(folder),
    )


def _identifier(name: str) -> str:
    """Return a name as SQL's identifier, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def _one_sentence(problem: duckdb.Error) -> str:
    """DuckDB's message without the excerpt of the query behind it."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    kept = []
    for line in lines:
        if line.startswith("LINE "):
            break
        kept.append(line)
    return " ".join(kept)[:500] or type(problem).__name__
