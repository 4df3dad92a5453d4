"""SQL queries over a trace: every table is a DuckDB view with a column `run`.

Only tables that a query names are opened (`figures/scans.py`); `figures/views.py` has the joined
views. A query cannot reach other files: for a plain SELECT, DuckDB scans the trace's Parquet files
itself; for all other statements it may not open files, and pyarrow reads the rows for it.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa

from kvtrace.figures.names import full_name, titled
from kvtrace.figures.scans import Scans
from kvtrace.figures.stored import SUMS_OF_OLDER, older_sums, sums_stored
from kvtrace.figures.tables import database as new_database
from kvtrace.figures.views import (
    ADDED_UP,
    VIEWS,
    tables_of,
    view_statements,
    view_texts,
    views_at_rest,
)
from kvtrace.schema.errors import BadSetting, KvtraceError
from kvtrace.schema.table_types import TEXT
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import Run, Trace
from kvtrace.schema.weights import keeps_sums

#: Kinds of statements that only read. Views and macros are created here, not by queries.
_READING_KINDS: Final = ("SELECT", "EXPLAIN", "MULTI")
#: Functions allowed in FROM, as they open no file; DuckDB's own (`duckdb_*`) list tables.
_ROW_FUNCTIONS: Final = re.compile(r"range|generate_series|unnest|repeat|json_(each|tree)")
_ALLOWED_FROM_FUNCTIONS: Final = re.compile(rf"{_ROW_FUNCTIONS.pattern}|duckdb_\w+")
_SIZE: Final = re.compile(r"\d+(\.\d+)?\s*[kmgt]i?b", re.IGNORECASE)
#: Settings that prevent DuckDB from loading extensions and from reading Python's variables.
_CLOSING_SETTINGS: Final = (
    "SET python_enable_replacements = false",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
)
#: Macros that every query may use.
MACROS: Final = {
    "host_ns(enter, exit)": "epoch_ns(exit) - epoch_ns(enter)",
    "device_ns(start, finish)": "epoch_ns(finish) - epoch_ns(start)",
}
#: Functions of a device function's name, for every query: what outputs show, and all of it.
FUNCTIONS: Final[Mapping[str, Callable[[str], str]]] = {
    "short_name": titled,
    "full_name": full_name,
}

#: Errors of DuckDB that the names and types of the tables often cause, and a hint for each.
_HINTS: Final = (
    (
        re.compile(r"'-\(TIMESTAMPTZ_NS, TIMESTAMPTZ_NS\)'"),
        " (Subtract times by host_ns(enter, exit) or device_ns(start, finish), in ns; the views "
        "launched, executed and marked have times in ns: exit_ns - enter_ns.)",
    ),
    (
        re.compile(r"syntax error at or near \"(end|from|order)\"", re.IGNORECASE),
        ' (Columns called end and order are written "end" and "order".)',
    ),
)


#: Most memory of a query for which the user allows no other: DuckDB's own default is most of the
#: machine's.
MEMORY: Final = "4GB"
#: Rows of a batch of a result.
_ROWS: Final = 1 << 14


class BadQuery(KvtraceError):
    """Error: a query is invalid SQL, or does more than read."""

    slug = "bad-query"


def connect(
    trace: Trace,
    runs: Sequence[Run],
    text: str | None = None,
    *,
    memory: str | None = None,
    temporary: Path | None = None,
) -> duckdb.DuckDBPyConnection:
    """Return a connection with views of all tables, the views of `views.py`, and macros.

    Queries over the connection can use neither the file system nor extensions nor settings.

    Args:
        trace: the trace.
        runs: the runs whose rows the views have.
        text: the query; only tables that it names are opened. None: all tables are.
        memory: most memory that DuckDB, and the result, may use, such as "500MB"; None: `MEMORY`.
        temporary: an empty folder for data that exceeds `memory`; queries may read and write in
            it. None: such queries fail.

    Raises:
        BadSetting: `memory` is not a size.
        DamagedFile, NewerFormat, OlderFormat: a file of the trace cannot be read.

    """
    database = new_database()
    if text is not None and not _reads(database, text):
        text = None  # preparing it would make the folder of EXPORT DATABASE; `query` refuses it
    _limit_memory(database, memory or MEMORY, temporary)
    for setting in _CLOSING_SETTINGS:
        database.execute(setting)
    names = None if text is None else _named_tables(database, text, trace)
    views = _views(trace, runs, names)
    tables = (*TABLES, *trace.client_tables) if names is None else tables_of(names, views)
    scans = Scans(trace, runs, itself=text is not None and _is_plain_select(database, text))
    scans.close(database, tables)
    older = [run for run in runs if keeps_sums(run)]
    for name in tables:
        if older and name in SUMS_OF_OLDER:
            # Rows that count: of a run in progress, or that was killed, these are not all.
            rows = older_sums(trace, older, SUMS_OF_OLDER[name], TABLES[name].names)
            database.register(f"{name}_rows", rows)
            database.execute(f"CREATE VIEW {name} AS FROM {name}_rows")
        else:
            scans.create_view(database, name)
    for statement in view_statements(VIEWS if names is None else names, views):
        database.execute(statement)
    for signature, body in MACROS.items():
        database.execute(f"CREATE MACRO {signature} AS {body}")
    for name, function in FUNCTIONS.items():
        database.create_function(name, function, ["VARCHAR"], "VARCHAR")
    database.execute("SET lock_configuration = true")
    return database


def _views(trace: Trace, runs: Sequence[Run], names: frozenset[str] | None) -> Mapping[str, str]:
    """Return the texts of all views, which add up runs from stored sums where a run has some."""
    if names is not None and ADDED_UP.isdisjoint(view_texts(names)):
        return VIEWS
    stored = [run.run_id for run in runs if sums_stored(trace, run)]
    others = [run.run_id for run in runs if run.run_id not in stored]
    return views_at_rest(stored, others, [run.run_id for run in runs if keeps_sums(run)])


def _limit_memory(
    database: duckdb.DuckDBPyConnection, memory: str | None, folder: Path | None
) -> None:
    if memory is not None:
        if not _SIZE.fullmatch(memory):
            raise BadSetting(f"{memory!r} is not a size of memory; write 2GB or 500MB, for example")
        database.execute(f"SET memory_limit = '{memory}'")
    database.execute("SET temp_directory = ?", ["" if folder is None else str(folder)])


def _named_tables(
    database: duckdb.DuckDBPyConnection, text: str, trace: Trace
) -> frozenset[str] | None:
    """Return the tables and views that a query names; None if it may use others, or is invalid."""
    nodes = list(_nodes(_syntax_tree(database, text)))
    if any(map(_lists_tables, nodes)):
        return None
    # DuckDB's list of names fails on USING, so it serves only statements without a syntax tree.
    names = {n["table_name"].lower() for n in nodes if n.get("type") == "BASE_TABLE"}
    if not nodes:
        try:
            names = database.get_table_names(text)
        except duckdb.Error:
            return None
    with_names = {cte["key"].lower() for n in nodes for cte in n.get("cte_map", {}).get("map", ())}
    known = {*TABLES, *VIEWS}
    if not names - with_names <= known:
        known.update(trace.client_tables)
    return frozenset(names & known) if (nodes or names) and names - with_names <= known else None


def query(
    database: duckdb.DuckDBPyConnection, text: str
) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Run one statement that only reads; return column names and rows. Errors as `query_arrow`."""
    return names_and_rows(query_arrow(database, text))


