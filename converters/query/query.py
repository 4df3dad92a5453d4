"""SQL over a trace: every table as a DuckDB view with a column `run`, and nothing else in reach.

Of the tables, only those that a query names are opened (`figures/scans.py`); the joined ones are in
`figures/views.py`. For a plain SELECT DuckDB scans Parquet parts itself; for all else it opens no
file, to read or to write: what it scans is handed over by pyarrow.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import duckdb
import pyarrow as pa

from kvtrace.figures.database import database as new_database
from kvtrace.figures.scans import Scans
from kvtrace.figures.views import VIEWS, tables_of, view_statements
from kvtrace.schema.errors import BadSetting, KvtraceError
from kvtrace.schema.table_types import TEXT
from kvtrace.schema.tables import TABLES

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: Statements that may only read. Views and macros of the session are made here, not by the query.
_READING: Final = ("SELECT", "EXPLAIN", "MULTI")
#: Functions allowed in FROM: none of them opens a file; others say what tables there are.
_MAKES_ROWS: Final = re.compile(r"range|generate_series|unnest|repeat|json_(each|tree)")
_IN_FROM: Final = re.compile(rf"{_MAKES_ROWS.pattern}|duckdb_\w+")
_SIZE: Final = re.compile(r"\d+(\.\d+)?\s*[kmgt]i?b", re.IGNORECASE)
#: DuckDB reaches no extension and no variable of Python's. Without a folder for temporary files it
#: has none to write to either; a query that does not fit into memory is refused.
_CLOSED: Final = (
    "SET python_enable_replacements = false",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
)
#: Macros that every query may use.
MACROS: Final = {
    "host_ns(enter, exit)": "epoch_ns(exit) - epoch_ns(enter)",
    "device_ns(start, finish)": "epoch_ns(finish) - epoch_ns(start)",
}


#: What DuckDB says where a query stumbles over the names and types of these tables, and what helps.
_HINTS: Final = (
    (
        re.compile(r"'-\(TIMESTAMPTZ_NS, TIMESTAMPTZ_NS\)'"),
        " (Subtract points in time by host_ns(enter, exit) or device_ns(start, finish), in ns; the "
        "views launched, executed and marked have them in ns, as exit_ns - enter_ns.)",
    ),
    (
        re.compile(r"syntax error at or near \"(end|from|order)\"", re.IGNORECASE),
        ' (Columns called end and order are written "end" and "order".)',
    ),
)


class BadQuery(KvtraceError):
    """The SQL is not correct, or does not only read."""

    slug = "bad-query"


def connect(
    trace: "Trace",
    runs: Sequence["Run"],
    text: str | None = None,
    *,
    memory: str | None = None,
    temporary: Path | None = None,
) -> duckdb.DuckDBPyConnection:
    """Return a connection with a view for every table of the runs, those of `views.py`, and macros.

    The file system, extensions and settings are closed to what is asked over it.

    Args:
        trace: the trace.
        runs: the runs whose rows there are.
        text: what will be asked: no table is opened that it does not name. None: all are there.
        memory: what DuckDB may take at most, as "2GB"; None: most of what the machine has.
        temporary: a folder for what does not fit into that, with nothing in it: a query may read
            and write there. None: such a query is refused.

    Raises:
        BadSetting: `memory` is not a size.
        DamagedFile, NewerFormat, OlderFormat: a file of the trace cannot be read.

    """
    database = new_database()
    _limit(database, memory, temporary)
    for setting in _CLOSED:
        database.execute(setting)
    names = None if text is None else _named(database, text, trace)
    tables = (*TABLES, *trace.client_tables) if names is None else tables_of(names)
    scans = Scans(trace, runs, itself=text is not None and _is_plain(database, text))
    scans.close(database, tables)
    for name in tables:
        scans.create_view(database, name)
    for statement in view_statements(VIEWS if names is None else names):
        database.execute(statement)
    for signature, body in MACROS.items():
        database.execute(f"CREATE MACRO {signature} AS {body}")
    database.execute("SET lock_configuration = true")
    return database


def _limit(database: duckdb.DuckDBPyConnection, memory: str | None, folder: Path | None) -> None:
    if memory is not None:
        if not _SIZE.fullmatch(memory):
            raise BadSetting(f"{memory!r} is not a size of memory; write it as 2GB or 500MB.")
        database.execute(f"SET memory_limit = '{memory}'")
    database.execute("SET temp_directory = ?", ["" if folder is None else str(folder)])


def _named(database: duckdb.DuckDBPyConnection, text: str, trace: "Trace") -> frozenset[str] | None:
    """Return the tables and views that a query names; None where it may ask for others, too."""
    nodes = list(_nodes(_tree(database, text)))
    if any(map(_lists_tables, nodes)):
        return None
    # DuckDB's own list is taken of other statements alone: it cannot make one where there is USING.
    names = {n["table_name"].lower() for n in nodes if n.get("type") == "BASE_TABLE"}
    if not nodes:
        try:
            names = database.get_table_names(text)
        except duckdb.Error:
            return None
    own = {each["key"].lower() for n in nodes for each in n.get("cte_map", {}).get("map", ())}
    known = {*TABLES, *VIEWS}
    if not names - own <= known:
        known.update(trace.client_tables)
    return frozenset(names & known) if (nodes or names) and names - own <= known else None


def query(
    database: duckdb.DuckDBPyConnection, text: str
) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Run one statement that reads, and return column names and rows; errors as `query_arrow`."""
    table = query_arrow(database, text)
    columns = [column_values(table.column(index)) for index in range(table.num_columns)]
    return tuple(table.column_names), list(zip(*columns, strict=True))


def query_arrow(
    database: duckdb.DuckDBPyConnection, text: str, most: int | None = None
) -> pa.Table:
    """Run one statement that reads, and return what it gives, points in time as such.

    Args:
        database: what `connect` returned.
        text: the statement.
        most: how many rows are made at most; None: all.

    Raises:
        BadQuery: DuckDB refuses it; the text is its first line.

    """
    try:
        statements = database.extract_statements(text)
        if len(statements) != 1:
            raise BadQuery(f"one SQL statement is needed, and there are {len(statements)}.")
        kind = _kind(statements[0])
        if kind not in _READING:
            raise BadQuery(f"only statements that read are run here, and this is a {kind}.")
        if _reaches_files(database) and not _is_plain(database, text):
            raise BadQuery("this connection is for another query; connect for this one.")
        if most is None:
            return database.sql(text).to_arrow_table()
        return _first_rows(database, text, most)
    except duckdb.Error as problem:
        raise BadQuery(_one_sentence(problem)) from problem


def _first_rows(database: duckdb.DuckDBPyConnection, text: str, most: int) -> pa.Table:
    """Return the first rows of a result, of which no more than a few thousand are made beyond."""
    reader = database.sql(text).to_arrow_reader(2048)
    batches: list[pa.RecordBatch] = []
    rows = 0
    while rows < most:
        try:
            batch = reader.read_next_batch()
        except StopIteration:
            break
        batches.append(batch)
        rows += batch.num_rows
    return pa.Table.from_batches(batches, reader.schema).slice(0, most)


def _kind(statement: duckdb.Statement) -> str:
    """Return the kind of a statement; Python's DuckDB has no name for some."""
    try:
        return statement.type.name
    except ValueError:
        return "statement of another kind"


def _is_plain(database: duckdb.DuckDBPyConnection, text: str) -> bool:
    """Tell whether a text is one SELECT that asks tables, and nothing that may open a file.

    Only for that DuckDB is let near the trace's files: a path that it may read it could write, too,
    as COPY (PIVOT …) TO does, whose kind of statement says nothing.
    """
    tree = _tree(database, text)
    return tree is not None and all(map(_asks_tables, _nodes(tree)))


def _tree(database: duckdb.DuckDBPyConnection, text: str) -> Any:
    """Return the syntax tree of a text that is one SELECT; None of another."""
    try:
        if [_kind(each) for each in database.extract_statements(text)] != ["SELECT"]:
            return None
        ((told,),) = database.execute("SELECT json_serialize_sql(?)", [text]).fetchall()
    except duckdb.Error:
        return None
    tree = json.loads(told)
    return None if tree["error"] else tree


def _lists_tables(node: Mapping[str, Any]) -> bool:
    """Tell whether a node of a query's tree says what tables there are."""
    if node.get("type") == "TABLE_FUNCTION":
        return _MAKES_ROWS.fullmatch(str(node["function"].get("function_name", ""))) is None
    return node.get("type") == "SHOW_REF"


def _asks_tables(node: Mapping[str, Any]) -> bool:
    """Tell whether a node of a query's tree reads nothing by the name of a file."""
    if node.get("type") == "TABLE_FUNCTION":
        return _IN_FROM.fullmatch(str(node["function"].get("function_name", ""))) is not None
    name = str(node.get("table_name", ""))
    return node.get("type") != "BASE_TABLE" or re.fullmatch(r"\w+", name) is not None


def _reaches_files(database: duckdb.DuckDBPyConnection) -> bool:
    ((paths,),) = database.execute("SELECT len(current_setting('allowed_paths'))").fetchall()
    return bool(paths)


def _nodes(tree: Any) -> Iterator[Mapping[str, Any]]:
    """Return every object of a JSON value."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


def column_values(column: pa.ChunkedArray) -> list[Any]:
    """Return the column's values; points in time as ISO 8601 text, to the nanosecond.

    Raises:
        BadQuery: a value has no form in Python, as a date of the year 5,000,000.

    """
    if not pa.types.is_timestamp(column.type):
        try:
            return list(column.to_pylist())
        except (OverflowError, ValueError) as error:
            raise BadQuery(
                f"a {column.type} in the result is out of range here ({error}); select "
                "CAST(it AS VARCHAR)."
            ) from error
    texts = column.cast(TEXT).to_pylist()
    return [None if v is None else v.replace(" ", "T").replace("+0000", "Z") for v in texts]


def _one_sentence(problem: duckdb.Error) -> str:
    """DuckDB's message without the excerpt of the query behind it."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    kept = []
    for line in lines:
        if line.startswith("LINE "):
            break
        kept.append(line)
    text = " ".join(kept)[:500] or type(problem).__name__
    return text + next((hint for said, hint in _HINTS if said.search(text)), "")