def names_and_rows(table: pa.Table) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Return the column names and the rows of a query's result; errors as `column_values`."""
    columns = [column_values(table.column(index)) for index in range(table.num_columns)]
    return tuple(table.column_names), list(zip(*columns, strict=True))


def query_arrow(
    database: duckdb.DuckDBPyConnection, text: str, most: int | None = None
) -> pa.Table:
    """Run one statement that only reads, and return its result as an Arrow table.

    Args:
        database: a connection from `connect`.
        text: the statement.
        most: most rows to return; None: all.

    Raises:
        BadQuery: the statement is invalid, or does more than read.

    """
    with _sentences():
        _check_that_it_reads(database, text)
        ((paths,),) = database.execute("SELECT len(current_setting('allowed_paths'))").fetchall()
        if paths and not _is_plain_select(database, text):
            raise BadQuery("this connection was opened for another query: connect again")
        return _first_rows(database, text, math.inf if most is None else most)


@contextmanager
def _sentences() -> Iterator[None]:
    """Raise DuckDB's errors within the context as BadQuery."""
    try:
        yield
    except duckdb.Error as problem:
        raise BadQuery(_error_text(problem)) from problem


def _check_that_it_reads(database: duckdb.DuckDBPyConnection, text: str) -> None:
    """Raise BadQuery unless a text is one statement that only reads; it is not prepared."""
    statements = database.extract_statements(text)
    if len(statements) != 1:
        raise BadQuery(f"the query must be one SQL statement, not {len(statements)}")
    kind = _statement_kind(statements[0])
    if kind not in _READING_KINDS:
        raise BadQuery(f"only statements that read are allowed, and this is {kind}")


def _reads(database: duckdb.DuckDBPyConnection, text: str) -> bool:
    try:
        _check_that_it_reads(database, text)
    except (BadQuery, duckdb.Error):
        return False
    return True


def _first_rows(database: duckdb.DuckDBPyConnection, text: str, most: float) -> pa.Table:
    """Return the first `most` rows of a query's result; a further batch is computed at most.

    Raises:
        BadQuery: they take more memory than DuckDB itself may use.

    """
    whole = most == math.inf
    ((limit,),) = database.execute("SELECT current_setting('memory_limit')").fetchall()
    reader = database.sql(text).to_arrow_reader(_ROWS if whole else 2048)
    batches: list[pa.RecordBatch] = []
    rows = size_bytes = 0
    while rows < most:
        try:
            batch = reader.read_next_batch()
        except StopIteration:
            break
        except (pa.ArrowException, OSError) as error:
            raise BadQuery(f"the result cannot be held in memory: {error}") from error
        batches.append(batch)
        rows += batch.num_rows
        size_bytes += batch.nbytes
        if size_bytes > _bytes_of(limit):
            raise BadQuery(
                f"the result's first {rows:,} rows take more than {limit}; select fewer, or allow "
                "more with --memory"
            )
    table = pa.Table.from_batches(batches, reader.schema)
    return table if whole else table.slice(0, int(most))


def _bytes_of(size: str) -> float:
    """Return the bytes of a size as DuckDB prints it, as 1.8 GiB."""
    number, unit = size.split()
    return float(number) * 1024.0 ** ("KMGT".find(unit[0]) + 1)


def _statement_kind(statement: duckdb.Statement) -> str:
    """Return the name of a statement's kind; DuckDB's Python API lacks some names."""
    try:
        return statement.type.name
    except ValueError:
        return "a statement of another kind"


def _is_plain_select(database: duckdb.DuckDBPyConnection, text: str) -> bool:
    """Return whether a query is one SELECT over tables, without functions that may open a file.

    DuckDB gets access to the trace's files only for such queries, since others could write to the
    paths that it may read: COPY (PIVOT …) TO, for example, has no kind that reveals the writing.
    """
    tree = _syntax_tree(database, text)
    return tree is not None and all(map(_opens_no_file, _nodes(tree)))


def _syntax_tree(database: duckdb.DuckDBPyConnection, text: str) -> Any:
    """Return DuckDB's syntax tree of a query as JSON; None unless it is one SELECT."""
    try:
        if [_statement_kind(statement) for statement in database.extract_statements(text)] != [
            "SELECT"
        ]:
            return None
        ((serialized,),) = database.execute("SELECT json_serialize_sql(?)", [text]).fetchall()
    except duckdb.Error:
        return None
    tree = json.loads(serialized)
    return None if tree["error"] else tree


def _lists_tables(node: Mapping[str, Any]) -> bool:
    """Return whether a node of a syntax tree may list tables, by a function or SHOW."""
    if node.get("type") == "TABLE_FUNCTION":
        return _ROW_FUNCTIONS.fullmatch(str(node["function"].get("function_name", ""))) is None
    return node.get("type") == "SHOW_REF"


def _opens_no_file(node: Mapping[str, Any]) -> bool:
    """Return whether a node of a syntax tree opens no file, by a function or as a table's name."""
    if node.get("type") == "TABLE_FUNCTION":
        return (
            _ALLOWED_FROM_FUNCTIONS.fullmatch(str(node["function"].get("function_name", "")))
            is not None
        )
    name = str(node.get("table_name", ""))
    return node.get("type") != "BASE_TABLE" or re.fullmatch(r"\w+", name) is not None


def _nodes(tree: Any) -> Iterator[Mapping[str, Any]]:
    """Yield every dict in a JSON value, at any depth."""
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            yield node
            pending.extend(node.values())
        elif isinstance(node, list):
            pending.extend(node)


def column_values(column: pa.ChunkedArray) -> list[Any]:
    """Return a column's values; timestamps become ISO 8601 text with nanoseconds.

    Raises:
        BadQuery: Python cannot represent a value, such as a date in the year 5,000,000.

    """
    if not pa.types.is_timestamp(column.type):
        try:
            return list(column.to_pylist())
        except (OverflowError, ValueError) as error:
            raise BadQuery(
                f"a {column.type} in the result is out of Python's range ({error}): select "
                "CAST(column AS VARCHAR)"
            ) from error
    timestamp_texts = column.cast(TEXT).to_pylist()
    return [
        None if v is None else v.replace(" ", "T").replace("+0000", "Z") for v in timestamp_texts
    ]


def _error_text(problem: duckdb.Error) -> str:
    """Return DuckDB's error message without its excerpt of the query, and a hint, if any."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    message = takewhile(lambda line: not line.startswith("LINE "), lines)
    text = " ".join(message)[:500] or type(problem).__name__
    return text + next((hint for pattern, hint in _HINTS if pattern.search(text)), "")
